//! Whose work an object is, where several managers share it. See `remuda_plan::share`.

use kube::api::DynamicObject;
use remuda_api::keys::label;
use serde_json::Value;

use crate::kinds::Kind;

/// The cluster that an object belongs to; an object of none stands for itself. A pool that is not
/// labelled yet waits for its MachinePool's controller, wherever that runs.
pub(crate) fn work_on(kind: Kind, object: &DynamicObject) -> &str {
    let name = object.metadata.name.as_deref().unwrap_or_default();
    if matches!(kind, Kind::Cluster | Kind::TerraformClusterIdentity) {
        return name;
    }
    let labels = object.metadata.labels.as_ref();
    let spec = object.data.pointer("/spec/clusterName");
    spec.and_then(Value::as_str)
        .or_else(|| Some(labels?.get(label::CLUSTER_NAME)?.as_str()))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, labelled: Option<&str>, spec: Value) -> DynamicObject {
        let mut object = DynamicObject::new(name, &Kind::MachinePool.resource());
        object.metadata.labels =
            labelled.map(|it| [(label::CLUSTER_NAME.to_owned(), it.to_owned())].into());
        object.data = json!({ "spec": spec });
        object
    }

    #[test]
    fn what_belongs_to_a_cluster_goes_where_the_cluster_goes() {
        let cluster = object("demo", None, json!({}));
        assert_eq!(work_on(Kind::Cluster, &cluster), "demo");
        let named = object("pool", None, json!({ "clusterName": "demo" }));
        assert_eq!(work_on(Kind::MachinePool, &named), "demo");
        let labelled = object("pool", Some("demo"), json!({}));
        assert_eq!(work_on(Kind::TerraformMachinePool, &labelled), "demo");
        let identity = object("aws", None, json!({}));
        assert_eq!(work_on(Kind::TerraformClusterIdentity, &identity), "aws");
        let bare = object("pool", None, json!({}));
        assert_eq!(work_on(Kind::TerraformMachinePool, &bare), "");
    }
}
