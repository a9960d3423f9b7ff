//! Objects read from manifests, for previews of what is not applied yet.

use std::collections::BTreeMap;

use async_trait::async_trait;
use remuda_plan::pool::objects::PoolObject;
use serde_json::Value;

use super::{ApiError, Objects};
use crate::{kinds::Kind, terraform_machine_pool::PoolKey};

/// Objects given beforehand, for example read from manifests.
#[derive(Debug, Clone, Default)]
pub struct GivenObjects {
    objects: BTreeMap<(Kind, String, String), Value>,
}

impl GivenObjects {
    /// Takes parsed manifests; kinds that no pool reads are ignored. Objects without a namespace
    /// are put into `default_namespace`.
    pub fn new(manifests: impl IntoIterator<Item = Value>, default_namespace: &str) -> Self {
        let mut objects = BTreeMap::new();
        for mut manifest in manifests {
            let text = |pointer: &str| {
                manifest
                    .pointer(pointer)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            let Some(kind) = Kind::from_manifest(&text("/apiVersion"), &text("/kind")) else {
                continue;
            };
            let name = text("/metadata/name");
            let namespace = match (kind.is_namespaced(), text("/metadata/namespace")) {
                (false, _) => String::new(),
                (true, given) if given.is_empty() => default_namespace.to_owned(),
                (true, given) => given,
            };
            if kind.is_namespaced()
                && let Some(metadata) = manifest.get_mut("metadata").and_then(Value::as_object_mut)
            {
                metadata.insert("namespace".to_owned(), Value::String(namespace.clone()));
            }
            objects.insert((kind, namespace, name), manifest);
        }
        Self { objects }
    }

    /// The same with one pool replaced.
    #[must_use]
    pub(crate) fn with_pool(mut self, key: &PoolKey, pool: &PoolObject) -> Self {
        let id = (
            Kind::TerraformMachinePool,
            key.namespace.clone(),
            key.name.clone(),
        );
        if let Ok(value) = serde_json::to_value(pool) {
            self.objects.insert(id, value);
        }
        self
    }

    /// Names of the pools among the objects, as (namespace, name).
    pub fn pools(&self) -> Vec<(String, String)> {
        self.objects
            .keys()
            .filter(|(kind, _, _)| *kind == Kind::TerraformMachinePool)
            .map(|(_, namespace, name)| (namespace.clone(), name.clone()))
            .collect()
    }
}

#[async_trait]
impl Objects for GivenObjects {
    async fn get(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ApiError> {
        let namespace = if kind.is_namespaced() { namespace } else { "" };
        let key = (kind, namespace.to_owned(), name.to_owned());
        Ok(self.objects.get(&key).cloned())
    }

    async fn list(
        &self,
        kind: Kind,
        namespace: &str,
        _selector: &str,
    ) -> Result<Vec<Value>, ApiError> {
        Ok(self
            .objects
            .iter()
            .filter(|((of, within, _), _)| {
                *of == kind && (namespace.is_empty() || within == namespace)
            })
            .map(|(_, object)| object.clone())
            .collect())
    }
}
