//! What keeps a pool from the cloud: dependencies, identities, variables, images; and that one
//! pool's trouble is its own.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use std::time::Duration;

use remuda_controllers::kinds::Kind;
use remuda_testkit::{Demo, POOL, World, condition};
use serde_json::{Value, json};

const GROUP: &str = "captf-team-a-demo-pool-0-43c6d828";

async fn started(demo: Demo) -> World {
    let world = World::new().await;
    world.apply(&demo).await;
    world.start();
    world
}

async fn settled(demo: Demo) -> World {
    let world = started(demo).await;
    world.machine_pool_is_running(3).await;
    world.pool_is_ready().await;
    world
}

fn untouched(world: &World) {
    let calls = world.aws.journal().calls();
    assert!(calls.is_empty(), "{calls:?}");
}

async fn message(world: &World, kind: &str) -> String {
    let pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    let conditions = pool["status"]["conditions"].as_array().unwrap();
    let found = conditions
        .iter()
        .find(|condition| condition["type"] == kind)
        .unwrap();
    found["message"].as_str().unwrap().to_owned()
}

/// Proves: CAPTF-5.
#[tokio::test(start_paused = true)]
async fn a_cluster_on_other_infrastructure_is_not_served() {
    let world = started(Demo::default().edit("Cluster", "demo", |cluster| {
        cluster["spec"]["infrastructureRef"]["kind"] = json!("TerraformMachinePool");
    }))
    .await;
    world
        .pool_says("DependenciesReady", "False", "ClusterNotTerraform")
        .await;
    untouched(&world);
}

/// Proves: CAPTF-7.
#[tokio::test(start_paused = true)]
async fn missing_exports_are_awaited_and_nothing_is_rendered() {
    let world = started(Demo::default().edit("TerraformCluster", "demo", |cluster| {
        cluster["status"].as_object_mut().unwrap().remove("exports");
    }))
    .await;
    world
        .pool_says("DependenciesReady", "Unknown", "WaitingForClusterExports")
        .await;
    world.pass(Duration::from_mins(5)).await;
    untouched(&world);
}

/// Proves: CAPTF-9.
#[tokio::test(start_paused = true)]
async fn bootstrap_data_that_comes_later_wakes_the_pool() {
    let bootstrap = Demo::default()
        .objects()
        .iter()
        .find(|object| object["metadata"]["name"] == "demo-pool-0-bootstrap")
        .cloned()
        .unwrap();
    let world = started(Demo::default().without("Secret", "demo-pool-0-bootstrap")).await;
    world
        .pool_says("DependenciesReady", "Unknown", "WaitingForBootstrapData")
        .await;
    untouched(&world);
    world.create(&bootstrap).await;
    world.pool_is_ready().await;
}

/// Proves: CAPTF-56.
#[tokio::test(start_paused = true)]
async fn without_an_identity_no_operation_starts() {
    let world = started(Demo::default().without("TerraformClusterIdentity", "demo-aws")).await;
    world
        .pool_says("IdentityAllowed", "False", "IdentityNotFound")
        .await;
    world.pass(Duration::from_mins(5)).await;
    untouched(&world);
}

/// Proves: CAPTF-57.
#[tokio::test(start_paused = true)]
async fn an_identity_serves_only_allowed_namespaces() {
    let world = started(
        Demo::default().edit("TerraformClusterIdentity", "demo-aws", |identity| {
            identity["spec"]
                .as_object_mut()
                .unwrap()
                .remove("allowedNamespaces");
        }),
    )
    .await;
    world
        .pool_says("IdentityAllowed", "False", "NamespaceNotAllowed")
        .await;
    untouched(&world);
    let allow = json!({ "spec": { "allowedNamespaces": { "selector": {} } } });
    world
        .patch(Kind::TerraformClusterIdentity, "demo-aws", allow)
        .await;
    world
        .pool_says("IdentityAllowed", "True", "IdentityAllowed")
        .await;
    world.pool_is_ready().await;
}

/// Proves: CAPTF-58.
#[tokio::test(start_paused = true)]
async fn a_missing_secret_or_key_is_named() {
    let world = started(Demo::default().without("Secret", "demo-aws")).await;
    world
        .pool_says("IdentityAllowed", "False", "SecretNotFound")
        .await;
    untouched(&world);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": "demo-aws", "namespace": "remuda-system" },
        "stringData": { "AWS_ACCESS_KEY_ID": "AKIAREMUDADEMO000000" },
    });
    world.create(&secret).await;
    world
        .pool_says("IdentityAllowed", "False", "CredentialsIncomplete")
        .await;
    assert!(
        message(&world, "IdentityAllowed")
            .await
            .contains("AWS_SECRET_ACCESS_KEY")
    );
    untouched(&world);
}

#[tokio::test(start_paused = true)]
async fn an_identity_reports_its_secret_and_who_uses_it() {
    let world = started(Demo::default()).await;
    world
        .object_becomes(
            Kind::TerraformClusterIdentity,
            "demo-aws",
            "Ready, used",
            |identity| {
                condition(identity, "Ready") == Some(("True".to_owned(), "SecretFound".to_owned()))
                    && identity["status"]["namespaces"] == json!(["team-a"])
            },
        )
        .await;
    let resource = Kind::Secret.resource();
    world
        .objects
        .delete(&resource, Some("remuda-system"), "demo-aws", None)
        .await
        .unwrap();
    world
        .object_becomes(
            Kind::TerraformClusterIdentity,
            "demo-aws",
            "not Ready",
            |identity| {
                condition(identity, "Ready")
                    == Some(("False".to_owned(), "SecretNotFound".to_owned()))
            },
        )
        .await;
}

/// Proves: CAPTF-59.
#[tokio::test(start_paused = true)]
async fn a_rotated_credential_is_used_next_and_re_applies_nothing() {
    let world = settled(Demo::default()).await;
    world.aws.world().add_account_key(
        remuda_sim::aws::DEMO_ACCOUNT,
        "AKIAREMUDADEMO000009",
        "anotherdemosecretkeyforsimulatedworlds00",
    );
    let before = world.mark();
    let secret = json!({ "stringData": {
        "AWS_ACCESS_KEY_ID": "AKIAREMUDADEMO000009",
        "AWS_SECRET_ACCESS_KEY": "anotherdemosecretkeyforsimulatedworlds00",
    } });
    world
        .patch_in(Kind::Secret, "remuda-system", "demo-aws", None, secret)
        .await;
    world.aws.world().remove_key("AKIAREMUDADEMO000000");
    world.pass(Duration::from_mins(5)).await;
    assert_eq!(world.aws_writes(before), Vec::<String>::new());
    world.pool_is_ready().await;

    let labels = json!({ "node.cluster.x-k8s.io/tier": "gold" });
    let patch = json!({ "spec": { "template": { "metadata": { "labels": labels } } } });
    world.patch(Kind::MachinePool, POOL, patch).await;
    world.pass(Duration::from_mins(5)).await;
    let writes = world.aws.journal().writes();
    let last = writes.last().unwrap();
    assert_eq!(last.access_key_id, "AKIAREMUDADEMO000009");
}

/// Proves: CAPTF-61.
#[tokio::test(start_paused = true)]
async fn an_unlabeled_source_counts_as_missing() {
    let map = |labels: Value| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "shared", "namespace": "team-a", "labels": labels },
            "data": { "root_volume_size_gib": "100" },
        })
    };
    let from =
        |optional: bool| json!([{ "configMapRef": { "name": "shared" }, "optional": optional }]);
    let demo = Demo::default()
        .with(map(json!({})))
        .pool(|pool| pool["spec"]["variablesFrom"] = from(false));
    let world = started(demo).await;
    world
        .pool_says("DependenciesReady", "False", "VariablesSourceNotFound")
        .await;
    untouched(&world);
    let optional = json!({ "spec": { "variablesFrom": from(true) } });
    world
        .patch(Kind::TerraformMachinePool, POOL, optional)
        .await;
    world.pool_is_ready().await;

    // Opting in later is seen without a change of the pool, and its value counts.
    let templates = world.mark();
    let label = json!({ "metadata": { "labels": { "captf.io/variables": "true" } } });
    world.patch(Kind::ConfigMap, "shared", label).await;
    world.pass(Duration::from_mins(2)).await;
    let writes = world.aws_writes(templates);
    assert!(
        writes.contains(&"ec2:CreateLaunchTemplateVersion".to_owned()),
        "{writes:?}"
    );
}

/// Proves: CAPTF-63.
#[tokio::test(start_paused = true)]
async fn bad_variables_are_reported_together_and_no_call_is_made() {
    let world = started(Demo::default().pool(|pool| {
        pool["spec"]["variables"] = json!({ "instnce_type": "m6i.large", "spot": "maybe" });
    }))
    .await;
    world
        .pool_says("DependenciesReady", "False", "VariablesInvalid")
        .await;
    let message = message(&world, "DependenciesReady").await;
    assert!(
        message.contains("instnce_type") && message.contains("spot"),
        "{message}"
    );
    world.pass(Duration::from_mins(5)).await;
    untouched(&world);
}

/// Proves: CAPTF-79.
#[tokio::test(start_paused = true)]
async fn an_image_no_driver_serves_is_refused() {
    let world = started(Demo::default().pool(|pool| {
        pool["spec"]["source"]["image"] = json!("ghcr.io/captf-io/gcp-machinepool:v1");
    }))
    .await;
    world
        .pool_says("ApplyJobSucceeded", "False", "ImageInvalid")
        .await;
    assert!(
        message(&world, "ApplyJobSucceeded")
            .await
            .contains("aws-machinepool")
    );
    untouched(&world);
}

/// Proves: CAPTF-91.
#[tokio::test(start_paused = true)]
async fn a_secret_without_usable_credentials_makes_no_call() {
    let demo = Demo::default()
        .edit("Secret", "demo-aws", |secret| {
            secret["stringData"] = json!({ "AWS_REGION": "us-east-1" });
        })
        .edit("TerraformClusterIdentity", "demo-aws", |identity| {
            identity["spec"]
                .as_object_mut()
                .unwrap()
                .remove("requiredKeys");
        });
    let world = started(demo).await;
    world
        .pool_says("ApplyJobSucceeded", "False", "ApplyFailed")
        .await;
    assert!(
        message(&world, "ApplyJobSucceeded")
            .await
            .contains("AWS_ACCESS_KEY_ID")
    );
    world.pass(Duration::from_mins(5)).await;
    untouched(&world);
}

/// Proves: CAPTF-49.
#[tokio::test(start_paused = true)]
async fn labels_and_annotations_of_the_pool_re_apply_nothing() {
    let world = settled(Demo::default()).await;
    world.pass(Duration::from_mins(2)).await;
    let mark = world.mark();
    let patch = json!({ "metadata": {
        "labels": { "team": "platform" },
        "annotations": { "note": "hello" },
    } });
    world.patch(Kind::TerraformMachinePool, POOL, patch).await;
    world.pass(Duration::from_mins(10)).await;
    assert_eq!(world.aws_writes(mark), Vec::<String>::new());
    let runs = world.event_reasons(POOL).await;
    assert_eq!(
        runs.iter()
            .filter(|reason| *reason == "JobSucceeded")
            .count(),
        1,
        "{runs:?}"
    );
}

/// Proves: CAPTF-50.
#[tokio::test(start_paused = true)]
async fn a_pull_policy_re_applies_nothing_and_a_tag_applies_without_a_cloud_change() {
    let world = settled(Demo::default()).await;
    world.pass(Duration::from_mins(2)).await;
    let mark = world.mark();
    let policy = json!({ "spec": { "source": { "imagePullPolicy": "Always" } } });
    world.patch(Kind::TerraformMachinePool, POOL, policy).await;
    world.pass(Duration::from_mins(5)).await;
    assert_eq!(applies(&world).await, 1);
    let image = "ghcr.io/captf-io/aws-machinepool:v0.2.0-opentofu";
    let tag = json!({ "spec": { "source": { "image": image } } });
    world.patch(Kind::TerraformMachinePool, POOL, tag).await;
    world.pass(Duration::from_mins(5)).await;
    assert_eq!(applies(&world).await, 2);
    assert_eq!(world.aws_writes(mark), Vec::<String>::new());
}

/// Proves: CAPTF-51.
#[tokio::test(start_paused = true)]
async fn a_rebase_is_exactly_one_apply_of_the_template_tag() {
    let world = settled(Demo::default()).await;
    let annotation = json!({ "cluster.x-k8s.io/cloned-from-name": "workers-v2" });
    let patch = json!({ "metadata": { "annotations": annotation } });
    world.patch(Kind::TerraformMachinePool, POOL, patch).await;
    world.pass(Duration::from_mins(5)).await;
    assert_eq!(applies(&world).await, 2);
    let group = world.aws.world().group(GROUP).unwrap();
    assert_eq!(group.tags["captf.io/template"].0, "workers-v2");
    world.stays_quiet(Duration::from_mins(10)).await;
}

async fn applies(world: &World) -> usize {
    let reasons = world.event_reasons(POOL).await;
    reasons
        .iter()
        .filter(|reason| *reason == "JobSucceeded")
        .count()
}

#[tokio::test(start_paused = true)]
async fn a_bad_pool_does_not_stop_the_others() {
    let demo = Demo::default().second_pool("other").pool(|pool| {
        pool["spec"]["variables"] = json!({ "nonsense": 1 });
    });
    let world = started(demo).await;
    world.says("other", "Ready", "True", "Ready").await;
    world.is_running("other", 3).await;
    world
        .pool_says("DependenciesReady", "False", "VariablesInvalid")
        .await;
}

/// Proves: CAPI-19.
#[tokio::test(start_paused = true)]
async fn pausing_stops_everything_and_resuming_goes_on() {
    let world = settled(Demo::default()).await;
    world
        .patch(Kind::Cluster, "demo", json!({ "spec": { "paused": true } }))
        .await;
    world.pool_says("Paused", "True", "Paused").await;
    let mark = world.mark();
    world
        .patch(
            Kind::MachinePool,
            POOL,
            json!({ "spec": { "replicas": 4 } }),
        )
        .await;
    world.pass(Duration::from_mins(15)).await;
    assert_eq!(world.aws_calls(mark), Vec::<String>::new());
    let machine_pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    assert_eq!(condition(&machine_pool, "Paused").unwrap().0, "True");
    world
        .patch(
            Kind::Cluster,
            "demo",
            json!({ "spec": { "paused": false } }),
        )
        .await;
    world.machine_pool_is_running(4).await;
    let reasons = world.event_reasons(POOL).await;
    for reason in ["Paused", "Resumed"] {
        assert_eq!(
            reasons.iter().filter(|told| *told == reason).count(),
            1,
            "{reasons:?}"
        );
    }
}
