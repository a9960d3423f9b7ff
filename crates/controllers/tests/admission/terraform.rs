//! captf's kinds.

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::{
    Api,
    api::{DynamicObject, Patch, PatchParams, PostParams},
};
use remuda_controllers::objects::LiveObjects;
use remuda_plan::admission::Gates;
use remuda_testkit::{NAMESPACE, World};
use serde_json::{Value, json};

use super::{create, delete, patch, refused, resource, world};

const GROUP: &str = "infrastructure.cluster.x-k8s.io/v1alpha1";
const IMAGE: &str = "ghcr.io/captf-io/aws-machinepool:v0.3.0";

fn template() -> Value {
    json!({
        "apiVersion": GROUP, "kind": "TerraformMachinePoolTemplate",
        "metadata": { "name": "fast", "namespace": NAMESPACE },
        "spec": { "template": { "spec": {
            "source": { "image": IMAGE }, "variables": { "spot": true },
        } } },
    })
}

/// The change that Cluster API's topology controller tries out, as it tries it.
async fn tried(world: &World, annotated: bool, dry_run: bool) -> Result<(), String> {
    let mut changed = template();
    changed["spec"]["template"]["spec"]["variables"] = json!({ "spot": false });
    if annotated {
        changed["metadata"]["annotations"] = json!({ "topology.cluster.x-k8s.io/dry-run": "" });
    }
    let api: Api<DynamicObject> =
        Api::namespaced_with(world.objects.client(), NAMESPACE, &resource(&changed));
    let params = PatchParams {
        dry_run,
        ..PatchParams::apply("capi-topology").force()
    };
    let outcome = api.patch("fast", &params, &Patch::Apply(&changed)).await;
    outcome.map(drop).map_err(|error| error.to_string())
}

/// Proves: CAPI-18, CAPTF-76.
#[tokio::test(start_paused = true)]
async fn a_template_is_changed_by_no_one_and_tried_by_topologies() {
    let world = world(Gates::default()).await;
    create(&world, &template()).await.unwrap();
    tried(&world, true, true).await.unwrap();
    for (annotated, dry_run) in [(true, false), (false, true), (false, false)] {
        let refused = tried(&world, annotated, dry_run).await.unwrap_err();
        assert!(refused.contains("create a new template"), "{refused}");
    }
    let labelled = json!({ "metadata": { "labels": { "a": "b" } } });
    patch(&world, &template(), labelled).await.unwrap();
    let inner = json!({ "spec": { "template": { "metadata": { "labels": { "a": "b" } } } } });
    patch(&world, &template(), inner).await.unwrap();
}

/// Proves: CAPTF-77, CAPTF-78.
#[tokio::test(start_paused = true)]
async fn a_pool_with_reserved_variables_or_hasty_intervals_is_refused() {
    let world = world(Gates::default()).await;
    let pool = |spec: Value| {
        let mut pool = json!({
            "apiVersion": GROUP, "kind": "TerraformMachinePool",
            "metadata": { "name": "new", "namespace": NAMESPACE },
            "spec": { "source": { "image": IMAGE } },
        });
        for (field, value) in spec.as_object().unwrap() {
            pool["spec"][field] = value.clone();
        }
        pool
    };
    for name in ["captf_x", "replicas", "source"] {
        let new = pool(json!({ "variables": { name: 1 } }));
        refused(
            create(&world, &new).await,
            &["spec.variables", &format!("{name:?}")],
        );
    }
    let hasty = pool(json!({ "drift": { "intervalSeconds": 0 } }));
    refused(
        create(&world, &hasty).await,
        &["spec.drift.intervalSeconds"],
    );
    let hasty = pool(json!({ "membershipRefreshIntervalSeconds": 14 }));
    refused(
        create(&world, &hasty).await,
        &["spec.membershipRefreshIntervalSeconds"],
    );
    create(&world, &pool(json!({ "variables": { "spot": true } })))
        .await
        .unwrap();
}

fn identity(name: &str) -> Value {
    json!({
        "apiVersion": GROUP, "kind": "TerraformClusterIdentity",
        "metadata": { "name": name },
        "spec": {
            "secretRef": { "namespace": "secrets", "name": "keys" },
            "allowedNamespaces": { "list": [NAMESPACE] },
        },
    })
}

/// The API as a person who may do everything to identities, and nothing to Secrets.
async fn as_person(world: &World) -> LiveObjects {
    let roles: Api<ClusterRole> = Api::all(world.objects.client());
    let role = serde_json::from_value(json!({
        "metadata": { "name": "identities" },
        "rules": [{
            "apiGroups": ["infrastructure.cluster.x-k8s.io"],
            "resources": ["terraformclusteridentities"], "verbs": ["*"],
        }],
    }));
    roles
        .create(&PostParams::default(), &role.unwrap())
        .await
        .unwrap();
    let bindings: Api<ClusterRoleBinding> = Api::all(world.objects.client());
    let binding = serde_json::from_value(json!({
        "metadata": { "name": "identities" },
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "identities",
        },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann" }],
    }));
    bindings
        .create(&PostParams::default(), &binding.unwrap())
        .await
        .unwrap();
    world.as_person("ann")
}

#[tokio::test(start_paused = true)]
async fn who_hands_out_a_secret_must_be_allowed_to_read_it() {
    let world = world(Gates::default()).await;
    let new = identity("mine");
    let ann = as_person(&world).await;
    let created = ann.create(&resource(&new), None, &new, "test").await;
    refused(created, &["spec.secretRef", "secrets/keys"]);
    create(&world, &new).await.unwrap();
    let empty = json!({ "spec": { "allowedNamespaces": { "list": null } } });
    refused(
        patch(&world, &new, empty).await,
        &["spec.allowedNamespaces"],
    );
}

#[tokio::test(start_paused = true)]
async fn an_identity_in_use_is_not_deleted() {
    let world = world(Gates::default()).await;
    let unused = identity("unused");
    create(&world, &unused).await.unwrap();
    delete(&world, &unused).await.unwrap();
    let used = json!({
        "apiVersion": GROUP, "kind": "TerraformClusterIdentity", "metadata": { "name": "demo-aws" },
    });
    refused(
        delete(&world, &used).await,
        &[&format!("TerraformCluster {NAMESPACE}/"), "and 1 more"],
    );
}
