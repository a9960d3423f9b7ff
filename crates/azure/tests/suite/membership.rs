//! Which members a pool has, and how they are (Azure document 7, 8).

use std::time::Duration;

use remuda_plan::{
    azure::observed::Presence,
    pool::{
        members::MemberState,
        read::{Depth, Freshness, Read},
    },
};
use remuda_sim::azure::{DEMO_GROUP, DEMO_SUBSCRIPTION};
use serde_json::json;

use crate::harness::{
    World,
    demo::{PID, Pool, SET},
    wire::{answer, names},
};

async fn booted() -> (World, Pool) {
    let world = World::new();
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    (world, pool)
}

fn states(pool: &Pool) -> Vec<MemberState> {
    pool.outputs()
        .instances
        .iter()
        .map(|member| member.state)
        .collect()
}

fn host(id: u32) -> String {
    format!("{SET}00000{id}")
}

/// Proves: AZURE-69, AZURE-71.
#[tokio::test(start_paused = true)]
async fn stopped_members_stay_listed() {
    use MemberState::{Running, Stopped, Unknown};
    let (world, mut pool) = booted().await;
    let hands = world.sim.world();
    assert!(hands.operate(SET, 1, "deallocate") && hands.operate(SET, 2, "stop"));
    world.wait(300).await;
    world.refresh(&mut pool).await.unwrap();
    assert_eq!(states(&pool), [Running, Stopped, Stopped]);
    assert_eq!(pool.outputs().provider_id_list.len(), 3);
    let health = &pool.outputs().health;
    assert_eq!(health.state, Stopped);
    assert_eq!(
        health.reasons,
        [
            format!("PowerState/deallocated:{}", host(1)),
            format!("PowerState/stopped:{}", host(2))
        ]
    );
    assert_eq!(
        health.message.as_deref(),
        Some("2 of 3 instances not running")
    );
    assert!(hands.operate(SET, 1, "start"));
    world.wait(300).await;
    assert!(hands.operate(SET, 1, "hibernate"));
    world.wait(300).await;
    world.refresh(&mut pool).await.unwrap();
    assert_eq!(states(&pool), [Running, Unknown, Stopped]);
    assert_eq!(pool.outputs().health.state, Stopped);
}

/// Proves: AZURE-70.
#[tokio::test(start_paused = true)]
async fn starting_members_are_pending_with_what_azure_tells() {
    let (world, mut pool) = booted().await;
    world.recorder.answer_with(|call| {
        call.path.ends_with("/virtualMachines").then(|| {
            let item = |id: u32, codes: &[&str]| {
                let statuses: Vec<_> = codes.iter().map(|code| json!({ "code": code })).collect();
                json!({
                    "instanceId": id.to_string(), "zones": ["1"],
                    "properties": {
                        "vmId": format!("vm-{id}"),
                        "osProfile": { "computerName": host(id) },
                        "instanceView": { "statuses": statuses },
                    },
                })
            };
            let items = [
                item(0, &["ProvisioningState/succeeded", "powerstate/Running"]),
                item(1, &["ProvisioningState/creating", "PowerState/starting"]),
                item(2, &["ProvisioningState/creating"]),
            ];
            answer(200, &[], &json!({ "value": items }))
        })
    });
    world.refresh(&mut pool).await.unwrap();
    let health = &pool.outputs().health;
    assert_eq!(health.state, MemberState::Running);
    assert!(!health.healthy);
    assert_eq!(
        health.reasons,
        [
            format!("PowerState/starting:{}", host(1)),
            format!("PowerState/unknown:{}", host(2))
        ]
    );
    assert_eq!(
        health.message.as_deref(),
        Some("3 of 3 instances, 2 starting")
    );
}

/// Proves: AZURE-13.
#[tokio::test(start_paused = true)]
async fn ids_are_sorted_as_text() {
    let world = World::new();
    let mut pool = Pool::demo();
    pool.inputs.replicas = 11;
    world.settle_and_boot(&mut pool).await;
    let ids: Vec<&str> = pool
        .outputs()
        .instances
        .iter()
        .map(|member| member.instance_id.as_str())
        .collect();
    assert_eq!(
        ids,
        ["0", "1", "10", "2", "3", "4", "5", "6", "7", "8", "9"]
    );
}

/// Proves: AZURE-73.
#[tokio::test(start_paused = true)]
async fn a_set_that_is_listed_late_is_pending_and_its_instances_are_not_asked_for() {
    let (world, mut pool) = booted().await;
    world.recorder.answer_with(|call| {
        call.path
            .ends_with("/virtualMachineScaleSets")
            .then(|| answer(200, &[], &json!({ "value": [] })))
    });
    world.wait(60).await;
    let mark = world.recorder.mark();
    world.refresh(&mut pool).await.unwrap();
    let calls = world.recorder.since(mark);
    assert_eq!(
        names(&calls),
        ["GET virtualMachineScaleSets", "GET virtualMachineScaleSets"]
    );
    assert!(calls[1].path.ends_with(SET));
    let outputs = pool.outputs();
    assert_eq!(outputs.health.state, MemberState::Pending);
    assert_eq!(outputs.health.reasons, ["NoMembers"]);
    assert!(outputs.provider_id_list.is_empty());
    assert_eq!(outputs.replicas, Some(3));
}

/// A set may go between the list of its group and the list of its instances.
#[tokio::test(start_paused = true)]
async fn a_set_that_the_list_still_shows_is_gone_when_its_own_get_says_so() {
    let (world, mut pool) = booted().await;
    let hands = world.sim.world();
    hands.set_timing(|timing| timing.list_lag = Duration::from_mins(10));
    assert!(hands.delete_set(SET));
    world.wait(60).await;
    let handle = world.handle(&pool);
    let observed = world
        .observe(&handle, Depth::Members, Freshness::Steady)
        .await;
    let sets = observed.sets.needed("scale sets").unwrap();
    assert_eq!(sets.get(SET), Some(&Presence::Absent));
    assert!(observed.members.is_empty(), "{:?}", observed.members);
    world.delete(&mut pool).await;
    assert!(hands.settings().is_empty());
}

/// Instances that cannot be listed though their set is there are unknown, not none.
#[tokio::test(start_paused = true)]
async fn instances_that_are_not_found_in_a_set_that_is_there_are_unknown() {
    let (world, pool) = booted().await;
    world.recorder.answer_with(|call| {
        let not_found = json!({ "error": { "code": "ResourceNotFound", "message": "none" } });
        call.path
            .ends_with("/virtualMachines")
            .then(|| answer(404, &[], &not_found))
    });
    world.wait(60).await;
    let handle = world.handle(&pool);
    let observed = world
        .observe(&handle, Depth::Members, Freshness::Fresh)
        .await;
    let sets = observed.sets.needed("scale sets").unwrap();
    assert!(matches!(sets.get(SET), Some(Presence::Listed(_))));
    let Some(Read::Unknown(failure)) = observed.members.get(SET) else {
        panic!("{:?}", observed.members);
    };
    assert_eq!(failure.code, "ResourceNotFound");
}

/// Proves: AZURE-74.
#[tokio::test(start_paused = true)]
async fn a_set_of_the_same_name_in_another_group_does_not_count() {
    let (world, _) = booted().await;
    let mut stranger = Pool::demo();
    world
        .sim
        .world()
        .add_group(DEMO_SUBSCRIPTION, "other", "westeurope");
    stranger.inputs.captf_cluster_outputs["resource_group_name"] = json!("other");
    let mark = world.recorder.mark();
    let outputs = world.refresh(&mut stranger).await.unwrap();
    assert!(outputs.provider_id_list.is_empty());
    assert_eq!(outputs.health.state, MemberState::Pending);
    let calls = world.recorder.since(mark);
    assert!(
        !names(&calls)
            .iter()
            .any(|name| name.ends_with("virtualMachines"))
    );
}

/// Proves: AZURE-76, AZURE-110.
#[tokio::test(start_paused = true)]
async fn a_set_that_is_gone_is_told_apart_and_made_again() {
    let (world, mut pool) = booted().await;
    assert!(world.sim.world().delete_set(SET));
    let mark = world.recorder.mark();
    world.refresh(&mut pool).await.unwrap();
    assert!(
        world
            .recorder
            .since(mark)
            .iter()
            .all(|call| !call.is_write())
    );
    let outputs = pool.outputs();
    assert_eq!(outputs.health.state, MemberState::Terminated);
    assert_eq!(outputs.health.reasons, ["ScaleSetNotFound"]);
    assert_eq!(outputs.replicas, None);
    assert_eq!(outputs.provider_id, None);
    assert!(outputs.provider_id_list.is_empty());
    let calls = world.settle(&mut pool).await;
    let put = calls
        .iter()
        .find(|call| call.name == "PUT virtualMachineScaleSets")
        .unwrap();
    assert_eq!(put.json()["sku"]["capacity"], 3);
    assert!(world.sim.world().scale_set(SET).is_some());
}

/// Proves: AZURE-77.
#[tokio::test(start_paused = true)]
async fn a_group_that_is_gone_holds_nothing() {
    let (world, mut pool) = booted().await;
    assert!(
        world
            .sim
            .world()
            .delete_group(DEMO_SUBSCRIPTION, DEMO_GROUP)
    );
    world.refresh(&mut pool).await.unwrap();
    assert_eq!(pool.outputs().health.state, MemberState::Terminated);
    assert_eq!(pool.outputs().replicas, None);
    world.delete(&mut pool).await;
}

/// Proves: AZURE-78.
#[tokio::test(start_paused = true)]
async fn an_instance_without_an_interface_stays_a_member() {
    let (mut world, mut pool) = booted().await;
    // No address is known any more.
    world.restart();
    world.recorder.answer_with(|call| {
        let id = |of: &str| {
            format!(
                "/subscriptions/s/resourceGroups/G/providers/Microsoft.Compute/virtualMachineScaleSets/\
                 {SET}/VIRTUALMACHINES/{of}/networkInterfaces/primary"
            )
        };
        let address = |address: &str| {
            json!({ "primary": true, "ipConfigurations": [
                { "properties": { "primary": false, "privateIPAddress": "10.9.9.9" } },
                { "properties": { "primary": true, "privateIPAddress": address } },
            ]})
        };
        call.path.ends_with("/networkInterfaces").then(|| {
            let items = json!([
                { "id": id("0"), "properties": address("10.0.1.4") },
                { "id": id("7"), "properties": address("10.0.1.7") },
            ]);
            answer(200, &[], &json!({ "value": items }))
        })
    });
    world.refresh(&mut pool).await.unwrap();
    let instances = &pool.outputs().instances;
    assert_eq!(instances.len(), 3);
    assert_eq!(instances[0].addresses[0].address, "10.0.1.4");
    for member in &instances[1..] {
        let kinds: Vec<&str> = member.addresses.iter().map(|it| it.kind.as_str()).collect();
        assert_eq!(kinds, ["Hostname"]);
    }
}

/// Proves: AZURE-80, AZURE-103.
#[tokio::test(start_paused = true)]
async fn a_member_stays_listed_for_as_long_as_azure_lists_it() {
    let (world, mut pool) = booted().await;
    pool.inputs.replicas = 2;
    world.settle(&mut pool).await;
    world.wait(120).await;
    let listed = |world: &World| world.sim.world().scale_set(SET).unwrap().instances.len();
    world.refresh(&mut pool).await.unwrap();
    assert_eq!((listed(&world), pool.outputs().instances.len()), (3, 3));
    assert!(
        states(&pool)
            .iter()
            .all(|state| *state != MemberState::Terminated)
    );
    while listed(&world) == 3 {
        world.wait(10).await;
    }
    world.refresh(&mut pool).await.unwrap();
    assert_eq!(pool.outputs().instances.len(), 2);
    pool.inputs.replicas = 0;
    world.settle(&mut pool).await;
    world.wait(120).await;
    world.refresh(&mut pool).await.unwrap();
    assert_eq!((listed(&world), pool.outputs().replicas), (2, Some(0)));
    assert!(pool.outputs().health.healthy);
}

#[tokio::test(start_paused = true)]
async fn a_reused_instance_id_gets_the_address_of_the_new_machine() {
    let (world, mut pool) = booted().await;
    world
        .sim
        .world()
        .set_behaviour(|behaviour| behaviour.reuse_instance_ids = true);
    assert!(world.sim.world().operate(SET, 1, "delete"));
    world.wait(900).await;
    world.refresh(&mut pool).await.unwrap();
    let set = world.sim.world().scale_set(SET).unwrap();
    for member in &pool.outputs().instances {
        let instance = set
            .instances
            .iter()
            .find(|it| it.instance_id == member.instance_id);
        let address = instance.unwrap().private_ip.unwrap().to_string();
        assert_eq!(member.addresses[0].address, address);
    }
    assert_eq!(pool.outputs().instances.len(), 3);
}

/// Proves: AZURE-12.
#[tokio::test(start_paused = true)]
async fn provider_ids_are_made_of_known_names() {
    let world = World::new();
    let mut pool = Pool::demo();
    let upper = DEMO_SUBSCRIPTION.to_uppercase();
    pool.inputs.captf_cluster_outputs["subscription_id"] = json!(upper);
    world.settle_and_boot(&mut pool).await;
    assert_eq!(pool.outputs().provider_id.as_deref(), Some(PID));
    assert!(pool.outputs().provider_id_list[0].starts_with(PID));
}

#[tokio::test(start_paused = true)]
async fn a_write_is_seen_at_once_and_a_steady_pool_waits() {
    let (world, pool) = booted().await;
    let handle = world.handle(&pool);
    world
        .observe(&handle, Depth::Members, Freshness::Steady)
        .await;
    let mark = world.recorder.mark();
    world.wait(20).await;
    world
        .observe(&handle, Depth::Members, Freshness::Steady)
        .await;
    assert_eq!(world.recorder.mark(), mark);
    let before = tokio::time::Instant::now();
    world
        .observe(&handle, Depth::Members, Freshness::Changed)
        .await;
    assert!(before.elapsed() <= Duration::from_secs(2));
    assert!(world.recorder.mark() > mark);
}
