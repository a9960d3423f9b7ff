//! Bounds, autoscaling and zones (AWS document 13.1).

use std::collections::BTreeSet;

use serde_json::json;

use crate::{
    harness::{
        World,
        demo::{GROUP, Pool},
        names, writes,
    },
    moto::on_both,
};

const CPU_POLICY: &str = "captf-cpu-target-tracking";

async fn policies(world: &World) -> Vec<(String, String, String, f64)> {
    let page = world
        .probe
        .autoscaling
        .describe_policies()
        .auto_scaling_group_name(GROUP)
        .send()
        .await
        .unwrap();
    page.scaling_policies()
        .iter()
        .map(|policy| {
            let tracking = policy.target_tracking_configuration().unwrap();
            let metric = tracking.predefined_metric_specification().unwrap();
            (
                policy.policy_name().unwrap().to_owned(),
                policy.policy_type().unwrap().to_owned(),
                metric.predefined_metric_type().unwrap().as_str().to_owned(),
                tracking.target_value().unwrap(),
            )
        })
        .collect()
}

async fn made(world: &World) -> Pool {
    let mut pool = world.demo_pool();
    world.settle(&mut pool).await;
    pool
}

on_both! {
    /// Proves: AWS-1.
    #[test]
    async fn fixed_replicas_are_all_three_sizes(world: World) {
        made(&world).await;
        assert_eq!(world.probe.sizes(GROUP).await, (3, 3, 3));
        assert_eq!(policies(&world).await, []);
    }

    /// Proves: AWS-2.
    #[test]
    async fn autoscaling_bounds_the_group_and_adds_the_cpu_policy(world: World) {
        let mut pool = world.demo_pool();
        pool.autoscale(2, 5);
        world.settle(&mut pool).await;
        assert_eq!(world.probe.sizes(GROUP).await, (2, 5, 3));
        let policy = (
            CPU_POLICY.to_owned(),
            "TargetTrackingScaling".to_owned(),
            "ASGAverageCPUUtilization".to_owned(),
            60.0,
        );
        assert_eq!(policies(&world).await, [policy]);
    }

    /// Proves: AWS-3.
    #[test]
    async fn an_external_autoscaler_gets_the_bounds_and_no_policy(world: World) {
        let mut pool = world.demo_pool();
        pool.autoscale(2, 5);
        pool.set("autoscaler", json!("external"));
        let calls = world.settle(&mut pool).await;
        assert_eq!(world.probe.sizes(GROUP).await, (2, 5, 3));
        assert_eq!(policies(&world).await, []);
        assert!(!names(&calls).contains(&"autoscaling:PutScalingPolicy"));
    }

    /// Proves: AWS-7.
    #[test]
    async fn one_failure_domain_is_one_subnet_and_members_elsewhere_are_still_read(world: World) {
        // The pool began on three zones; its members there stay when the list narrows the group.
        let mut pool = world.demo_pool();
        world.settle(&mut pool).await;
        world.wait(60).await;
        world.pass(&mut pool).await;
        let before = pool.outputs().provider_id_list.clone();
        assert_eq!(before.len(), 3);
        pool.inputs.failure_domains = vec!["us-east-1b".to_owned()];
        world.settle(&mut pool).await;
        assert_eq!(
            world.probe.subnets(GROUP).await,
            world.cluster.subnets(&["us-east-1b"])
        );
        let pass = world.pass(&mut pool).await;
        let mut reads = pass.calls.iter().filter(|call| call.name == "ec2:DescribeInstances");
        let read = reads.next().unwrap();
        let filters: Vec<&str> = (1..3).map(|n| read.param(&format!("Filter.{n}.Name"))).collect();
        assert_eq!(filters, ["tag:aws:autoscaling:groupName", "instance-state-name"]);
    }

    /// Proves: AWS-9.
    #[test]
    async fn a_zone_the_cluster_gains_does_not_reach_a_pool_that_inherits(world: World) {
        let mut pool = made(&world).await;
        pool.cluster_is(&world.cluster);
        let calls = world.settle(&mut pool).await;
        assert_eq!(writes(&calls), [""; 0]);
        let three = ["us-east-1a", "us-east-1b", "us-east-1c"];
        assert_eq!(world.probe.subnets(GROUP).await, world.cluster.subnets(&three));
    }

    /// Proves: AWS-10.
    #[test]
    async fn an_added_failure_domain_adds_its_subnet_and_ends_nobody(world: World) {
        let mut pool = world.demo_pool();
        pool.inputs.failure_domains = vec!["us-east-1a".to_owned()];
        world.settle(&mut pool).await;
        world.wait(60).await;
        let before = world.probe.instances(GROUP).await;
        pool.inputs.failure_domains.push("us-east-1b".to_owned());
        let calls = world.settle(&mut pool).await;
        assert_eq!(writes(&calls), ["autoscaling:UpdateAutoScalingGroup"]);
        assert_eq!(
            world.probe.subnets(GROUP).await,
            world.cluster.subnets(&["us-east-1a", "us-east-1b"])
        );
        assert_eq!(world.probe.instances(GROUP).await, before);
    }

    /// Proves: AWS-11.
    #[test]
    async fn more_replicas_are_one_update(world: World) {
        let mut pool = made(&world).await;
        pool.inputs.replicas = 5;
        let pass = world.pass(&mut pool).await;
        assert_eq!(pass.writes(), ["autoscaling:UpdateAutoScalingGroup"]);
        let update = pass.call("autoscaling:UpdateAutoScalingGroup");
        assert_eq!((update.param("MinSize"), update.param("MaxSize")), ("5", "5"));
        assert_eq!(world.probe.sizes(GROUP).await, (5, 5, 5));
        assert_eq!(pool.outputs().replicas, Some(5));
    }

    /// Proves: AWS-12.
    #[test]
    async fn fewer_replicas_lower_all_three_sizes(world: World) {
        let mut pool = made(&world).await;
        pool.inputs.replicas = 2;
        world.settle(&mut pool).await;
        assert_eq!(world.probe.sizes(GROUP).await, (2, 2, 2));
    }

    /// Proves: AWS-13.
    #[test]
    async fn the_live_size_of_an_autoscaled_pool_is_left_alone(world: World) {
        let mut pool = world.demo_pool();
        pool.autoscale(1, 5);
        world.settle(&mut pool).await;
        world
            .probe
            .autoscaling
            .set_desired_capacity()
            .auto_scaling_group_name(GROUP)
            .desired_capacity(4)
            .send()
            .await
            .unwrap();
        pool.inputs.replicas = 2;
        let pass = world.pass(&mut pool).await;
        assert!(pass.calls.iter().all(|call| call.param("DesiredCapacity").is_empty()));
        assert_eq!(pass.writes(), [""; 0]);
        assert_eq!(pool.outputs().replicas, Some(4));
        assert_eq!(world.probe.sizes(GROUP).await, (1, 5, 4));
    }

    /// Proves: AWS-14.
    #[test]
    async fn turning_autoscaling_off_deletes_the_policy_before_the_bounds_move(world: World) {
        let mut pool = world.demo_pool();
        pool.autoscale(1, 5);
        world.settle(&mut pool).await;
        pool.inputs.autoscaling = remuda_plan::pool::inputs::Autoscaling::OFF;
        let calls = world.settle(&mut pool).await;
        assert_eq!(
            writes(&calls),
            ["autoscaling:DeletePolicy", "autoscaling:UpdateAutoScalingGroup"]
        );
        let (min, max, _) = world.probe.sizes(GROUP).await;
        assert_eq!((min, max), (3, 3));
        assert_eq!(policies(&world).await, []);
    }

    /// Proves: AWS-15.
    #[test]
    async fn turning_autoscaling_on_moves_the_bounds_before_the_policy(world: World) {
        let mut pool = made(&world).await;
        pool.autoscale(1, 5);
        let calls = world.settle(&mut pool).await;
        assert_eq!(
            writes(&calls),
            ["autoscaling:UpdateAutoScalingGroup", "autoscaling:PutScalingPolicy"]
        );
        assert_eq!(world.probe.sizes(GROUP).await, (1, 5, 3));
        assert_eq!(policies(&world).await.len(), 1);
    }

    /// Proves: AWS-94.
    #[test]
    async fn an_emptied_list_returns_to_the_zones_of_the_first_apply(world: World) {
        let mut pool = world.demo_pool();
        pool.inputs.failure_domains = vec!["us-east-1b".to_owned()];
        world.settle(&mut pool).await;
        pool.cluster_is(&world.cluster);
        world.settle(&mut pool).await;
        pool.inputs.failure_domains.clear();
        world.settle(&mut pool).await;
        let three = ["us-east-1a", "us-east-1b", "us-east-1c"];
        assert_eq!(world.probe.subnets(GROUP).await, world.cluster.subnets(&three));
    }

    /// Proves: AWS-95.
    #[test]
    async fn a_zone_the_cluster_drops_keeps_its_subnet_and_members(world: World) {
        let mut pool = made(&world).await;
        world.wait(60).await;
        world.pass(&mut pool).await;
        let listed = pool.outputs().provider_id_list.clone();
        pool.cluster_is(&world.cluster.with_zones(&["us-east-1a", "us-east-1b"]));
        let calls = world.settle(&mut pool).await;
        assert_eq!(writes(&calls), [""; 0]);
        let three = ["us-east-1a", "us-east-1b", "us-east-1c"];
        assert_eq!(world.probe.subnets(GROUP).await, world.cluster.subnets(&three));
        assert_eq!(pool.outputs().provider_id_list, listed);
    }

    /// Proves: AWS-96.
    #[test]
    async fn a_removed_failure_domain_is_one_update_of_the_subnets(world: World) {
        let mut pool = world.demo_pool();
        pool.inputs.failure_domains = vec!["us-east-1a".to_owned(), "us-east-1b".to_owned()];
        world.settle(&mut pool).await;
        pool.inputs.failure_domains.pop();
        let calls = world.settle(&mut pool).await;
        assert_eq!(writes(&calls), ["autoscaling:UpdateAutoScalingGroup"]);
        let only: BTreeSet<String> = world.cluster.subnets(&["us-east-1a"]);
        assert_eq!(world.probe.subnets(GROUP).await, only);
    }
}

/// Proves: AWS-97.
#[tokio::test(start_paused = true)]
async fn zones_are_recorded_before_the_group_exists() {
    let mut world = World::simulated();
    let mut pool = world.demo_pool();
    // The process stops after ever more writes, until the group is the last one.
    for writes in 1.. {
        world.recorder.stop_after(Some(writes));
        world.pass(&mut pool).await;
        world.restart();
        if world.sim().world().group(GROUP).is_some() {
            break;
        }
    }
    pool.cluster_is(&world.cluster);
    world.settle(&mut pool).await;
    let zones: Vec<&str> = pool
        .remembered()
        .inherited_zones
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(zones, ["us-east-1a", "us-east-1b", "us-east-1c"]);
}
