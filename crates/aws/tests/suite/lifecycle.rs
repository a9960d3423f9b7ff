//! Changes of inputs and of the world, and what each may cause (AWS document 13.3, 13.9).

use aws_sdk_s3::types::ServerSideEncryption;
use serde_json::{Value, json};

use crate::{
    harness::{
        Pass, World,
        demo::{BUCKET, GROUP, KEY, Pool, ROTATED},
        names, writes,
    },
    moto::on_both,
};

const NEW_VERSION: [&str; 2] = [
    "ec2:CreateLaunchTemplateVersion",
    "ec2:ModifyLaunchTemplate",
];
const UPDATE_GROUP: &str = "autoscaling:UpdateAutoScalingGroup";

/// A pool that is finished and fully published.
async fn finished(world: &World) -> Pool {
    let mut pool = world.demo_pool();
    world.settle(&mut pool).await;
    world.wait(60).await;
    let pass = world.pass(&mut pool).await;
    assert!(pass.is_settled());
    pool
}

async fn template_name(world: &World) -> String {
    let group = world.probe.group(GROUP).await.unwrap();
    let template = group.launch_template().unwrap();
    template.launch_template_name().unwrap().to_owned()
}

/// A change that makes one template version, keeps template, group and instances, and rolls nobody.
async fn only_a_new_version(world: &World, change: impl FnOnce(&mut Pool)) -> Pass {
    let mut pool = finished(world).await;
    let before = world.probe.templates(GROUP).await;
    let instances = world.probe.instances(GROUP).await;
    let arn = pool.outputs().provider_id.clone();
    change(&mut pool);
    let pass = world.pass(&mut pool).await;
    assert_eq!(pass.writes(), NEW_VERSION);
    assert_eq!(world.probe.templates(GROUP).await, before);
    assert_eq!(world.probe.instances(GROUP).await, instances);
    assert_eq!(pool.outputs().provider_id, arn);
    let create = pass.call("ec2:CreateLaunchTemplateVersion");
    assert_eq!(create.param("SourceVersion"), "");
    let (count, default, latest) = world.probe.versions(&template_name(world).await).await;
    assert_eq!((count, default), (2, latest));
    pass
}

on_both! {
    /// Proves: AWS-30.
    #[test]
    async fn a_second_pass_writes_nothing(world: World) {
        let mut pool = finished(&world).await;
        let before = pool.outputs().clone();
        let pass = world.pass(&mut pool).await;
        assert_eq!(pass.writes(), [""; 0]);
        assert!(pass.is_settled());
        assert_eq!(pool.outputs().provider_id, before.provider_id);
        let template = &pool.outputs().extra["launch_template_id"];
        assert_eq!(template, &before.extra["launch_template_id"]);
        assert!(template.as_str().unwrap().starts_with("lt-"));
    }

    /// Proves: AWS-31.
    #[test]
    async fn rotated_bootstrap_data_is_one_put(world: World) {
        let mut pool = finished(&world).await;
        let name = template_name(&world).await;
        let before = world.probe.versions(&name).await;
        pool.bootstrap(ROTATED.as_bytes());
        let calls = world.settle(&mut pool).await;
        assert_eq!(writes(&calls), ["s3:PutObject"]);
        let put = calls.iter().find(|call| call.name == "s3:PutObject").unwrap();
        assert_eq!(put.param("key"), KEY);
        assert_eq!(world.probe.object(BUCKET, KEY).await.as_deref(), Some(ROTATED.as_bytes()));
        assert_eq!(world.probe.versions(&name).await, before);
        assert_eq!(template_name(&world).await, name);
    }

    /// Proves: AWS-33.
    #[test]
    async fn node_labels_make_a_new_version(world: World) {
        only_a_new_version(&world, |pool| {
            pool.inputs.node_labels.insert("team".to_owned(), "data".to_owned());
        })
        .await;
    }

    /// Proves: AWS-34.
    #[test]
    async fn an_instance_type_makes_a_new_version(world: World) {
        let pass = only_a_new_version(&world, |pool| {
            pool.set("instance_type", json!("m6i.xlarge"));
        })
        .await;
        let create = pass.call("ec2:CreateLaunchTemplateVersion");
        assert_eq!(create.param("LaunchTemplateData.InstanceType"), "m6i.xlarge");
        let data = world.probe.template_data(&template_name(&world).await).await;
        assert!(data.contains("<instanceType>m6i.xlarge</instanceType>"));
    }

    /// Proves: AWS-98.
    #[test]
    async fn each_template_variable_alone_makes_a_new_version(world: World) {
        let mut pool = finished(&world).await;
        let templates = world.probe.templates(GROUP).await;
        let rows: [(&str, Value, &str, &str); 5] = [
            ("root_volume_size_gib", json!(80), "BlockDeviceMapping.1.Ebs.VolumeSize", "80"),
            ("root_volume_type", json!("gp2"), "BlockDeviceMapping.1.Ebs.VolumeType", "gp2"),
            (
                "additional_security_group_ids",
                json!(["sg-0abc000000000000a"]),
                "NetworkInterface.1.SecurityGroupId",
                "sg-0abc000000000000a",
            ),
            ("public_ip", json!(true), "NetworkInterface.1.AssociatePublicIpAddress", "true"),
            (
                "instance_metadata_hop_limit",
                json!(2),
                "MetadataOptions.HttpPutResponseHopLimit",
                "2",
            ),
        ];
        let instances = world.probe.instances(GROUP).await;
        for (variable, value, field, sent) in rows {
            pool.set(variable, value);
            let pass = world.pass(&mut pool).await;
            assert_eq!(pass.writes(), NEW_VERSION, "{variable}");
            let create = pass.call("ec2:CreateLaunchTemplateVersion");
            let prefix = format!("LaunchTemplateData.{field}");
            let found = create
                .params
                .iter()
                .any(|(name, value)| name.starts_with(&prefix) && value == sent);
            assert!(found, "{variable}");
        }
        // The same for the market, and the group rebalances.
        pool.set("spot", json!(true));
        let pass = world.pass(&mut pool).await;
        assert_eq!(pass.writes(), [NEW_VERSION[0], NEW_VERSION[1], UPDATE_GROUP]);
        assert_eq!(pass.call(UPDATE_GROUP).param("CapacityRebalance"), "true");
        let create = pass.call("ec2:CreateLaunchTemplateVersion");
        assert_eq!(create.param("LaunchTemplateData.InstanceMarketOptions.MarketType"), "spot");
        assert_eq!(world.probe.templates(GROUP).await, templates);
        assert_eq!(world.probe.instances(GROUP).await, instances);
    }

    /// Proves: AWS-44.
    #[test]
    async fn another_cpu_target_is_one_put_of_the_policy(world: World) {
        let mut pool = world.demo_pool();
        pool.autoscale(2, 5);
        world.settle(&mut pool).await;
        pool.set("autoscaling_target_cpu_percent", json!(70));
        let calls = world.settle(&mut pool).await;
        assert_eq!(writes(&calls), ["autoscaling:PutScalingPolicy"]);
        let put = calls.iter().find(|call| call.name.ends_with("PutScalingPolicy")).unwrap();
        let target: f64 = put.param("TargetTrackingConfiguration.TargetValue").parse().unwrap();
        assert!((target - 70.0).abs() < f64::EPSILON);
    }

    /// Proves: AWS-45.
    #[test]
    async fn another_warmup_waits_for_the_next_roll(world: World) {
        let mut pool = finished(&world).await;
        pool.set("rollout_instance_warmup_seconds", json!(600));
        let calls = world.settle(&mut pool).await;
        assert_eq!(writes(&calls), [""; 0]);
    }

    /// Proves: AWS-46.
    #[test]
    async fn a_minimum_changed_by_hand_is_put_back(world: World) {
        let mut pool = finished(&world).await;
        world
            .probe
            .autoscaling
            .update_auto_scaling_group()
            .auto_scaling_group_name(GROUP)
            .min_size(1)
            .send()
            .await
            .unwrap();
        let calls = world.settle(&mut pool).await;
        assert_eq!(writes(&calls), [UPDATE_GROUP]);
        assert_eq!(world.probe.sizes(GROUP).await, (3, 3, 3));
    }

    /// Proves: AWS-47.
    #[test]
    async fn resumed_rebalancing_is_suspended_again(world: World) {
        let mut pool = finished(&world).await;
        world
            .probe
            .autoscaling
            .resume_processes()
            .auto_scaling_group_name(GROUP)
            .scaling_processes("AZRebalance")
            .send()
            .await
            .unwrap();
        let calls = world.settle(&mut pool).await;
        assert_eq!(writes(&calls), ["autoscaling:SuspendProcesses"]);
        let group = world.probe.group(GROUP).await.unwrap();
        assert_eq!(group.suspended_processes().len(), 1);
    }

    /// Proves: AWS-48.
    #[test]
    async fn a_deleted_object_is_written_again(world: World) {
        let mut pool = finished(&world).await;
        world.probe.s3.delete_object().bucket(BUCKET).key(KEY).send().await.unwrap();
        let calls = world.settle(&mut pool).await;
        assert_eq!(writes(&calls), ["s3:PutObject"]);
        assert!(world.probe.object(BUCKET, KEY).await.is_some());
    }

    /// Proves: AWS-49.
    #[test]
    async fn a_deleted_group_reads_as_terminated_and_comes_back_under_its_name(world: World) {
        let mut pool = finished(&world).await;
        world
            .probe
            .autoscaling
            .delete_auto_scaling_group()
            .auto_scaling_group_name(GROUP)
            .force_delete(true)
            .send()
            .await
            .unwrap();
        world.wait(120).await;
        let outputs = world.refresh(&mut pool).await.unwrap();
        assert_eq!(outputs.provider_id, None);
        assert_eq!(outputs.replicas, Some(3));
        assert_eq!(outputs.health.reasons, ["GroupNotFound"]);
        assert_eq!(outputs.health.state, remuda_plan::pool::members::MemberState::Terminated);
        let calls = world.settle(&mut pool).await;
        assert!(names(&calls).contains(&"autoscaling:CreateAutoScalingGroup"));
        assert!(!names(&calls).contains(&"ec2:DeleteLaunchTemplate"));
        assert_eq!(world.probe.sizes(GROUP).await, (3, 3, 3));
        assert_eq!(world.probe.templates(GROUP).await.len(), 1);
    }

    /// Bytes that somebody else put are told by the ETag, even where their count and tags are ours.
    #[test]
    async fn an_object_of_equal_length_and_tags_is_put_again(world: World) {
        let mut pool = finished(&world).await;
        let head = || world.probe.s3.head_object().bucket(BUCKET).key(KEY).send();
        let ours = head().await.unwrap();
        let tags = world.probe.s3.get_object_tagging().bucket(BUCKET).key(KEY);
        let tags = tags.send().await.unwrap();
        let tagging: Vec<String> = tags
            .tag_set()
            .iter()
            .map(|tag| format!("{}={}", tag.key().replace('/', "%2F"), tag.value()))
            .collect();
        let length = usize::try_from(ours.content_length().unwrap()).unwrap();
        world
            .probe
            .s3
            .put_object()
            .bucket(BUCKET)
            .key(KEY)
            .body(vec![b'x'; length].into())
            .server_side_encryption(ServerSideEncryption::Aes256)
            .tagging(tagging.join("&"))
            .send()
            .await
            .unwrap();
        let calls = world.settle(&mut pool).await;
        assert_eq!(writes(&calls), ["s3:PutObject"]);
        assert_eq!(head().await.unwrap().e_tag(), ours.e_tag());
        assert!(writes(&world.settle(&mut pool).await).is_empty());
    }

    /// Proves: AWS-50.
    #[test]
    async fn a_lost_record_replaces_nothing_and_rolls_nobody(world: World) {
        let mut pool = finished(&world).await;
        let templates = world.probe.templates(GROUP).await;
        pool.record = None;
        let calls = world.settle(&mut pool).await;
        let forbidden = ["ec2:CreateLaunchTemplate", "autoscaling:StartInstanceRefresh"];
        assert!(!names(&calls).iter().any(|name| forbidden.contains(name)), "{:?}", names(&calls));
        assert_eq!(world.probe.templates(GROUP).await, templates);
        let remembered = pool.remembered();
        assert_eq!(remembered.template_name.as_ref(), templates.keys().next());
        assert_eq!(remembered.inherited_zones.len(), 3);
    }

    /// Proves: AWS-102.
    #[test]
    async fn incomplete_exports_stop_a_new_and_a_finished_pool(world: World) {
        let cut = |pool: &mut Pool| {
            let exports = pool.inputs.captf_cluster_outputs.as_object_mut().unwrap();
            exports.remove("bootstrap_bucket");
        };
        let mut new = world.demo_pool();
        cut(&mut new);
        let mut old = finished(&world).await;
        cut(&mut old);
        for pool in [&mut new, &mut old] {
            let pass = world.pass(pool).await;
            assert_eq!(pass.codes(), ["R-2"]);
            assert!(pass.refused[0].to_string().contains("bootstrap_bucket"));
            assert_eq!(pass.names(), [""; 0]);
        }
    }

    /// Proves: AWS-103.
    #[test]
    async fn a_deleted_template_is_made_again_without_a_roll(world: World) {
        let mut pool = finished(&world).await;
        let old = template_name(&world).await;
        let named = [("LaunchTemplateName", old.as_str())];
        world.probe.ec2("DeleteLaunchTemplate", &named).await.unwrap();
        let calls = world.settle(&mut pool).await;
        let new = template_name(&world).await;
        // Made within the same second (moto runs in real time), it has the old one's name, and the
        // group points at it already.
        let create = "ec2:CreateLaunchTemplate";
        let expected = if new == old { vec![create] } else { vec![create, UPDATE_GROUP] };
        assert_eq!(writes(&calls), expected);
        assert!(world.probe.templates(GROUP).await.contains_key(&new));
    }

    /// Proves: AWS-105.
    #[test]
    async fn a_changed_captf_tag_reaches_group_template_and_object_and_no_instance(world: World) {
        let mut pool = finished(&world).await;
        pool.inputs.captf_tags.insert("captf.io/template".to_owned(), "blue".to_owned());
        let calls = world.pass(&mut pool).await.calls;
        assert!(!names(&calls).contains(&"autoscaling:StartInstanceRefresh"));
        let group = world.probe.group(GROUP).await.unwrap();
        let tag = group.tags().iter().find(|tag| tag.key() == Some("captf.io/template")).unwrap();
        assert_eq!(tag.value(), Some("blue"));
        assert_eq!(tag.propagate_at_launch(), Some(false));
        assert_eq!(world.probe.object_tags(BUCKET, KEY).await["captf.io/template"], "blue");
        // No call tags an instance: CreateTags names the template alone.
        let tagged: Vec<&str> = calls
            .iter()
            .filter(|call| call.name == "ec2:CreateTags")
            .flat_map(|call| call.list("ResourceId."))
            .collect();
        let id = world.probe.templates(GROUP).await.into_values().next().unwrap();
        assert_eq!(tagged, [id.as_str()]);
        let version = calls.iter().find(|call| call.name == NEW_VERSION[0]).unwrap();
        for number in 1..=3 {
            let prefix = format!("LaunchTemplateData.TagSpecification.{number}.Tag");
            assert_eq!(version.tags(&prefix)["captf.io/template"], "blue");
        }
        // moto does not show the new tags of a launch template.
        if world.is_simulated() {
            assert!(world.pass(&mut pool).await.is_settled());
        }
    }

    /// Proves: AWS-106.
    #[test]
    async fn an_operators_lifecycle_hook_stays(world: World) {
        let mut pool = finished(&world).await;
        world
            .probe
            .autoscaling
            .put_lifecycle_hook()
            .auto_scaling_group_name(GROUP)
            .lifecycle_hook_name("drain")
            .lifecycle_transition("autoscaling:EC2_INSTANCE_TERMINATING")
            .default_result("CONTINUE")
            .heartbeat_timeout(60)
            .send()
            .await
            .unwrap();
        let mut calls = world.settle(&mut pool).await;
        pool.inputs.replicas = 4;
        calls.extend(world.settle(&mut pool).await);
        pool.set("instance_type", json!("m6i.xlarge"));
        calls.extend(world.settle(&mut pool).await);
        assert!(!names(&calls).iter().any(|name| name.contains("Lifecycle")));
        let hooks = world
            .probe
            .autoscaling
            .describe_lifecycle_hooks()
            .auto_scaling_group_name(GROUP)
            .send()
            .await
            .unwrap();
        assert_eq!(hooks.lifecycle_hooks().len(), 1);
    }
}

/// Proves: AWS-43.
#[tokio::test(start_paused = true)]
async fn a_newer_image_is_a_new_version_and_no_roll() {
    let world = World::simulated();
    let mut pool = finished(&world).await;
    let before = pool.outputs().extra["launch_template_id"].clone();
    let newer = "ami-0fffffffffffffff1";
    let image = remuda_sim::aws::ImageSpec::new(
        newer,
        "capa-ami-ubuntu-24.04-v1.34.1-1790000000",
        "819546954734",
        jiff::Timestamp::from_second(1_790_000_000).unwrap(),
    );
    world.sim().world().add_image("us-east-1", image);
    // Lookups are shared for five minutes.
    world.wait(301).await;
    let pass = world.pass(&mut pool).await;
    assert_eq!(pass.writes(), NEW_VERSION);
    let create = pass.call("ec2:CreateLaunchTemplateVersion");
    assert_eq!(create.param("LaunchTemplateData.ImageId"), newer);
    assert_eq!(pool.outputs().extra["launch_template_id"], before);
}
