//! Members, outputs and health as read from the cloud (AWS document 13.7, 13.9).

use std::net::Ipv4Addr;

use remuda_plan::pool::members::MemberState;
use remuda_sim::{
    Effect, Fault,
    aws::{DEMO_ACCOUNT, InstanceState, PlacedInstance},
};

use crate::{
    harness::{
        World,
        demo::{GROUP, Pool, REGION},
    },
    moto::on_both,
};

async fn three_running(world: &World) -> (Pool, Vec<String>) {
    let mut pool = world.demo_pool();
    world.settle(&mut pool).await;
    world.wait(60).await;
    let ids = world.probe.instances(GROUP).await;
    assert_eq!(ids.len(), 3);
    (pool, ids)
}

on_both! {
    /// Proves: AWS-75.
    #[test]
    async fn running_and_stopped_instances_are_members_terminated_ones_are_not(world: World) {
        let (mut pool, ids) = three_running(&world).await;
        world.stop_instance(&ids[0]).await;
        world.terminate_instance(&ids[1]).await;
        let outputs = world.refresh_now(&mut pool).await.unwrap();
        let listed: Vec<&str> =
            outputs.instances.iter().map(|member| member.instance_id.as_str()).collect();
        assert!(listed.contains(&ids[0].as_str()) && listed.contains(&ids[2].as_str()));
        assert!(!listed.contains(&ids[1].as_str()));
    }

    /// Proves: AWS-77.
    #[test]
    async fn three_running_of_three_are_healthy(world: World) {
        let (mut pool, _) = three_running(&world).await;
        let outputs = world.refresh(&mut pool).await.unwrap();
        assert_eq!(outputs.health.state, MemberState::Running);
        assert!(outputs.health.healthy);
        assert_eq!(outputs.health.message.as_deref(), Some("3 of 3 instances running"));
        assert_eq!(outputs.health.reasons, [""; 0]);
    }

    /// Proves: AWS-78.
    #[test]
    async fn a_stopped_member_makes_the_pool_stopped_and_stays_listed(world: World) {
        let (mut pool, ids) = three_running(&world).await;
        world.stop_instance(&ids[1]).await;
        let outputs = world.refresh_now(&mut pool).await.unwrap();
        assert_eq!(outputs.health.state, MemberState::Stopped);
        assert!(!outputs.health.healthy);
        assert_eq!(outputs.health.reasons, [format!("InstanceStopped:{}", ids[1])]);
        assert_eq!(outputs.provider_id_list.len(), 3);
    }
}

/// A DEMO pool whose group can launch nothing: its members are placed by hand.
async fn without_launches(world: &World) -> Pool {
    for zone in ["us-east-1a", "us-east-1b", "us-east-1c"] {
        world.sim().world().set_capacity(zone, "*", Some(0));
    }
    let mut pool = world.demo_pool();
    world.settle(&mut pool).await;
    pool
}

fn place(world: &World, id: &str, state: InstanceState, address: Option<[u8; 4]>) {
    let placed = PlacedInstance {
        id: id.to_owned(),
        group: GROUP.to_owned(),
        zone: "us-east-1a".to_owned(),
        state,
        private_ip: address.map(Ipv4Addr::from),
    };
    assert!(
        world
            .sim()
            .world()
            .place_instance(DEMO_ACCOUNT, REGION, placed)
    );
}

const A: &str = "i-0aaa0000000000001";
const B: &str = "i-0bbb0000000000002";
const C: &str = "i-0ccc0000000000003";

/// Proves: AWS-76.
#[tokio::test(start_paused = true)]
async fn members_are_sorted_with_address_zone_and_state() {
    let world = World::simulated();
    let mut pool = without_launches(&world).await;
    place(&world, C, InstanceState::Pending, Some([10, 0, 1, 13]));
    place(&world, A, InstanceState::Running, Some([10, 0, 1, 11]));
    place(&world, B, InstanceState::Running, Some([10, 0, 1, 12]));
    let outputs = world.refresh_now(&mut pool).await.unwrap();
    let rows: Vec<(String, String, Option<String>, MemberState)> = outputs
        .instances
        .iter()
        .map(|member| {
            let [address] = member.addresses.as_slice() else {
                panic!("one address each: {member:?}");
            };
            assert_eq!(address.kind, "InternalIP");
            (
                member.provider_id.clone(),
                address.address.clone(),
                member.failure_domain.clone(),
                member.state,
            )
        })
        .collect();
    let zone = || Some("us-east-1a".to_owned());
    let row = |id: &str, address: &str, state| {
        (
            format!("aws:///us-east-1a/{id}"),
            address.to_owned(),
            zone(),
            state,
        )
    };
    assert_eq!(
        rows,
        [
            row(A, "10.0.1.11", MemberState::Running),
            row(B, "10.0.1.12", MemberState::Running),
            row(C, "10.0.1.13", MemberState::Pending),
        ]
    );
    let ids: Vec<String> = rows.into_iter().map(|row| row.0).collect();
    assert_eq!(outputs.provider_id_list, ids);
    assert_eq!(outputs.health.state, MemberState::Running);
    assert!(!outputs.health.healthy);
    assert_eq!(
        outputs.health.message.as_deref(),
        Some("2 of 3 instances running")
    );
    assert_eq!(outputs.health.reasons, [format!("InstancePending:{C}")]);
    assert_eq!(outputs.replicas, Some(3));
}

/// Proves: AWS-79.
#[tokio::test(start_paused = true)]
async fn two_of_three_are_scaling() {
    let world = World::simulated();
    let mut pool = without_launches(&world).await;
    place(&world, A, InstanceState::Running, Some([10, 0, 1, 11]));
    place(&world, B, InstanceState::Running, Some([10, 0, 1, 12]));
    let outputs = world.refresh_now(&mut pool).await.unwrap();
    assert_eq!(outputs.health.state, MemberState::Running);
    assert!(!outputs.health.healthy);
    assert_eq!(outputs.health.reasons, ["ScalingInProgress"]);
}

/// Proves: AWS-80.
#[tokio::test(start_paused = true)]
async fn a_member_without_an_address_takes_nobody_elses() {
    let world = World::simulated();
    let mut pool = without_launches(&world).await;
    place(&world, A, InstanceState::Running, None);
    place(&world, B, InstanceState::Running, Some([10, 0, 1, 12]));
    let outputs = world.refresh_now(&mut pool).await.unwrap();
    assert!(outputs.instances[0].addresses.is_empty());
    assert_eq!(outputs.instances[1].addresses[0].address, "10.0.1.12");
}

/// Proves: AWS-84.
#[tokio::test(start_paused = true)]
async fn a_failed_second_page_keeps_the_published_list() {
    let world = World::simulated();
    let mut pool = without_launches(&world).await;
    world
        .probe
        .autoscaling
        .suspend_processes()
        .auto_scaling_group_name(GROUP)
        .set_scaling_processes(Some(vec!["Launch".to_owned(), "Terminate".to_owned()]))
        .send()
        .await
        .unwrap();
    for number in 0_u32..1_050 {
        place(
            &world,
            &format!("i-{number:017x}"),
            InstanceState::Running,
            None,
        );
    }
    let before = world.refresh(&mut pool).await.unwrap();
    assert_eq!(before.provider_id_list.len(), 1_050);
    let pages = world.sim().journal().count("ec2", "DescribeInstances");
    let page = Fault::new(Effect::InternalError).on("ec2", "DescribeInstances");
    // The first page passes; the second fails as often as it is tried.
    world.sim().faults().script(page.skip(1).times(4));
    let failure = world.refresh(&mut pool).await.expect_err("the page failed");
    assert_eq!(failure.call, "ec2:DescribeInstances");
    let tried = world.sim().journal().count("ec2", "DescribeInstances") - pages;
    assert_eq!(tried, 5);
    assert_eq!(pool.outputs().provider_id_list, before.provider_id_list);
    // And it heals by itself.
    let after = world.refresh(&mut pool).await.unwrap();
    assert_eq!(after.provider_id_list, before.provider_id_list);
}

/// Proves: AWS-92.
#[tokio::test(start_paused = true)]
async fn shutting_down_and_terminated_instances_are_not_listed() {
    let world = World::simulated();
    let mut pool = without_launches(&world).await;
    let states = [
        ("i-00000000000000001", InstanceState::Pending),
        ("i-00000000000000002", InstanceState::Running),
        ("i-00000000000000003", InstanceState::Stopping),
        ("i-00000000000000004", InstanceState::Stopped),
        ("i-00000000000000005", InstanceState::ShuttingDown),
        ("i-00000000000000006", InstanceState::Terminated),
    ];
    for (id, state) in states {
        place(&world, id, state, None);
    }
    let outputs = world.refresh_now(&mut pool).await.unwrap();
    let listed: Vec<&str> = outputs
        .instances
        .iter()
        .map(|member| member.instance_id.as_str())
        .collect();
    assert_eq!(listed, states.map(|(id, _)| id)[..4]);
    assert_eq!(outputs.health.state, MemberState::Stopped);
    for id in ["i-00000000000000003", "i-00000000000000004"] {
        assert!(
            outputs
                .health
                .reasons
                .contains(&format!("InstanceStopped:{id}"))
        );
    }
}

/// Failed launches are read only when members are missing, and change no health.
#[tokio::test(start_paused = true)]
async fn failed_launches_are_looked_at_when_members_are_missing() {
    let world = World::simulated();
    let mut pool = without_launches(&world).await;
    world.wait(600).await;
    world.pass(&mut pool).await;
    let asked = world
        .sim()
        .journal()
        .count("autoscaling", "DescribeScalingActivities");
    assert!(asked > 0);
    assert_eq!(pool.outputs().health.reasons, ["NoMembers"]);
    for zone in ["us-east-1a", "us-east-1b", "us-east-1c"] {
        world.sim().world().set_capacity(zone, "*", None);
    }
    world.wait(900).await;
    world.pass(&mut pool).await;
    world.sim().journal().clear();
    world.pass(&mut pool).await;
    assert_eq!(
        world
            .sim()
            .journal()
            .count("autoscaling", "DescribeScalingActivities"),
        0
    );
    assert!(pool.outputs().health.healthy);
}
