//! Whatever happens to a group, once it stops the group has what it should have.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::collections::BTreeMap;

use proptest::prelude::*;
use remuda_sim::{Fault, aws::InstanceInfo};
use support::{Client, demo};

/// Something that happens.
#[derive(Debug, Clone)]
enum Happening {
    Resize(u8),
    Terminate(u8),
    Stop(u8),
    NoCapacity(u8),
    LaunchFails(u8),
    Zones(u8),
    Refresh,
    CancelRefresh,
    Suspend(bool),
    Wait(u16),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        (0u8..8).prop_map(Happening::Resize),
        any::<u8>().prop_map(Happening::Terminate),
        any::<u8>().prop_map(Happening::Stop),
        (0u8..3).prop_map(Happening::NoCapacity),
        (1u8..4).prop_map(Happening::LaunchFails),
        (1u8..8).prop_map(Happening::Zones),
        Just(Happening::Refresh),
        Just(Happening::CancelRefresh),
        any::<bool>().prop_map(Happening::Suspend),
        (1u16..120).prop_map(Happening::Wait),
    ]
}

const ZONES: [&str; 3] = ["us-east-1a", "us-east-1b", "us-east-1c"];
const NAME: (&str, &str) = ("AutoScalingGroupName", "pool");

fn pick(client: &Client, number: u8) -> Option<InstanceInfo> {
    let mut live = client.sim.world().live_instances("pool");
    if live.is_empty() {
        return None;
    }
    let index = usize::from(number) % live.len();
    Some(live.swap_remove(index))
}

async fn happen(client: &Client, happening: &Happening) {
    let world = client.sim.world();
    match happening {
        Happening::Resize(size) => {
            let size = size.to_string();
            let params = [NAME, ("MinSize", size.as_str()), ("MaxSize", size.as_str())];
            client.asg("UpdateAutoScalingGroup", &params).await.ok();
        }
        Happening::Terminate(number) => {
            if let Some(instance) = pick(client, *number) {
                world.terminate_instance(&instance.id);
            }
        }
        Happening::Stop(number) => {
            if let Some(instance) = pick(client, *number) {
                world.stop_instance(&instance.id);
            }
        }
        Happening::NoCapacity(zone) => {
            world.set_capacity(ZONES[usize::from(*zone)], "*", Some(0));
        }
        Happening::LaunchFails(times) => {
            let fault = Fault::launch("InternalError", "scripted").times((*times).into());
            client.sim.faults().script(fault);
        }
        Happening::Zones(mask) => {
            let chosen: Vec<&str> = support::SUBNETS
                .split(',')
                .enumerate()
                .filter(|(bit, _)| mask >> bit & 1 == 1)
                .map(|(_, subnet)| subnet)
                .collect();
            let params = [NAME, ("VPCZoneIdentifier", &*chosen.join(","))];
            client.asg("UpdateAutoScalingGroup", &params).await.ok();
        }
        Happening::Refresh => {
            let params = [
                NAME,
                ("Preferences.MinHealthyPercentage", "100"),
                ("Preferences.MaxHealthyPercentage", "200"),
                ("Preferences.InstanceWarmup", "30"),
            ];
            client.asg("StartInstanceRefresh", &params).await;
        }
        Happening::CancelRefresh => {
            client.asg("CancelInstanceRefresh", &[NAME]).await;
        }
        Happening::Suspend(suspend) => {
            let action = if *suspend {
                "SuspendProcesses"
            } else {
                "ResumeProcesses"
            };
            let params = [NAME, ("ScalingProcesses.member.1", "Launch")];
            client.asg(action, &params).await.ok();
        }
        Happening::Wait(seconds) => client.pass((*seconds).into()).await,
    }
}

/// Ends all trouble and gives the group time.
async fn calm(client: &Client) {
    for zone in ZONES {
        client.sim.world().set_capacity(zone, "*", None);
    }
    client.sim.faults().clear();
    client.asg("ResumeProcesses", &[NAME]).await.ok();
    client.pass(3 * 3600).await;
}

fn check(client: &Client) -> Result<(), TestCaseError> {
    let group = client.group("pool");
    let live = client.sim.world().live_instances("pool");
    prop_assert_eq!(group.members.len(), group.desired as usize);
    prop_assert_eq!(group.in_service(), group.desired as usize);
    prop_assert_eq!(
        live.len(),
        group.desired as usize,
        "no instance outlives its membership"
    );
    prop_assert!(
        live.iter()
            .all(|instance| instance.state.name() == "running")
    );
    let mut spread: BTreeMap<&str, usize> = BTreeMap::new();
    for subnet in &group.subnets {
        let letter = &subnet["subnet-0".len()..][..1];
        let zone = ZONES.iter().find(|zone| zone.ends_with(letter)).unwrap();
        spread.insert(zone, 0);
    }
    for instance in &live {
        let zone = spread.get_mut(instance.zone.as_str());
        prop_assert!(
            zone.is_some(),
            "{} is outside the group's zones",
            instance.zone
        );
        *zone.unwrap() += 1;
    }
    let (least, most) = (
        spread.values().min().unwrap(),
        spread.values().max().unwrap(),
    );
    prop_assert!(most - least <= 1, "zones are balanced: {:?}", spread);
    prop_assert!(!matches!(
        group.refreshes.last(),
        Some(&("Pending" | "InProgress" | "Cancelling"))
    ));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_group_has_what_it_should_once_trouble_stops(
        happenings in proptest::collection::vec(happening(), 1..24)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let client = demo();
            client.create_group("pool", "3").await;
            for happening in &happenings {
                happen(&client, happening).await;
            }
            calm(&client).await;
            check(&client)
        })?;
    }
}
