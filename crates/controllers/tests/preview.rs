//! What `remuda plan` shows: the controller's own steps, without a single write.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use std::time::Duration;

use remuda_controllers::{
    kinds::Kind,
    preview,
    terraform_machine_pool::{Outcome, PoolKey, PreviewSource},
};
use remuda_plan::{pool::action::Effect, status::wire::Operation};
use remuda_testkit::{Demo, NAMESPACE, POOL, Tripwire, World};
use serde_json::json;

fn key() -> PoolKey {
    PoolKey {
        namespace: NAMESPACE.to_owned(),
        name: POOL.to_owned(),
    }
}

async fn settled() -> World {
    let world = World::new().await;
    world.apply(&Demo::default()).await;
    world.start();
    world.machine_pool_is_running(3).await;
    world.pool_is_ready().await;
    world.pass(Duration::from_mins(2)).await;
    world.stop().await;
    world
}

/// Previews the live pool; nothing may be written anywhere.
async fn shown(world: &World, source: Option<PreviewSource>) -> remuda_controllers::Preview {
    let ctx = world.context(&Tripwire::never());
    let source = source.unwrap_or_else(|| PreviewSource::live(&ctx));
    let mark = world.mark();
    let shown = preview(&key(), &source, &ctx).await.unwrap();
    assert_eq!(world.kubernetes_writes(mark), Vec::<String>::new());
    assert_eq!(world.aws_writes(mark), Vec::<String>::new());
    shown
}

/// Object and effect of each step that changes the cloud.
fn steps(outcome: &Outcome) -> Vec<(String, Effect)> {
    let Outcome::Plan(plan) = outcome else {
        panic!("no plan: {outcome:?}");
    };
    plan.steps
        .iter()
        .filter(|step| !matches!(step.action, remuda_plan::pool::action::Action::Remember(_)))
        .map(|step| {
            (
                step.object.split('/').next().unwrap().to_owned(),
                step.effect,
            )
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_settled_pool_has_nothing_to_do() {
    let world = settled().await;
    let shown = shown(&world, None).await;
    assert_eq!(shown.operation, Some(Operation::Apply));
    assert_eq!(steps(&shown.outcome), []);
}

#[tokio::test(start_paused = true)]
async fn a_change_not_yet_applied_shows_its_steps_and_effects() {
    let world = settled().await;
    world
        .patch(
            Kind::MachinePool,
            POOL,
            json!({ "spec": { "replicas": 2 } }),
        )
        .await;
    let scaled = steps(&shown(&world, None).await.outcome);
    assert!(
        scaled.contains(&("autoscaling_group".to_owned(), Effect::Removes)),
        "{scaled:?}"
    );

    let version = json!({ "version": "v1.35.0" });
    let patch = json!({ "spec": { "replicas": 3, "template": { "spec": version } } });
    world.patch(Kind::MachinePool, POOL, patch).await;
    let rolled = steps(&shown(&world, None).await.outcome);
    assert!(
        rolled.iter().any(|(_, effect)| *effect == Effect::Rolls),
        "{rolled:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_manifest_is_previewed_over_what_is_live() {
    let world = settled().await;
    let demo = Demo::default().pool(|pool| pool["spec"]["variables"]["spot"] = json!(true));
    let pool = demo.objects().last().cloned().unwrap();
    let live = world.context(&Tripwire::never()).objects;
    let source = PreviewSource::manifests([pool], NAMESPACE, Some(live));
    assert_eq!(source.given_pools(), [key()]);
    let steps = steps(&shown(&world, Some(source)).await.outcome);
    let objects: Vec<&str> = steps.iter().map(|(object, _)| object.as_str()).collect();
    assert!(objects.contains(&"launch_template"), "{steps:?}");
    assert!(objects.contains(&"autoscaling_group"), "{steps:?}");
    assert!(
        steps
            .iter()
            .all(|(_, effect)| *effect <= Effect::NewMachinesOnly),
        "{steps:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn manifests_alone_show_what_would_be_created() {
    let world = World::new().await;
    let objects = Demo::default().objects().to_vec();
    let source = PreviewSource::manifests(objects, NAMESPACE, None);
    let shown = shown(&world, Some(source)).await;
    let steps = steps(&shown.outcome);
    let objects: Vec<&str> = steps.iter().map(|(object, _)| object.as_str()).collect();
    for object in ["s3_object", "launch_template", "autoscaling_group"] {
        assert!(objects.contains(&object), "{object}: {steps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deleting_pool_shows_its_teardown() {
    let world = settled().await;
    world.delete(Kind::TerraformMachinePool, POOL).await;
    let shown = shown(&world, None).await;
    assert_eq!(shown.operation, Some(Operation::Destroy));
    let steps = steps(&shown.outcome);
    assert!(
        steps.iter().any(|(_, effect)| *effect == Effect::Removes),
        "{steps:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn refused_inputs_are_shown_as_held_with_every_reason() {
    let world = World::new().await;
    let demo = Demo::default().machine_pool(|pool| {
        pool["spec"]["failureDomains"] = json!(["us-east-1z"]);
    });
    world.apply(&demo).await;
    let objects = demo.objects().to_vec();
    let live = world.context(&Tripwire::never()).objects;
    let source = PreviewSource::manifests(objects, NAMESPACE, Some(live));
    let shown = shown(&world, Some(source)).await;
    assert_eq!(shown.outcome, Outcome::Held);
    let hold = format!("{:?}", shown.findings.hold);
    assert!(
        hold.contains("R-3") && hold.contains("us-east-1z"),
        "{hold}"
    );
}
