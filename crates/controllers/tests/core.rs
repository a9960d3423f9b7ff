//! The MachinePool controller against infrastructure that is not Remuda's, and its own rules.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use std::time::Duration;

use remuda_controllers::kinds::Kind;
use remuda_testkit::{Demo, POOL, World, condition, foreign_crd, foreign_resource};
use serde_json::{Value, json};

/// Proves: CAPI-15.
#[tokio::test(start_paused = true)]
async fn a_contract_label_names_the_version_and_without_one_nothing_is_written() {
    let world = World::new().await;
    world
        .apply(&Demo::default().on_foreign("example.com", "Labeled"))
        .await;
    let labels = json!({ "cluster.x-k8s.io/v1beta2": "v1alpha1_v1beta1" });
    world
        .create(&foreign_crd(
            "example.com",
            "Labeled",
            &["v1beta1", "v1alpha1"],
            &labels,
        ))
        .await;
    world
        .create(&foreign_crd(
            "example.com",
            "Bare",
            &["v1beta1"],
            &json!({}),
        ))
        .await;
    world
        .create_of(
            &foreign_resource("example.com", "v1beta1", "Labeled"),
            "theirs",
            json!({}),
            json!({}),
        )
        .await;
    world
        .create_of(
            &foreign_resource("example.com", "v1beta1", "Bare"),
            "theirs",
            json!({}),
            json!({}),
        )
        .await;
    let mark = world.mark();
    world.start();
    world
        .eventually("the object of the labeled kind is adopted", || async {
            let labeled = foreign_resource("example.com", "v1beta1", "Labeled");
            let object = world
                .objects
                .get_of(&labeled, Some("team-a"), "theirs")
                .await
                .unwrap();
            let owners = object.unwrap()["metadata"]["ownerReferences"].clone();
            remuda_testkit::holds(owners[0]["kind"] == "MachinePool", || owners.to_string())
        })
        .await;
    let writes = world.kubernetes_writes(mark);
    let path = "patch /apis/example.com/v1beta1/namespaces/team-a/labeleds/theirs";
    assert!(writes.iter().any(|write| write == path), "{writes:?}");

    let reference = json!({ "apiGroup": "example.com", "kind": "Bare", "name": "theirs" });
    let patch = json!({ "spec": { "template": { "spec": { "infrastructureRef": reference } } } });
    world.patch(Kind::MachinePool, POOL, patch).await;
    world
        .object_becomes(Kind::MachinePool, POOL, "the CRD is named", |pool| {
            let conditions = pool["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            conditions.iter().any(|one| {
                one["type"] == "InfrastructureReady"
                    && one["status"] == "Unknown"
                    && one["message"]
                        .as_str()
                        .unwrap_or_default()
                        .contains("bares.example.com")
            })
        })
        .await;
    let writes = world.kubernetes_writes(mark);
    let bare = writes
        .iter()
        .filter(|write| write.contains("/bares/") && !write.starts_with("create"));
    assert_eq!(bare.count(), 0, "{writes:?}");
}

/// Proves: CAPI-21.
#[tokio::test(start_paused = true)]
async fn without_its_cluster_a_machine_pool_is_left_and_tried_again() {
    let cluster: Vec<Value> = Demo::default().objects().to_vec();
    let cluster = cluster
        .into_iter()
        .find(|object| object["kind"] == "Cluster")
        .unwrap();
    let world = World::new().await;
    world
        .apply(&Demo::default().without("Cluster", "demo"))
        .await;
    world.start();
    world.pass(Duration::from_mins(10)).await;
    let pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    assert!(
        pool["metadata"].get("finalizers").is_none(),
        "{}",
        pool["metadata"]
    );
    world.create(&cluster).await;
    world.machine_pool_is_running(3).await;
}

/// Proves: CAPI-22.
#[tokio::test(start_paused = true)]
async fn a_new_bootstrap_config_counts_once_it_has_its_secret() {
    let world = World::new().await;
    let (group, kind) = ("bootstrap.cluster.x-k8s.io", "PlainConfig");
    let config = |name: &str| json!({ "apiGroup": group, "kind": kind, "name": name });
    world
        .apply(&Demo::default().machine_pool(|pool| {
            pool["spec"]["template"]["spec"]["bootstrap"] = json!({ "configRef": config("a") });
        }))
        .await;
    let labels = json!({ "cluster.x-k8s.io/v1beta2": "v1beta2" });
    world
        .create(&foreign_crd(group, kind, &["v1beta2"], &labels))
        .await;
    let configs = foreign_resource(group, "v1beta2", kind);
    world.create_of(&configs, "a", json!({}), json!({})).await;
    world.create_of(&configs, "b", json!({}), json!({})).await;
    let created = |secret: &str| json!({ "dataSecretName": secret, "initialization": { "dataSecretCreated": true } });
    world.report_of(&configs, "a", created("secret-a")).await;
    world.start();
    let bootstrap = |pool: &Value| {
        let secret = pool["spec"]["template"]["spec"]["bootstrap"]["dataSecretName"].clone();
        (
            secret,
            pool["status"]["initialization"]["bootstrapDataSecretCreated"].clone(),
        )
    };
    world
        .object_becomes(Kind::MachinePool, POOL, "a's Secret counts", |pool| {
            bootstrap(pool) == (json!("secret-a"), json!(true))
        })
        .await;
    let reference = json!({ "bootstrap": { "configRef": config("b") } });
    let patch = json!({ "spec": { "template": { "spec": reference } } });
    world.patch(Kind::MachinePool, POOL, patch).await;
    world
        .object_becomes(
            Kind::MachinePool,
            POOL,
            "b is awaited, a's Secret stays",
            |pool| bootstrap(pool) == (json!("secret-a"), json!(false)),
        )
        .await;
    world.report_of(&configs, "b", created("secret-b")).await;
    // No watch of foreign bootstrap kinds yet: the pool's own period, or any change of it.
    world
        .object_becomes(Kind::MachinePool, POOL, "b's Secret counts", |pool| {
            bootstrap(pool) == (json!("secret-b"), json!(true))
        })
        .await;
}

/// Proves: CAPI-32.
#[tokio::test(start_paused = true)]
async fn an_error_is_published_without_moving_the_observed_generation() {
    let world = World::new().await;
    world
        .apply(&Demo::default().on_foreign("example.com", "Nowhere"))
        .await;
    world.start();
    world
        .object_becomes(Kind::MachinePool, POOL, "the error shows", |pool| {
            condition(pool, "InfrastructureReady")
                == Some(("Unknown".to_owned(), "InternalError".to_owned()))
        })
        .await;
    let pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    assert!(
        pool["status"].get("observedGeneration").is_none(),
        "{}",
        pool["status"]
    );
    assert_eq!(condition(&pool, "BootstrapConfigReady").unwrap().0, "True");
}

/// Proves: CAPI-20.
#[tokio::test(start_paused = true)]
async fn only_objects_with_the_filters_label_are_written() {
    let world = World::builder().watch_filter("a").build().await;
    world.apply(&Demo::default()).await;
    let mark = world.mark();
    world.start();
    world.pass(Duration::from_mins(10)).await;
    assert_eq!(world.kubernetes_writes(mark), Vec::<String>::new());
    assert!(world.aws.journal().calls().is_empty());

    let label = json!({ "metadata": { "labels": { "cluster.x-k8s.io/watch-filter": "a" } } });
    for (kind, name) in [
        (Kind::Cluster, "demo"),
        (Kind::TerraformCluster, "demo"),
        (Kind::MachinePool, POOL),
        (Kind::TerraformMachinePool, POOL),
    ] {
        world.patch(kind, name, label.clone()).await;
    }
    world.machine_pool_is_running(3).await;
    let identity = world
        .get(Kind::TerraformClusterIdentity, "demo-aws")
        .await
        .unwrap();
    assert!(identity.get("status").is_none(), "{identity:#}");
}
