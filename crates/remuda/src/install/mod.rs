//! What `remuda install` installs: one source for the command, the kustomize base and the files of
//! the clusterctl provider.
//!
//! | part | objects |
//! | --- | --- |
//! | namespace | Namespace |
//! | definitions | CustomResourceDefinitions |
//! | roles | ServiceAccount, roles, bindings; see `remuda_controllers::permissions` |
//! | manager | Service, Deployment, PodDisruptionBudget; Issuer and Certificate for cert-manager |
//! | webhooks | webhook configurations |

mod apply;
mod text;

use anyhow::{Context, Result};
use minijinja::{Environment, context, value::Serde};
use remuda_controllers::{
    admission::{Endpoint, Scope, configurations},
    permissions::{Duties, Roles, SERVICE_ACCOUNT},
};
use serde_json::Value;

pub(crate) use apply::apply;
pub(crate) use text::{labelled, values};

use crate::cli::CoreMode;

/// Name of the Service in front of the webhooks.
const SERVICE: &str = "remuda-webhooks";
/// Name of cert-manager's Certificate.
const CERTIFICATE: &str = "remuda-webhooks";
/// The Secret that cert-manager fills; not the one of our own certificates, which has other keys.
const MOUNTED: &str = "remuda-webhook-tls";
/// The group of the core's kinds.
const CORE_GROUP: &str = "cluster.x-k8s.io";
/// By which cert-manager finds what it is to fill in.
const INJECT: &str = "cert-manager.io/inject-ca-from";
/// What our own objects have in common.
const PART_OF: (&str, &str) = ("app.kubernetes.io/part-of", "remuda");
/// What clusterctl finds a provider's objects by.
const PROVIDER: (&str, &str) = ("cluster.x-k8s.io/provider", "infrastructure-remuda");

/// What is installed. Texts may hold variables that something else fills in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) namespace: String,
    pub(crate) image: String,
    pub(crate) replicas: String,
    pub(crate) core: CoreMode,
    pub(crate) cert_manager: bool,
    /// The one namespace whose objects are worked on; empty: all.
    pub(crate) watched: String,
    pub(crate) watch_filter: String,
    pub(crate) feature_gates: String,
    /// Shares of the work, each with a Deployment of its own.
    pub(crate) shards: u16,
    /// For clusterctl.
    pub(crate) provider: bool,
}

impl Package {
    /// The provider for clusterctl: beside upstream's core, with variables to be filled in.
    pub(crate) fn for_clusterctl() -> Self {
        let image = default_image();
        Self {
            namespace: "remuda-system".to_owned(),
            image: format!("${{REMUDA_IMAGE:={image}}}"),
            replicas: "${REMUDA_REPLICAS:=2}".to_owned(),
            core: CoreMode::Off,
            cert_manager: false,
            watched: String::new(),
            watch_filter: "${REMUDA_WATCH_FILTER:=}".to_owned(),
            feature_gates: "${REMUDA_FEATURE_GATES:=}".to_owned(),
            shards: 1,
            provider: true,
        }
    }

    /// Everything, as a stream of YAML documents in the order in which it is applied.
    pub(crate) fn yaml(&self) -> Result<String> {
        let parts = [
            self.namespace_object(),
            self.definitions()?,
            self.roles(),
            self.manager()?,
            self.webhooks()?,
        ];
        let mut labels = vec![PART_OF];
        labels.extend(self.provider.then_some(PROVIDER));
        let stream = parts.join("---\n");
        let documents = text::documents(&stream).map(|document| labelled(document, &labels));
        Ok(documents.collect::<Vec<_>>().join("---\n"))
    }

    fn has_core(&self) -> bool {
        self.core != CoreMode::Off
    }

    /// Its pods meet the strictest of Kubernetes' own standards.
    fn namespace_object(&self) -> String {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {}\n  labels:\n    \
             pod-security.kubernetes.io/enforce: restricted\n",
            self.namespace
        )
    }

    /// The core's kinds are the core's to install.
    fn definitions(&self) -> Result<String> {
        let ours = remuda_api::crds().into_iter();
        let ours = ours.filter(|it| self.has_core() || it.spec.group != CORE_GROUP);
        let texts = ours.map(|it| serde_saphyr::to_string(&it).context("a definition as YAML"));
        Ok(texts.collect::<Result<Vec<_>>>()?.join("---\n"))
    }

    fn roles(&self) -> String {
        let roles = Roles {
            namespace: &self.namespace,
            watched: (!self.watched.is_empty()).then_some(self.watched.as_str()),
            duties: Duties {
                core: self.has_core(),
                own_certificates: !self.cert_manager,
            },
            beside_core: self.core != CoreMode::On,
        };
        roles.yaml()
    }

    fn manager(&self) -> Result<String> {
        let mut templates = Environment::new();
        templates.add_template("manager", include_str!("manager.yaml"))?;
        let core = match self.core {
            CoreMode::Auto => "auto",
            CoreMode::On => "on",
            CoreMode::Off => "off",
        };
        let shards: Vec<Value> = (0..self.shards).map(|index| self.shard(index)).collect();
        let mut text = templates.get_template("manager")?.render(context! {
            namespace => &self.namespace,
            image => &self.image,
            replicas => &self.replicas,
            core,
            watched => &self.watched,
            watch_filter => &self.watch_filter,
            feature_gates => &self.feature_gates,
            cert_manager => self.cert_manager,
            certificate => CERTIFICATE,
            certificates => MOUNTED,
            account => SERVICE_ACCOUNT,
            shards => minijinja::Value::from(Serde(shards)),
        })?;
        text.push('\n');
        Ok(text)
    }

    fn shard(&self, index: u16) -> Value {
        match self.shards {
            1 => serde_json::json!({ "name": SERVICE_ACCOUNT }),
            of => serde_json::json!({
                "name": format!("{SERVICE_ACCOUNT}-{index}"), "share": format!("{index}/{of}"),
            }),
        }
    }

    fn webhooks(&self) -> Result<String> {
        let endpoint = Endpoint::Service {
            namespace: self.namespace.clone(),
            name: SERVICE.to_owned(),
        };
        let scope = Scope {
            core: self.has_core(),
            infrastructure: true,
        };
        let texts = configurations(&endpoint, scope, None).map(|mut configuration| {
            if self.cert_manager {
                let certificate = format!("{}/{CERTIFICATE}", self.namespace);
                configuration["metadata"]["annotations"][INJECT] = certificate.into();
            }
            serde_saphyr::to_string(&configuration).context("a webhook configuration as YAML")
        });
        let texts: Result<Vec<_>> = texts.into_iter().collect();
        Ok(texts?.join("---\n"))
    }
}

/// The image of this version; where it lives is for whoever built it to say.
pub(crate) fn default_image() -> String {
    concat!("remuda:v", env!("CARGO_PKG_VERSION")).to_owned()
}

/// clusterctl's `metadata.yaml`: which contract this release series keeps.
pub(crate) fn metadata() -> String {
    let (major, minor) = (
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
    );
    format!(
        "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n  \
         - major: {major}\n    minor: {minor}\n    contract: v1beta2\n"
    )
}

#[cfg(test)]
mod tests;
