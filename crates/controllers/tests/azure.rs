//! A pool on Azure as controllers run it, and the node agent beside it, against the embedded API and
//! a simulated Azure, in virtual time.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

use remuda_controllers::{kinds::Kind, objects::Objects};
use remuda_testkit::{AZURE_POOL, Demo, NAMESPACE, Tripwire, World, condition, holds};

fn without_machines() -> Demo {
    Demo::azure().edit("MachinePool", AZURE_POOL, |pool| {
        pool["metadata"]["annotations"]["remuda.dev/machines"] = "false".into();
    })
}

fn set(world: &World) -> Option<remuda_sim::azure::ScaleSetInfo> {
    world.azure.world().scale_sets().into_iter().next()
}

/// A call that Azure accepts and that takes time ends its pass: its address goes into the record,
/// and later passes follow it.
#[tokio::test(start_paused = true)]
async fn an_operation_that_was_accepted_is_followed_by_later_passes() {
    let world = World::new().await;
    let tripwire = Tripwire::never();
    world.apply(&without_machines()).await;
    world.start_with(&tripwire);
    world.says(AZURE_POOL, "Ready", "True", "Ready").await;
    world.is_running(AZURE_POOL, 3).await;
    let looks = world.azure.journal().count("compute", "Operations_Get");
    assert!(looks > 2, "it was looked at {looks} times");
    let puts: Vec<String> = tripwire
        .writes()
        .into_iter()
        .filter(|write| write.starts_with("azure PUT") && write.contains("virtualMachineScaleSets"))
        .collect();
    assert_eq!(puts.len(), 1, "sent once: {puts:?}");
    let pool = world
        .get(Kind::TerraformMachinePool, AZURE_POOL)
        .await
        .unwrap();
    assert_eq!(pool["status"]["replicas"], 3);
    assert_eq!(
        condition(&pool, "ApplyJobSucceeded").unwrap().0,
        "True",
        "{:#}",
        pool["status"]
    );
}

/// The address is what a crash between call and record loses; the set itself tells then.
#[tokio::test(start_paused = true)]
async fn a_crash_right_after_an_accepted_call_makes_no_second_set() {
    let writes = {
        let world = World::new().await;
        let tripwire = Tripwire::never();
        world.apply(&without_machines()).await;
        world.start_with(&tripwire);
        world.says(AZURE_POOL, "Ready", "True", "Ready").await;
        tripwire.writes()
    };
    let put = writes
        .iter()
        .position(|write| write.starts_with("azure PUT"))
        .unwrap();
    for at in [put + 1, put + 2] {
        let world = World::new().await;
        world.apply(&without_machines()).await;
        let tripwire = Tripwire::after(at);
        world.start_with(&tripwire);
        tripwire.tripped().await;
        world.crash().await;
        world.start();
        world.says(AZURE_POOL, "Ready", "True", "Ready").await;
        world.is_running(AZURE_POOL, 3).await;
        let created = world
            .azure
            .journal()
            .count("compute", "VirtualMachineScaleSets_CreateOrUpdate");
        assert_eq!(created, 1, "killed after write {at}");
        assert_eq!(set(&world).unwrap().instances.len(), 3);
    }
}

/// Somebody deletes an instance in the cloud: its guest is told, the agent tells the management side,
/// the Machine is drained, and only then the agent lets Azure go on.
#[tokio::test(start_paused = true)]
async fn an_announced_termination_waits_for_the_drain_and_no_longer() {
    let world = World::new().await;
    world.apply(&Demo::azure().machines()).await;
    world.start();
    world.says(AZURE_POOL, "Ready", "True", "Ready").await;
    world.is_running(AZURE_POOL, 3).await;
    let _agents = world.run_agents();
    let set = set(&world).unwrap();
    let node = set.instances[0].computer_name.to_lowercase();
    let began = world.now();
    assert!(world.azure.world().operate(&set.name, 0, "delete"));
    world
        .eventually("the instance is gone and replaced", || async {
            let now = world.azure.world().scale_set(&set.name).unwrap();
            let ids: Vec<String> = now.instances.into_iter().map(|it| it.instance_id).collect();
            holds(ids == ["1", "2", "3"], || format!("{ids:?}"))
        })
        .await;
    let journal = world.azure.journal();
    let answers: Vec<_> = journal
        .named("imds", "ScheduledEvents")
        .into_iter()
        .filter(|call| call.write)
        .collect();
    assert_eq!(answers.len(), 1, "one acknowledgement");
    let spent = world.now().duration_since(began);
    assert!(
        spent < jiff::SignedDuration::from_mins(4),
        "Azure alone would have waited five minutes: {spent}"
    );
    world.is_running(AZURE_POOL, 3).await;
    let gone = world
        .workload_of(NAMESPACE, "demo-azure")
        .get(Kind::Node, "", &node)
        .await
        .unwrap();
    assert!(gone.is_none(), "its Node is gone: {gone:?}");
    let told = world
        .objects
        .list(Kind::Event, NAMESPACE, "")
        .await
        .unwrap()
        .into_iter()
        .any(|event| event["reason"] == "InstanceTerminating");
    assert!(told, "people are told why the Machine went");
}
