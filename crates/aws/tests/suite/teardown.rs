//! Deletion (AWS document 12, 13.8).

use crate::{
    harness::{
        World,
        demo::{BUCKET, GROUP, KEY, Pool},
        writes,
    },
    moto::on_both,
};

async fn made(world: &World) -> Pool {
    let mut pool = world.demo_pool();
    pool.autoscale(2, 5);
    world.settle(&mut pool).await;
    world.wait(60).await;
    pool
}

/// None of the five objects exists.
async fn nothing_is_left(world: &World) {
    assert!(world.probe.group(GROUP).await.is_none(), "the group");
    assert!(world.probe.templates(GROUP).await.is_empty(), "templates");
    assert_eq!(world.probe.object(BUCKET, KEY).await, None, "the object");
    assert!(world.probe.instances(GROUP).await.is_empty(), "instances");
    let policies = world
        .probe
        .autoscaling
        .describe_policies()
        .send()
        .await
        .unwrap();
    assert!(policies.scaling_policies().is_empty(), "policies");
}

on_both! {
    /// Proves: AWS-88.
    #[test]
    async fn deletion_goes_from_the_policy_to_the_object(world: World) {
        let mut pool = made(&world).await;
        let calls = world.delete(&mut pool).await;
        assert_eq!(
            writes(&calls),
            [
                "autoscaling:DeletePolicy",
                "autoscaling:UpdateAutoScalingGroup",
                "autoscaling:DeleteAutoScalingGroup",
                "ec2:DeleteLaunchTemplate",
                "s3:DeleteObject",
            ]
        );
        let update = calls.iter().find(|call| call.name.ends_with("UpdateAutoScalingGroup")).unwrap();
        for size in ["MinSize", "MaxSize", "DesiredCapacity"] {
            assert_eq!(update.param(size), "0", "{size}");
        }
        let delete = calls.iter().find(|call| call.name.ends_with("DeleteAutoScalingGroup")).unwrap();
        assert_eq!(delete.param("ForceDelete"), "false");
        nothing_is_left(&world).await;
        assert!(world.teardown_pass(&mut pool).await.is_settled());
    }

    /// Proves: AWS-89.
    #[test]
    async fn what_is_gone_already_is_no_obstacle(world: World) {
        for missing in ["group", "template", "object"] {
            let mut pool = made(&world).await;
            match missing {
                "group" => {
                    // AWS takes a group's policies along; moto does not.
                    let policy = world.probe.autoscaling.delete_policy();
                    let policy = policy.auto_scaling_group_name(GROUP);
                    policy.policy_name("captf-cpu-target-tracking").send().await.unwrap();
                    let delete = world.probe.autoscaling.delete_auto_scaling_group();
                    let delete = delete.auto_scaling_group_name(GROUP).force_delete(true);
                    delete.send().await.unwrap();
                    world.wait(120).await;
                }
                "template" => {
                    let templates = world.probe.templates(GROUP).await;
                    let name = templates.keys().next().unwrap();
                    let params = [("LaunchTemplateName", name.as_str())];
                    world.probe.ec2("DeleteLaunchTemplate", &params).await.unwrap();
                }
                _ => {
                    let delete = world.probe.s3.delete_object().bucket(BUCKET).key(KEY);
                    delete.send().await.unwrap();
                }
            }
            world.delete(&mut pool).await;
            nothing_is_left(&world).await;
        }
    }

    /// Proves: AWS-90.
    #[test]
    async fn a_missing_bucket_is_no_obstacle(world: World) {
        let mut pool = made(&world).await;
        world.probe.s3.delete_object().bucket(BUCKET).key(KEY).send().await.unwrap();
        if world.is_simulated() {
            world.sim().world().remove_bucket(BUCKET);
        } else {
            world.probe.s3.delete_bucket().bucket(BUCKET).send().await.unwrap();
        }
        world.delete(&mut pool).await;
        assert!(world.probe.group(GROUP).await.is_none());
        assert!(world.probe.templates(GROUP).await.is_empty());
    }

    /// Proves: AWS-111.
    #[test]
    async fn an_unused_template_goes_when_its_tags_are_ours(world: World) {
        let mut pool = made(&world).await;
        for (suffix, cluster) in [("ours", "demo"), ("theirs", "other")] {
            let name = format!("{GROUP}-{suffix}");
            let mut params = vec![
                ("LaunchTemplateName".to_owned(), name),
                ("LaunchTemplateData.InstanceType".to_owned(), "m6i.large".to_owned()),
                ("TagSpecification.1.ResourceType".to_owned(), "launch-template".to_owned()),
            ];
            let mut tags = pool.ownership();
            tags.insert("captf.io/cluster".to_owned(), cluster.to_owned());
            for (index, (key, value)) in tags.into_iter().enumerate() {
                params.push((format!("TagSpecification.1.Tag.{}.Key", index + 1), key));
                params.push((format!("TagSpecification.1.Tag.{}.Value", index + 1), value));
            }
            let params: Vec<(&str, &str)> =
                params.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            world.probe.ec2("CreateLaunchTemplate", &params).await.unwrap();
        }
        assert_eq!(world.probe.templates(GROUP).await.len(), 3);
        world.delete(&mut pool).await;
        let left: Vec<String> = world.probe.templates(GROUP).await.into_keys().collect();
        assert_eq!(left, [format!("{GROUP}-theirs")]);
    }
}

/// Members under scale-in protection don't hold up a deletion.
#[tokio::test(start_paused = true)]
async fn protected_members_are_unprotected_first() {
    let world = World::simulated();
    let mut pool = made(&world).await;
    let ids = world.probe.instances(GROUP).await;
    world
        .probe
        .autoscaling
        .set_instance_protection()
        .auto_scaling_group_name(GROUP)
        .set_instance_ids(Some(ids))
        .protected_from_scale_in(true)
        .send()
        .await
        .unwrap();
    let calls = world.delete(&mut pool).await;
    assert!(writes(&calls).contains(&"autoscaling:SetInstanceProtection"));
    nothing_is_left(&world).await;
}

/// A refresh that runs is cancelled, and nothing waits for its end.
#[tokio::test(start_paused = true)]
async fn a_running_refresh_does_not_hold_up_a_deletion() {
    let world = World::simulated();
    let mut pool = made(&world).await;
    pool.inputs.kubernetes_version = Some("v1.35.0".to_owned());
    world.settle(&mut pool).await;
    let calls = world.delete(&mut pool).await;
    assert!(writes(&calls).contains(&"autoscaling:CancelInstanceRefresh"));
    nothing_is_left(&world).await;
}
