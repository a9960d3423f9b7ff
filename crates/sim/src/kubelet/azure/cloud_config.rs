//! What a node takes from its cloud-config: files, and kubeadm's settings in them.

use std::io::Read;

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::read::GzDecoder;
use serde_json::Value;

use super::super::payload::labels;

/// Largest file taken after unpacking.
const MOST_BYTES: u64 = 1 << 20;

/// What a cloud-config says of the node.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NodeConfig {
    /// Content it gives `/etc/kubernetes/azure.json`.
    pub(super) azure_json: Option<String>,
    /// Node name kubeadm is told.
    pub(super) node_name: Option<String>,
    /// Labels kubeadm is told.
    pub(super) labels: Vec<(String, String)>,
}

impl NodeConfig {
    /// Reads a cloud-config on a machine of that hostname.
    pub(super) fn read(text: &str, hostname: &str) -> Result<Self, String> {
        let jinja = text.starts_with("## template: jinja");
        let rendered = if jinja {
            render(text, hostname)
        } else {
            text.to_owned()
        };
        let config: Value = serde_saphyr::from_str(&rendered)
            .map_err(|error| format!("the cloud-config is not YAML: {}", first_line(&error)))?;
        let mut node = Self::default();
        let files = config["write_files"].as_array();
        for file in files.into_iter().flatten() {
            let content = content(file)?;
            if file["path"] == "/etc/kubernetes/azure.json" {
                node.azure_json = Some(content);
            } else if content.contains("JoinConfiguration") {
                node.take_kubeadm(&content);
            }
        }
        Ok(node)
    }

    fn take_kubeadm(&mut self, text: &str) {
        let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap_or_default();
        let join = documents
            .iter()
            .find(|document| document["kind"] == "JoinConfiguration");
        let Some(registration) = join.map(|join| &join["nodeRegistration"]) else {
            return;
        };
        // kubeadm lowers the name, as hostnames are.
        let name = registration["name"].as_str();
        self.node_name = name.map(|name| name.trim().to_lowercase());
        self.labels = labels(argument(&registration["kubeletExtraArgs"], "node-labels"));
    }
}

/// An argument of the kubelet: a map's member, or an entry of a list of names and values.
fn argument<'a>(arguments: &'a Value, name: &str) -> &'a str {
    let listed = arguments
        .as_array()
        .and_then(|list| list.iter().find(|entry| entry["name"] == name))
        .and_then(|entry| entry["value"].as_str());
    listed.or(arguments[name].as_str()).unwrap_or_default()
}

/// The content of a file, decoded as cloud-init does.
fn content(file: &Value) -> Result<String, String> {
    let path = file["path"].as_str().unwrap_or_default();
    let text = file["content"].as_str().unwrap_or_default();
    let encoding = file["encoding"].as_str().unwrap_or_default();
    let broken = || format!("write_files: {path} is not {encoding}");
    let decoded = match encoding {
        "b64" | "base64" => STANDARD.decode(text.trim()).map_err(|_| broken())?,
        "gz+b64" | "gz+base64" | "gzip+b64" | "gzip+base64" => {
            let packed = STANDARD.decode(text.trim()).map_err(|_| broken())?;
            let mut plain = Vec::new();
            GzDecoder::new(packed.as_slice())
                .take(MOST_BYTES)
                .read_to_end(&mut plain)
                .map_err(|_| broken())?;
            plain
        }
        _ => text.as_bytes().to_vec(),
    };
    Ok(String::from_utf8_lossy(&decoded).into_owned())
}

/// Renders the few variables that bootstrap data uses.
fn render(text: &str, hostname: &str) -> String {
    let mut rendered = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        rendered.push_str(before);
        let Some((expression, after)) = after.split_once("}}") else {
            rendered.push_str("{{");
            rest = after;
            break;
        };
        let name: String = expression
            .chars()
            .filter(|c| !c.is_whitespace() && !"\"'[]".contains(*c))
            .collect();
        let name = name.replace("meta_data.", "meta_data");
        match name.as_str() {
            "ds.meta_datalocal_hostname"
            | "ds.meta_datahostname"
            | "v1.local_hostname"
            | "local_hostname" => rendered.push_str(hostname),
            other => {
                rendered.push_str("CI_MISSING_JINJA_VAR/");
                rendered.push_str(other);
            }
        }
        rest = after;
    }
    rendered.push_str(rest);
    rendered
}

fn first_line(error: &impl ToString) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBEADM: &str = r#"## template: jinja
#cloud-config
write_files:
- path: /run/kubeadm/kubeadm-join-config.yaml
  content: |
    ---
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: JoinConfiguration
    nodeRegistration:
      name: '{{ ds.meta_data["local_hostname"] }}'
      kubeletExtraArgs:
      - name: node-labels
        value: pool=workers,team=payments
runcmd: [kubeadm join]
"#;

    #[test]
    fn kubeadm_tells_the_name_and_labels_of_the_node() {
        let node = NodeConfig::read(KUBEADM, "workers-7d91b187000000").unwrap();
        assert_eq!(node.node_name.unwrap(), "workers-7d91b187000000");
        assert_eq!(node.labels[1], ("team".to_owned(), "payments".to_owned()));
    }

    #[test]
    fn a_file_of_the_payload_is_read() {
        let text = "#cloud-config\nwrite_files:\n- path: /etc/kubernetes/azure.json\n  \
                    encoding: b64\n  content: e30=\n";
        let node = NodeConfig::read(text, "h").unwrap();
        assert_eq!(node.azure_json.unwrap(), "{}");
        assert!(NodeConfig::read("#cloud-config\nrun: [a\n", "h").is_err());
    }
}
