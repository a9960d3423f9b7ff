//! What the manager may do is what it does: every world refuses what its rules do not allow, and here
//! every rule is used.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use remuda_controllers::{
    admission::{CERTIFICATES, Certificates, Endpoint, Keeper, Rotating, Scope},
    clock::RuntimeClock,
    election::{Election, Timing},
    kinds::Kind,
    objects::LiveObjects,
    permissions::{Duties, Reach, Rule},
};
use remuda_plan::{admission::Gates, share::Share};
use remuda_testkit::{Asked, Demo, POOL, World};
use serde_json::json;
use tokio_util::sync::CancellationToken;

const SYSTEM: &str = "remuda-system";
const KEPT: &str = "kept";

fn is_used(rule: &Rule, verb: &str, asked: &BTreeSet<Asked>) -> bool {
    asked.iter().any(|it| {
        (it.group.as_str(), it.resource.as_str(), it.verb) == (rule.group, rule.resource, verb)
            && (rule.reach != Reach::Own || it.namespace == SYSTEM)
            && (rule.names.is_empty() || rule.names.contains(&it.name.as_str()))
    })
}

/// Makes certificates, and makes them anew for another name.
async fn keep_certificates(world: &World) {
    // The name under which the world finds them is the last.
    for name in ["elsewhere", "remuda-webhooks"] {
        let keeper = Keeper {
            objects: LiveObjects::new(world.manager_client()),
            clock: Arc::new(RuntimeClock::starting_at(world.now())),
            certificates: Certificates::Own {
                namespace: SYSTEM.to_owned(),
                secret: CERTIFICATES.to_owned(),
            },
            endpoint: Endpoint::Service {
                namespace: SYSTEM.to_owned(),
                name: name.to_owned(),
            },
            scope: Some(Scope::ALL),
            rotating: Arc::<Rotating>::default(),
        };
        keeper.pass().await.unwrap();
    }
}

/// Leads for a moment, while another waits.
async fn lead(world: &World) {
    tokio::join!(stand(world, "here"), stand(world, "there"));
}

async fn stand(world: &World, identity: &str) {
    let election = Election {
        objects: LiveObjects::new(world.manager_client()),
        clock: Arc::new(RuntimeClock::starting_at(world.now())),
        namespace: SYSTEM.to_owned(),
        name: "remuda-manager".to_owned(),
        share: Share::default(),
        identity: identity.to_owned(),
        timing: Timing::default(),
    };
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    let led = tokio::spawn(async move {
        election
            .lead(stop, |stop| async move { stop.cancelled().await })
            .await;
    });
    world.pass(Duration::from_secs(10)).await;
    shutdown.cancel();
    led.await.unwrap();
}

/// The life of two pools with Machines, one of which leaves its machines behind, and of their
/// cluster.
async fn live(world: &World) {
    let demo = Demo::default()
        .machines()
        .without("Namespace", SYSTEM)
        .second_pool(KEPT)
        .edit("TerraformMachinePool", KEPT, |pool| {
            pool["spec"]["deletionPolicy"] = json!("Retain");
        })
        .edit("TerraformClusterIdentity", "demo-aws", |identity| {
            let team = json!({ "matchLabels": { "kubernetes.io/metadata.name": "team-a" } });
            identity["spec"]["allowedNamespaces"] = json!({ "selector": team });
        });
    let optional = json!([{ "configMapRef": { "name": "shared" }, "optional": true }]);
    let demo = demo.pool(|pool| pool["spec"]["variablesFrom"] = optional);
    world.apply(&demo).await;
    world
        .create(&json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineHealthCheck",
            "metadata": { "name": "check", "namespace": "team-a" },
            "spec": {
                "clusterName": "demo",
                "selector": { "matchLabels": { "cluster.x-k8s.io/cluster-name": "demo" } },
            },
        }))
        .await;
    world.start();
    world.is_running(POOL, 3).await;
    world.is_running(KEPT, 3).await;
    world
        .object_becomes(Kind::MachineHealthCheck, "check", "it counts", |check| {
            check["status"]["expectedMachines"] == 6
        })
        .await;
    let kind = Kind::Machine.resource();
    let machines = world.objects.list_of(&kind, Some("team-a"), "").await;
    let machines = machines.unwrap();
    let one = machines[0]["metadata"]["name"].as_str().unwrap();
    world.delete(Kind::Machine, one).await;
    world.is_gone(Kind::Machine, one).await;
    let fewer = json!({ "spec": { "replicas": 2 } });
    world.patch(Kind::MachinePool, POOL, fewer).await;
    world.is_running(POOL, 2).await;
    world.delete(Kind::MachinePool, KEPT).await;
    world.is_gone(Kind::MachinePool, KEPT).await;
    world.delete(Kind::Cluster, "demo").await;
    world.is_gone(Kind::Cluster, "demo").await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_granted_that_is_never_asked_and_nothing_asked_is_refused() {
    let world = World::builder().admission(Gates::default()).build().await;
    world
        .create(&json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": SYSTEM },
        }))
        .await;
    world.let_manager_in().await;
    lead(&world).await;
    keep_certificates(&world).await;
    live(&world).await;
    world.stop().await;

    let asked = world.requests.asked();
    let unused: Vec<String> = Duties::ALL
        .rules()
        .flat_map(|rule| rule.verbs.iter().map(move |verb| (rule, *verb)))
        .filter(|(rule, verb)| !is_used(rule, verb, &asked))
        .map(|(rule, verb)| format!("{verb} {}/{}: {}", rule.group, rule.resource, rule.because))
        .collect();
    assert_eq!(unused, [""; 0], "granted, and never asked");
    assert_eq!(world.requests.refused(), [""; 0], "asked, and not granted");
}

/// A manager whose rules lack something is found out: without this the proof above proves nothing.
#[tokio::test(start_paused = true)]
async fn a_request_beyond_the_rules_is_refused_and_noticed() {
    let world = World::new().await;
    let manager = LiveObjects::new(world.manager_client());
    let nodes = manager.list_of(&Kind::Node.resource(), None, "").await;
    assert!(
        nodes.is_err(),
        "the management cluster's Nodes are not its business"
    );
    let refused = world.requests.refused();
    assert!(refused[0].contains("cannot list resource"), "{refused:?}");
    world.requests.forget();
}
