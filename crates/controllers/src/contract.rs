//! Which API version of a referenced kind implements the Cluster API contract (cluster-api
//! document 2.3). A reference names only group and kind; the kind's CRD says the version.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use crate::{
    kinds::Kind,
    objects::{ApiError, LiveObjects, Objects},
};

/// Contract labels, newest first.
const CONTRACTS: [&str; 2] = ["cluster.x-k8s.io/v1beta2", "cluster.x-k8s.io/v1beta1"];

/// Resolved kinds, kept until a look-up with one of them fails.
#[derive(Debug, Default)]
pub(crate) struct Contracts {
    known: Mutex<HashMap<(String, String), ApiResource>>,
}

impl Contracts {
    /// The resource that a reference to `kind` of `group` means.
    ///
    /// # Errors
    /// `NotFound` when there is no such CRD, `Refused` when it has no contract label, or the read
    /// failed.
    pub(crate) async fn resolve(
        &self,
        objects: &LiveObjects,
        group: &str,
        kind: &str,
    ) -> Result<ApiResource, ApiError> {
        let id = (group.to_owned(), kind.to_owned());
        let known = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(&id).cloned()
        };
        if let Some(resource) = known {
            return Ok(resource);
        }
        let crd = crd_name(group, kind);
        let object = objects
            .get(Kind::CustomResourceDefinition, "", &crd)
            .await?
            .ok_or_else(|| ApiError::NotFound(format!("the CustomResourceDefinition {crd}")))?;
        let version = version(&object).ok_or_else(|| ApiError::Refused {
            what: format!("the reference to {kind}.{group}"),
            why: format!(
                "the CustomResourceDefinition {crd} has no label {} that names a version",
                CONTRACTS[0]
            ),
        })?;
        let plural = plural(kind);
        let resource = ApiResource::from_gvk_with_plural(
            &GroupVersionKind::gvk(group, &version, kind),
            &plural,
        );
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(id, resource.clone());
        Ok(resource)
    }

    /// A look-up with a resolved kind failed: resolve it anew next time.
    pub(crate) fn forget(&self, group: &str, kind: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&(group.to_owned(), kind.to_owned()));
    }
}

fn crd_name(group: &str, kind: &str) -> String {
    format!("{}.{group}", plural(kind))
}

/// The simple English plural, as Cluster API computes it.
pub(crate) fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    let ends = |tails: &[&str]| tails.iter().any(|tail| kind.ends_with(tail));
    if ends(&["s", "x", "z", "ch", "sh"]) {
        return format!("{kind}es");
    }
    match kind.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{kind}s"),
    }
}

/// The highest version of the newest contract the CRD knows.
fn version(crd: &Value) -> Option<String> {
    CONTRACTS.iter().find_map(|contract| {
        let label = crd.pointer("/metadata/labels")?.get(*contract)?.as_str()?;
        label
            .split('_')
            .filter(|version| !version.is_empty())
            .max_by_key(|version| priority(version))
            .map(str::to_owned)
    })
}

/// Kubernetes' version order: general availability, then beta, then alpha; then by number.
fn priority(version: &str) -> (u8, u64, u64) {
    let number = |text: &str| text.parse::<u64>().ok();
    let Some(rest) = version.strip_prefix('v') else {
        return (0, 0, 0);
    };
    for (stage, word) in [(2, "beta"), (1, "alpha")] {
        if let Some((major, minor)) = rest.split_once(word) {
            return match (number(major), number(minor)) {
                (Some(major), Some(minor)) => (stage, major, minor),
                _ => (0, 0, 0),
            };
        }
    }
    number(rest).map_or((0, 0, 0), |major| (3, major, 0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{plural, version};

    #[test]
    fn the_highest_version_of_the_newest_contract_is_used() {
        let crd = |labels: serde_json::Value| json!({"metadata": {"labels": labels}});
        let both = crd(json!({"cluster.x-k8s.io/v1beta2": "v1alpha1_v1beta1"}));
        assert_eq!(version(&both).as_deref(), Some("v1beta1"));
        let newest = crd(json!({
            "cluster.x-k8s.io/v1beta1": "v1",
            "cluster.x-k8s.io/v1beta2": "v1beta2_v1beta10",
        }));
        assert_eq!(version(&newest).as_deref(), Some("v1beta10"));
        assert_eq!(version(&crd(json!({}))), None);
    }

    #[test]
    fn plurals_follow_simple_english() {
        assert_eq!(plural("TerraformMachinePool"), "terraformmachinepools");
        assert_eq!(plural("ClusterClass"), "clusterclasses");
        assert_eq!(plural("ClusterIdentity"), "clusteridentities");
    }
}
