//! The webhook configurations, as data.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use remuda_plan::admission::{Kind, Operation};
use serde_json::{Value, json};

use super::{Phase, path};

/// Name of the MutatingWebhookConfiguration.
pub(crate) const MUTATING: &str = "remuda-mutating-webhook-configuration";
/// Name of the ValidatingWebhookConfiguration.
pub(crate) const VALIDATING: &str = "remuda-validating-webhook-configuration";

/// How long the API server waits for an answer.
const TIMEOUT_SECONDS: u32 = 10;

/// Where the webhooks answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// At a host and port, without a Service.
    Host(String),
    /// Behind a Service, at port 443.
    Service {
        /// Namespace of the Service.
        namespace: String,
        /// Name of the Service.
        name: String,
    },
}

impl Endpoint {
    /// The names that the certificate must be for.
    pub(super) fn names(&self) -> Vec<String> {
        match self {
            Self::Host(host) => {
                let bare = host
                    .rsplit_once(':')
                    .map_or(host.as_str(), |(bare, _)| bare);
                vec![bare.trim_matches(['[', ']']).to_owned()]
            }
            Self::Service { namespace, name } => vec![
                format!("{name}.{namespace}.svc"),
                format!("{name}.{namespace}.svc.cluster.local"),
                format!("{name}.{namespace}"),
            ],
        }
    }

    fn client_config(&self, path: &str, authorities: Option<&str>) -> Value {
        let mut config = match self {
            Self::Host(host) => json!({ "url": format!("https://{host}{path}") }),
            Self::Service { namespace, name } => json!({ "service": {
                "namespace": namespace, "name": name, "path": path, "port": 443,
            } }),
        };
        if let Some(authorities) = authorities {
            config["caBundle"] = STANDARD.encode(authorities).into();
        }
        config
    }
}

/// Whose kinds are judged here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    /// The core's: no upstream manager owns them.
    pub core: bool,
    /// captf's: its own manager does not run (ADM-13).
    pub infrastructure: bool,
}

impl Scope {
    /// Every kind.
    pub const ALL: Self = Self {
        core: true,
        infrastructure: true,
    };

    fn covers(self, kind: Kind) -> bool {
        if kind.is_core() {
            self.core
        } else {
            self.infrastructure
        }
    }
}

/// The mutating and the validating configuration. Without `authorities` (PEM) something else fills in
/// whom to trust, such as cert-manager.
pub fn configurations(endpoint: &Endpoint, scope: Scope, authorities: Option<&str>) -> [Value; 2] {
    let webhooks = |phase: Phase| -> Vec<Value> {
        Kind::ALL
            .into_iter()
            .filter(|kind| scope.covers(*kind))
            .filter_map(|kind| webhook(phase, kind, endpoint, authorities))
            .collect()
    };
    let configuration = |kind: &str, name: &str, phase: Phase| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": { "name": name },
            "webhooks": webhooks(phase),
        })
    };
    [
        configuration("MutatingWebhookConfiguration", MUTATING, Phase::Mutate),
        configuration(
            "ValidatingWebhookConfiguration",
            VALIDATING,
            Phase::Validate,
        ),
    ]
}

fn webhook(
    phase: Phase,
    kind: Kind,
    endpoint: &Endpoint,
    authorities: Option<&str>,
) -> Option<Value> {
    let (prefix, operations) = match phase {
        Phase::Mutate => ("default", kind.completed_on()),
        Phase::Validate => ("validation", kind.judged_on()),
    };
    if operations.is_empty() {
        return None;
    }
    let operations: Vec<&str> = operations.iter().copied().map(Operation::name).collect();
    let mut webhook = json!({
        "name": format!("{prefix}.{}.{}", kind.singular(), kind.group()),
        "admissionReviewVersions": ["v1"],
        "clientConfig": endpoint.client_config(&path(phase, kind), authorities),
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "rules": [{
            "apiGroups": [kind.group()],
            "apiVersions": [kind.version()],
            "operations": operations,
            "resources": [kind.plural()],
            "scope": "*",
        }],
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT_SECONDS,
    });
    if phase == Phase::Mutate {
        webhook["reinvocationPolicy"] = "Never".into();
    }
    Some(webhook)
}
