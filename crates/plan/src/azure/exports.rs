//! Cluster exports, schema `captf.io/azure-cluster/v1` (Azure document 1).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::place::Place;
use crate::pool::exports::{Schema, text};

/// The only schema this driver reads.
pub(super) const SCHEMA: Schema = Schema {
    name: "captf.io/azure-cluster/v1",
    wrong: "E-CLUSTER-OUTPUTS",
    wrong_remedy: "use an Azure pool in a cluster made by a matching azure-cluster image",
    none: "E-EXPORTS",
    incomplete: "E-EXPORTS-INCOMPLETE",
};

/// Key that the pool adds to the cloud provider's configuration.
const NODE_IDENTITY: &str = "userAssignedIdentityID";

/// What a pool uses of its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exports {
    /// Subscription, group and region.
    pub place: Place,
    /// The permitted zones; empty in a region without zones.
    pub zones: BTreeSet<String>,
    /// ARM ID.
    pub worker_subnet_id: String,
    /// `captf`.
    pub admin_username: String,
    /// OpenSSH public key.
    pub admin_ssh_public_key: String,
    /// ARM ID.
    pub worker_identity_id: String,
    /// ARM ID.
    pub worker_network_security_group_id: String,
    /// ARM ID.
    pub worker_application_security_group_id: String,
    /// The cloud provider's file of a node: the exports' object, unknown keys included, and the
    /// workers' identity.
    pub cloud_provider_config: Map<String, Value>,
}

/// Whether a value says it follows our schema.
pub fn has_schema(value: &Value) -> bool {
    SCHEMA.is_of(value)
}

/// All fields, or the names of the missing ones in ascending byte order.
pub(super) fn complete(value: &Value) -> Result<Exports, Vec<&'static str>> {
    let mut reader = Reader {
        value,
        missing: Vec::new(),
    };
    let exports = Exports {
        admin_ssh_public_key: reader.text("admin_ssh_public_key"),
        admin_username: reader.text("admin_username"),
        cloud_provider_config: reader.object("cloud_provider_config"),
        zones: reader.object("failure_domains").keys().cloned().collect(),
        place: Place {
            region: reader.text("region"),
            resource_group_name: reader.text("resource_group_name").to_lowercase(),
            subscription_id: reader.text("subscription_id").to_lowercase(),
        },
        worker_application_security_group_id: reader.text("worker.application_security_group_id"),
        worker_identity_id: reader.text("worker.identity_id"),
        worker_network_security_group_id: reader.text("worker.network_security_group_id"),
        worker_subnet_id: reader.text("worker_subnet_id"),
    };
    let client_id = reader.text("worker.identity_client_id");
    if !has_schema(value) {
        reader.missing.push("schema");
    }
    if !reader.missing.is_empty() {
        reader.missing.sort_unstable();
        return Err(reader.missing);
    }
    let mut exports = exports;
    exports
        .cloud_provider_config
        .insert(NODE_IDENTITY.to_owned(), Value::from(client_id));
    Ok(exports)
}

/// Reads fields by their dotted path and notes the missing ones.
struct Reader<'a> {
    value: &'a Value,
    missing: Vec<&'static str>,
}

impl Reader<'_> {
    fn get(&self, path: &str) -> Option<&Value> {
        path.split('.')
            .try_fold(self.value, |value, key| value.get(key))
    }

    fn text(&mut self, path: &'static str) -> String {
        let found = text(self.get(path));
        found.unwrap_or_else(|| {
            self.missing.push(path);
            String::new()
        })
    }

    fn object(&mut self, path: &'static str) -> Map<String, Value> {
        let found = self.get(path).and_then(Value::as_object).cloned();
        found.unwrap_or_else(|| {
            self.missing.push(path);
            Map::new()
        })
    }
}
