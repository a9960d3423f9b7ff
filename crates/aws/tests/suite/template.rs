//! Names, tags and the launch template (AWS document 13.2).

use serde_json::json;

use crate::{
    harness::{
        World,
        demo::{BUCKET, GROUP, IMAGE, INSTALLATION, KEY, PROFILE},
        wire::Recorded,
    },
    moto::on_both,
};

fn call<'a>(calls: &'a [Recorded], name: &str) -> &'a Recorded {
    let mut found = calls.iter().filter(|call| call.name == name);
    let first = found.next().unwrap_or_else(|| panic!("no {name}"));
    assert!(found.next().is_none(), "more than one {name}");
    first
}

const CREATE_TEMPLATE: &str = "ec2:CreateLaunchTemplate";
const CREATE_GROUP: &str = "autoscaling:CreateAutoScalingGroup";

/// Tags of a tag specification of the template's data.
fn specification(
    create: &Recorded,
    resource_type: &str,
) -> std::collections::BTreeMap<String, String> {
    (1..=3)
        .map(|number| format!("LaunchTemplateData.TagSpecification.{number}"))
        .find(|prefix| create.param(&format!("{prefix}.ResourceType")) == resource_type)
        .map(|prefix| create.tags(&format!("{prefix}.Tag")))
        .unwrap_or_default()
}

on_both! {
    /// Proves: AWS-19, AWS-20.
    #[test]
    async fn the_group_follows_its_template_by_name_at_the_latest_version(world: World) {
        let mut pool = world.demo_pool();
        world.settle(&mut pool).await;
        let group = world.probe.group(GROUP).await.unwrap();
        let template = group.launch_template().unwrap();
        let name = template.launch_template_name().unwrap();
        assert!(name.starts_with(&format!("{GROUP}-")) && name.len() <= 128, "{name}");
        assert_eq!(template.version(), Some("$Latest"));
        let calls = world.recorder.since(0);
        let create = call(&calls, CREATE_GROUP);
        assert_eq!(create.param("LaunchTemplate.LaunchTemplateName"), name);
        assert_eq!(create.param("LaunchTemplate.LaunchTemplateId"), "");
        let (_, default, latest) = world.probe.versions(name).await;
        assert_eq!(default, latest);
        // It stays so after a new version.
        pool.set("instance_type", json!("m6i.xlarge"));
        world.settle(&mut pool).await;
        let (count, default, latest) = world.probe.versions(name).await;
        assert_eq!((count, default), (2, latest));
    }

    /// Proves: AWS-21, AWS-22, AWS-24, AWS-109.
    #[test]
    async fn everything_carries_its_tags_and_nothing_propagates(world: World) {
        let mut pool = world.demo_pool();
        let calls = world.settle(&mut pool).await;
        let expected = pool.tags();
        assert_eq!(expected.len(), 8);
        let mut of_group = expected.clone();
        of_group.insert("remuda.dev/installation".to_owned(), INSTALLATION.to_owned());
        let group = world.probe.group(GROUP).await.unwrap();
        let tags: std::collections::BTreeMap<String, String> = group
            .tags()
            .iter()
            .map(|tag| {
                assert_eq!(tag.propagate_at_launch(), Some(false), "{tag:?}");
                (tag.key().unwrap().to_owned(), tag.value().unwrap_or_default().to_owned())
            })
            .collect();
        assert_eq!(tags, of_group);
        let create = call(&calls, CREATE_TEMPLATE);
        assert_eq!(create.param("TagSpecification.1.ResourceType"), "launch-template");
        assert_eq!(create.tags("TagSpecification.1.Tag"), expected);
        assert_eq!(specification(create, "network-interface"), expected);
        let mut with_name = expected;
        with_name.insert("Name".to_owned(), "demo-pool-0".to_owned());
        assert_eq!(specification(create, "instance"), with_name);
        assert_eq!(specification(create, "volume"), with_name);
        // The group alone carries the installation id.
        let elsewhere = calls
            .iter()
            .filter(|call| call.name != CREATE_GROUP)
            .flat_map(|call| call.params.values())
            .any(|value| value.contains("remuda.dev"));
        assert!(!elsewhere);
        assert_eq!(pool.record.as_ref().unwrap().installation, INSTALLATION);
    }

    /// Proves: AWS-23, AWS-52.
    #[test]
    async fn the_object_is_the_decoded_payload_with_the_six_tags(world: World) {
        let mut pool = world.demo_pool();
        world.settle(&mut pool).await;
        assert_eq!(
            world.probe.object(BUCKET, KEY).await.as_deref(),
            Some(crate::harness::demo::PAYLOAD.as_bytes())
        );
        let tags = world.probe.object_tags(BUCKET, KEY).await;
        assert_eq!(tags, pool.inputs.captf_tags);
        assert_eq!(tags["captf.io/template"], "");
        // Gzip stays gzip.
        let gzip = [0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xfe];
        pool.bootstrap(&gzip);
        world.settle(&mut pool).await;
        assert_eq!(world.probe.object(BUCKET, KEY).await.as_deref(), Some(&gzip[..]));
        let calls = world.recorder.since(0);
        let put = calls.iter().find(|call| call.name == "s3:PutObject").unwrap();
        assert_eq!(put.param("content-type"), "application/octet-stream");
        assert_eq!(put.param("x-amz-server-side-encryption"), "AES256");
        assert!(put.params.keys().all(|name| {
            !name.starts_with("x-amz-meta") && !name.starts_with("x-amz-acl") && !name.starts_with("if-")
        }));
    }

    /// Proves: AWS-26.
    #[test]
    async fn template_data_is_complete_and_explicit(world: World) {
        let mut pool = world.demo_pool();
        pool.set("machine_image", json!({ "id": IMAGE }));
        let calls = world.settle(&mut pool).await;
        let create = call(&calls, CREATE_TEMPLATE);
        let rows = [
            ("ImageId", IMAGE),
            ("InstanceType", "m6i.large"),
            ("IamInstanceProfile.Name", PROFILE),
            ("MetadataOptions.HttpEndpoint", "enabled"),
            ("MetadataOptions.HttpTokens", "required"),
            ("MetadataOptions.HttpPutResponseHopLimit", "1"),
            ("MetadataOptions.InstanceMetadataTags", "disabled"),
            ("BlockDeviceMapping.1.DeviceName", "/dev/sda1"),
            ("BlockDeviceMapping.1.Ebs.VolumeSize", "40"),
            ("BlockDeviceMapping.1.Ebs.VolumeType", "gp3"),
            ("BlockDeviceMapping.1.Ebs.Encrypted", "true"),
            ("BlockDeviceMapping.1.Ebs.DeleteOnTermination", "true"),
            ("NetworkInterface.1.DeviceIndex", "0"),
            ("NetworkInterface.1.DeleteOnTermination", "true"),
            ("NetworkInterface.1.AssociatePublicIpAddress", "false"),
            ("NetworkInterface.1.SecurityGroupId.1", world.cluster.worker_group.as_str()),
        ];
        let prefix = "LaunchTemplateData.";
        for (name, value) in rows {
            assert_eq!(create.param(&format!("{prefix}{name}")), value, "{name}");
        }
        // Nothing else but user data and tags.
        let mut others: Vec<&str> = create
            .params
            .keys()
            .filter_map(|name| name.strip_prefix(prefix))
            .filter(|name| !name.starts_with("TagSpecification."))
            .filter(|name| !rows.iter().any(|(known, _)| known == name))
            .collect();
        others.sort_unstable();
        assert_eq!(others, ["UserData"]);
        let data = world.probe.template_data(create.param("LaunchTemplateName")).await;
        assert!(data.contains(IMAGE) && !data.contains("<marketType>"));
    }

    /// Proves: AWS-27.
    #[test]
    async fn spot_public_address_extra_group_image_and_device_reach_the_template(world: World) {
        let mut pool = world.demo_pool();
        pool.set("spot", json!(true));
        pool.set("public_ip", json!(true));
        pool.set("additional_security_group_ids", json!(["sg-0abc000000000000a"]));
        pool.set(
            "machine_image",
            json!({ "id": "ami-0aaaaaaaaaaaaaaaa", "root_device_name": "/dev/xvda" }),
        );
        world.pass(&mut pool).await;
        let calls = world.recorder.since(0);
        let create = call(&calls, CREATE_TEMPLATE);
        let data = |name: &str| create.param(&format!("LaunchTemplateData.{name}")).to_owned();
        assert_eq!(data("InstanceMarketOptions.MarketType"), "spot");
        assert_eq!(data("NetworkInterface.1.AssociatePublicIpAddress"), "true");
        assert_eq!(data("ImageId"), "ami-0aaaaaaaaaaaaaaaa");
        assert_eq!(data("BlockDeviceMapping.1.DeviceName"), "/dev/xvda");
        let mut groups = create.list("LaunchTemplateData.NetworkInterface.1.SecurityGroupId.");
        groups.sort_unstable();
        let mut expected = ["sg-0abc000000000000a", world.cluster.worker_group.as_str()];
        expected.sort_unstable();
        assert_eq!(groups, expected);
        assert!(!create.params.keys().any(|name| name.contains("SpotOptions")));
        assert_eq!(call(&calls, CREATE_GROUP).param("CapacityRebalance"), "true");
        let group = world.probe.group(GROUP).await.unwrap();
        assert_eq!(group.capacity_rebalance(), Some(true));
    }

    /// Proves: AWS-28.
    #[test]
    async fn creation_suspends_rebalancing_and_does_not_wait(world: World) {
        let mut pool = world.demo_pool();
        let started = tokio::time::Instant::now();
        let pass = world.pass(&mut pool).await;
        assert_eq!(
            pass.writes(),
            [
                "s3:PutObject",
                "ec2:CreateLaunchTemplate",
                "autoscaling:CreateAutoScalingGroup",
                "autoscaling:SuspendProcesses",
            ]
        );
        assert!(started.elapsed().as_secs() <= 70, "two reads of a sweep, and no wait beside them");
        assert_eq!(pass.failed, None);
        let group = world.probe.group(GROUP).await.unwrap();
        let suspended: Vec<&str> = group
            .suspended_processes()
            .iter()
            .filter_map(|process| process.process_name())
            .collect();
        assert_eq!(suspended, ["AZRebalance"]);
        assert_eq!(group.health_check_type(), Some("EC2"));
        assert_eq!(group.health_check_grace_period(), Some(300));
    }

    /// Proves: AWS-29, AWS-109.
    #[test]
    async fn a_taken_name_is_refused_and_left_alone(world: World) {
        let mut theirs = world.demo_pool();
        world.settle(&mut theirs).await;
        let set = async |tag: &str, value: &str| {
            let tags = aws_sdk_autoscaling::types::Tag::builder()
                .resource_id(GROUP)
                .resource_type("auto-scaling-group")
                .key(tag)
                .value(value)
                .propagate_at_launch(false)
                .build();
            world
                .probe
                .autoscaling
                .create_or_update_tags()
                .tags(tags)
                .send()
                .await
                .unwrap();
        };
        for (tag, own) in [("captf.io/cluster", "demo"), ("remuda.dev/installation", INSTALLATION)] {
            set(tag, "other").await;
            let mut new = world.demo_pool();
            let pass = world.pass(&mut new).await;
            assert_eq!(pass.codes(), ["R-9"], "{tag}");
            assert!(pass.refused[0].to_string().contains(&format!("{tag}=other")));
            assert_eq!(pass.writes(), [""; 0]);
            set(tag, own).await;
        }
    }

    /// Proves: AWS-91.
    #[test]
    async fn the_provider_id_is_the_arn_and_the_name_is_known_before_the_first_call(world: World) {
        let mut pool = world.demo_pool();
        world.pass(&mut pool).await;
        let first = world.recorder.since(0);
        let asked = first
            .iter()
            .find(|call| call.name == "autoscaling:DescribeAutoScalingGroups")
            .unwrap();
        assert_eq!(asked.list("AutoScalingGroupNames.member."), [GROUP]);
        world.wait(60).await;
        world.pass(&mut pool).await;
        let outputs = pool.outputs();
        let group = world.probe.group(GROUP).await.unwrap();
        assert_eq!(outputs.provider_id.as_deref(), group.auto_scaling_group_arn());
        assert!(outputs.provider_id.as_ref().unwrap().ends_with(GROUP));
        assert_eq!(outputs.extra["autoscaling_group_name"], json!(GROUP));
        let expected: Vec<String> = {
            let mut ids: Vec<String> = group
                .instances()
                .iter()
                .map(|instance| {
                    format!(
                        "aws:///{}/{}",
                        instance.availability_zone().unwrap(),
                        instance.instance_id().unwrap()
                    )
                })
                .collect();
            ids.sort();
            ids
        };
        assert_eq!(outputs.provider_id_list, expected);
    }
}
