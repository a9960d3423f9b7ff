//! What a decision needs to know beyond the request. A read that failed is told as such.

use serde_json::Value;

use super::{
    kind::Kind,
    machine,
    request::{Operation, Request},
};
use crate::pool::keys;

/// A question to the API, asked only where its answer counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// May the person behind the request read this Secret?
    MayReadSecret {
        /// Namespace of the Secret.
        namespace: String,
        /// Name of the Secret.
        name: String,
    },
    /// Who uses this identity?
    UsersOfIdentity {
        /// Name of the identity.
        name: String,
    },
    /// Can this Machine be ended alone, and does its pool or Cluster go anyway?
    Machine,
}

/// What was found out; `None` where nothing was asked. An error says why it is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether the person may read the Secret.
    pub may_read_secret: Option<Result<bool, String>>,
    /// Objects or namespaces that use the identity, sorted.
    pub identity_users: Option<Result<Vec<String>, String>>,
    /// About the Machine to be deleted.
    pub machine: Option<Result<MachineFacts, String>>,
}

/// About a Machine of a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// Why the provider can't end it alone, as its infrastructure object says; `None` where it can.
    pub not_deletable: Option<String>,
    /// Its pool or its Cluster is being deleted or gone: it goes with it.
    pub goes_with_its_pool: bool,
}

/// What must be found out before a request is judged.
pub fn questions(kind: Kind, request: &Request<'_>) -> Vec<Question> {
    let subject = request.subject();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match (kind, request.operation) {
        (Kind::Machine | Kind::TerraformMachinePoolMachine, Operation::Delete)
            if machine::is_of_pool(subject) =>
        {
            vec![Question::Machine]
        }
        (Kind::TerraformClusterIdentity, Operation::Delete) => vec![Question::UsersOfIdentity {
            name: text(&subject["metadata"]["name"]),
        }],
        (Kind::TerraformClusterIdentity, _) if grants(request) => {
            let secret = &subject["spec"]["secretRef"];
            vec![Question::MayReadSecret {
                namespace: text(&secret["namespace"]),
                name: text(&secret["name"]),
            }]
        }
        _ => Vec::new(),
    }
}

/// Whether a request gives someone access to a Secret.
fn grants(request: &Request<'_>) -> bool {
    let changed = |field: &str| {
        let before = request.old.map(|old| &old["spec"][field]);
        before.is_none_or(|before| *before != request.object["spec"][field])
    };
    changed("secretRef") || changed("allowedNamespaces")
}

/// Who uses an identity, as `Kind namespace/name`, sorted: what names it, and pools that inherit it
/// from the TerraformCluster of their Cluster. A deleting object counts.
pub fn identity_users(
    identity: &str,
    pools: &[Value],
    clusters: &[Value],
    infra_clusters: &[Value],
) -> Vec<String> {
    let mut users = Vec::new();
    for infra in infra_clusters {
        let references = [&infra["spec"]["identityRef"], default_identity(infra)];
        if references.into_iter().any(|it| named(it) == Some(identity)) {
            users.push(format!("TerraformCluster {}", place(infra)));
        }
    }
    for pool in pools {
        let own = &pool["spec"]["identityRef"];
        let used = if own.is_null() {
            inherited(pool, clusters, infra_clusters)
        } else {
            named(own)
        };
        if used == Some(identity) {
            users.push(format!("TerraformMachinePool {}", place(pool)));
        }
    }
    users.sort();
    users
}

fn inherited<'a>(pool: &Value, clusters: &[Value], infra_clusters: &'a [Value]) -> Option<&'a str> {
    let namespace = &pool["metadata"]["namespace"];
    let label = pool["metadata"]["labels"][keys::CLUSTER_NAME].as_str()?;
    let cluster = clusters.iter().find(|cluster| {
        cluster["metadata"]["namespace"] == *namespace && cluster["metadata"]["name"] == label
    })?;
    let wanted = cluster["spec"]["infrastructureRef"]["name"].as_str()?;
    let infra = infra_clusters.iter().find(|infra| {
        infra["metadata"]["namespace"] == *namespace && infra["metadata"]["name"] == wanted
    })?;
    named(default_identity(infra)).or_else(|| named(&infra["spec"]["identityRef"]))
}

fn default_identity(infra_cluster: &Value) -> &Value {
    &infra_cluster["spec"]["defaults"]["identityRef"]
}

/// The cluster-scoped identity that a reference names.
fn named(reference: &Value) -> Option<&str> {
    let kind = reference["kind"].as_str();
    if kind.is_some_and(|kind| kind != "TerraformClusterIdentity") {
        return None;
    }
    reference["name"].as_str()
}

fn place(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}
