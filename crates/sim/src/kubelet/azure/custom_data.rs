//! From custom data to a joining node: boot hook first, then cloud-config; or Ignition.

use serde_json::Value;

use super::{
    super::{
        host::{Booted, Machine},
        payload::{assigned, assignment, check_ignition, cloud_config, labels},
    },
    cloud_config::NodeConfig,
    mime,
};

/// What a machine made of its custom data.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// `/etc/kubernetes/azure.json`, if something wrote it.
    pub(super) azure_json: Option<String>,
    /// Labels the kubelet is started with.
    pub(super) labels: Vec<(String, String)>,
    node_name: Option<String>,
}

impl Outcome {
    /// Does what custom data asks for on a machine of that hostname.
    pub(super) fn of(data: &[u8], hostname: &str) -> Result<Self, String> {
        if data.is_empty() {
            return Err("there is no custom data".to_owned());
        }
        let text = std::str::from_utf8(data).unwrap_or_default();
        if text.trim_start().starts_with('{') {
            check_ignition(data)?;
            return Ok(Self::default());
        }
        let mut outcome = Self::default();
        if !mime::is_message(text) {
            outcome.take_cloud_config(data, hostname)?;
            return Ok(outcome);
        }
        let parts = mime::parts(text)?;
        let (hooks, others): (Vec<_>, Vec<_>) = parts
            .into_iter()
            .partition(|part| part.kind == "text/cloud-boothook");
        for hook in hooks {
            outcome.take_boot_hook(&String::from_utf8_lossy(&hook.content))?;
        }
        if others.is_empty() {
            return Err("the MIME message has no payload".to_owned());
        }
        for part in others {
            let taken = ["text/plain", "text/cloud-config", "application/x-gzip"];
            if !taken.contains(&part.kind.as_str()) {
                return Err(format!("cloud-init takes no part {}", part.kind));
            }
            outcome.take_cloud_config(&part.content, hostname)?;
        }
        Ok(outcome)
    }

    /// A boot hook writes the cloud provider's file and hands labels to the kubelet.
    fn take_boot_hook(&mut self, script: &str) -> Result<(), String> {
        if !script.starts_with("#!") && !script.starts_with("#cloud-boothook") {
            return Err("the boot hook is no script".to_owned());
        }
        if script.contains("/etc/kubernetes/azure.json") {
            let written = json_in(script)
                .ok_or("the boot hook writes no JSON to /etc/kubernetes/azure.json")?;
            self.azure_json = Some(written);
        }
        if let Some(list) = assignment(script, "captf_node_labels") {
            self.labels.extend(labels(&list));
        }
        Ok(())
    }

    fn take_cloud_config(&mut self, data: &[u8], hostname: &str) -> Result<(), String> {
        let config = NodeConfig::read(&cloud_config(data)?, hostname)?;
        // The payload writes its files after the boot hook, and so overrides it.
        if config.azure_json.is_some() {
            self.azure_json = config.azure_json;
        }
        self.node_name = config.node_name.or(self.node_name.take());
        self.labels.extend(config.labels);
        Ok(())
    }

    /// The cloud provider's settings.
    pub(super) fn provider(&self) -> Result<Value, String> {
        let Some(text) = &self.azure_json else {
            return Ok(Value::Null);
        };
        let settings: Option<Value> = serde_json::from_str(text).ok();
        settings
            .filter(Value::is_object)
            .ok_or_else(|| "/etc/kubernetes/azure.json is not a JSON object".to_owned())
    }

    /// The node that comes of it. It joins the cluster whose resource group the cloud provider's
    /// file names, else that of its own group.
    pub(super) fn booted(self, machine: &Machine) -> Result<Booted, String> {
        let settings = self.provider()?;
        let group = settings["resourceGroup"].as_str().map(str::to_lowercase);
        let cluster_id = group.or_else(|| machine.cluster_id.clone());
        Ok(Booted {
            cluster_id: cluster_id.ok_or("the instance is in no resource group")?,
            node: self.node_name.unwrap_or_else(|| machine.hostname.clone()),
            labels: self.labels,
        })
    }
}

/// The JSON object a script writes: a line of a here-document, or the value of a variable.
fn json_in(script: &str) -> Option<String> {
    let is_object =
        |text: &String| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
    let lines = script.lines().map(|line| line.trim().to_owned());
    lines
        .chain(assigned(script))
        .filter(|text| text.starts_with('{'))
        .find(is_object)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    const HOOK: &str = "#!/bin/sh\nset -eu\ncaptf_node_labels='team=payments,empty='\n\
        if [ ! -e /etc/kubernetes/azure.json ]; then\ncat > /etc/kubernetes/azure.json <<'EOF'\n\
        {\"resourceGroup\":\"G\"}\nEOF\nfi\n";

    fn message(parts: &[(&str, &str)]) -> String {
        let mut text = "Content-Type: multipart/mixed; boundary=\"B\"\n\n".to_owned();
        for (kind, content) in parts {
            write!(text, "--B\nContent-Type: {kind}\n\n{content}\n").unwrap();
        }
        text + "--B--\n"
    }

    #[test]
    fn the_hook_comes_first_and_the_payload_overrides_its_file() {
        let plain = "#cloud-config\nruncmd: []\n";
        let read = |payload: &str| {
            let parts = [("text/plain", payload), ("text/cloud-boothook", HOOK)];
            Outcome::of(message(&parts).as_bytes(), "h").unwrap()
        };
        let outcome = read(plain);
        assert_eq!(
            outcome.azure_json.as_deref(),
            Some("{\"resourceGroup\":\"G\"}")
        );
        assert_eq!(outcome.labels.len(), 2);
        let own =
            "#cloud-config\nwrite_files:\n- path: /etc/kubernetes/azure.json\n  content: '{}'\n";
        assert_eq!(read(own).azure_json.as_deref(), Some("{}"));
    }

    #[test]
    fn the_provider_s_file_may_come_from_a_variable() {
        let hook = "#!/bin/sh\ncloud_provider_config='{\"vnetName\":\"it'\\''s\"}'\n\
                    provider=/etc/kubernetes/azure.json\n";
        let mut outcome = Outcome::default();
        outcome.take_boot_hook(hook).unwrap();
        assert_eq!(outcome.provider().unwrap()["vnetName"], "it's");
        let silent = "#!/bin/sh\nprovider=/etc/kubernetes/azure.json\n";
        assert!(Outcome::default().take_boot_hook(silent).is_err());
    }

    #[test]
    fn what_cannot_boot_says_why() {
        let failure = |data: &str| Outcome::of(data.as_bytes(), "h").unwrap_err();
        assert_eq!(failure(""), "there is no custom data");
        assert_eq!(
            failure("#!/bin/sh\n"),
            "the bootstrap data is not cloud-config"
        );
        assert!(failure("{\"a\":1}").contains("Ignition"));
        let only_hook = message(&[("text/cloud-boothook", HOOK)]);
        assert_eq!(failure(&only_hook), "the MIME message has no payload");
        assert!(Outcome::of(br#"{"ignition":{"version":"3.4.0"}}"#, "h").is_ok());
    }
}
