//! No call, however odd, breaks the world: each is answered, and the world goes on.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use proptest::{prelude::*, sample::select};
use support::immediate;

const AUTOSCALING: &[&str] = &[
    "CreateAutoScalingGroup",
    "UpdateAutoScalingGroup",
    "DeleteAutoScalingGroup",
    "SetDesiredCapacity",
    "DescribeAutoScalingGroups",
    "DescribeAutoScalingInstances",
    "SuspendProcesses",
    "ResumeProcesses",
    "CreateOrUpdateTags",
    "DeleteTags",
    "DescribeTags",
    "PutScalingPolicy",
    "DeletePolicy",
    "DescribePolicies",
    "StartInstanceRefresh",
    "CancelInstanceRefresh",
    "DescribeInstanceRefreshes",
    "DescribeScalingActivities",
    "TerminateInstanceInAutoScalingGroup",
    "SetInstanceProtection",
    "DetachInstances",
    "SetInstanceHealth",
    "PutLifecycleHook",
    "DeleteLifecycleHook",
    "DescribeLifecycleHooks",
    "CompleteLifecycleAction",
    "RecordLifecycleActionHeartbeat",
    "NoSuchAction",
];

const EC2: &[&str] = &[
    "CreateLaunchTemplate",
    "CreateLaunchTemplateVersion",
    "ModifyLaunchTemplate",
    "DeleteLaunchTemplate",
    "DeleteLaunchTemplateVersions",
    "DescribeLaunchTemplates",
    "DescribeLaunchTemplateVersions",
    "DescribeInstances",
    "TerminateInstances",
    "StopInstances",
    "StartInstances",
    "DescribeImages",
    "DescribeSubnets",
    "DescribeAvailabilityZones",
    "DescribeRegions",
    "CreateTags",
    "DeleteTags",
    "NoSuchAction",
];

const NAMES: &[&str] = &[
    "AutoScalingGroupName",
    "AutoScalingGroupNames.member.1",
    "MinSize",
    "MaxSize",
    "DesiredCapacity",
    "VPCZoneIdentifier",
    "LaunchTemplate.LaunchTemplateName",
    "LaunchTemplate.Version",
    "MaxRecords",
    "MaxResults",
    "NextToken",
    "ForceDelete",
    "ScalingProcesses.member.1",
    "Tags.member.1.ResourceId",
    "Tags.member.1.Key",
    "Tags.member.1.PropagateAtLaunch",
    "PolicyName",
    "PolicyType",
    "TargetTrackingConfiguration.TargetValue",
    "Preferences.MinHealthyPercentage",
    "Preferences.MaxHealthyPercentage",
    "Preferences.InstanceWarmup",
    "Preferences.SkipMatching",
    "InstanceId",
    "InstanceId.1",
    "InstanceIds.member.1",
    "ProtectedFromScaleIn",
    "ShouldDecrementDesiredCapacity",
    "HealthStatus",
    "LifecycleHookName",
    "LifecycleTransition",
    "LifecycleActionResult",
    "HeartbeatTimeout",
    "LaunchTemplateName",
    "LaunchTemplateName.1",
    "LaunchTemplateId",
    "LaunchTemplateVersion.1",
    "LaunchTemplateData.UserData",
    "LaunchTemplateData.InstanceType",
    "LaunchTemplateData.ImageId",
    "LaunchTemplateData.NetworkInterface.1.SecurityGroupId.1",
    "SetDefaultVersion",
    "SourceVersion",
    "ClientToken",
    "Filter.1.Name",
    "Filter.1.Value.1",
    "Filter.0.Value.99999999999",
    "ResourceId.1",
    "Tag.1.Key",
    "SubnetId.1",
    "ImageId.1",
    "Owner.1",
    "MinVersion",
    "..",
    "A.B.C.D.E.F.G.H.I.J.K.L.M.N.O.P.Q.R",
];

const VALUES: &[&str] = &[
    "",
    "0",
    "1",
    "3",
    "7",
    "50",
    "100",
    "200",
    "-1",
    "1.5",
    "NaN",
    "1e400",
    "99999999999999999999",
    "9223372036854775807",
    "true",
    "false",
    "maybe",
    "pool",
    "pool-lt",
    "other",
    "$Latest",
    "$Default",
    "2",
    "*",
    "?*?*\\",
    "tag:aws:autoscaling:groupName",
    "name",
    "instance-id",
    "i-00000000",
    "lt-0",
    "ami-0123456789abcdef0",
    "subnet-0aaa0000000000001",
    "subnet-0aaa0000000000001,,subnet-0bbb0000000000002",
    "Launch",
    "AZRebalance",
    "TargetTrackingScaling",
    "CONTINUE",
    "ABANDON",
    "Unhealthy",
    "autoscaling:EC2_INSTANCE_TERMINATING",
    "m6i.large",
    "xlarge",
    ".",
    "YWZ0ZXI6cG9vbA",
    "a\u{0}b",
    "äöü&<>\"'",
    "aws:x",
];

type Call = (bool, &'static str, Vec<(&'static str, &'static str)>);

fn call() -> impl Strategy<Value = Call> {
    let params = proptest::collection::vec((select(NAMES), select(VALUES)), 0..8);
    prop_oneof![
        (Just(true), select(AUTOSCALING), params.clone()),
        (Just(false), select(EC2), params),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 80,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_call_is_answered(calls in proptest::collection::vec(call(), 1..40)) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let client = immediate();
            client.create_group("pool", "2").await;
            let member = client.sim.world().live_instances("pool")[0].id.clone();
            for (autoscaling, action, params) in &calls {
                let service = if *autoscaling { "autoscaling" } else { "ec2" };
                // Most calls are to meet something that exists.
                let mut all = vec![("AutoScalingGroupName", "pool"), ("InstanceId", &*member)];
                if !autoscaling {
                    all.clear();
                }
                all.extend(params.iter().copied());
                let answer = client.call(service, action, &all).await;
                prop_assert!(answer.status.as_u16() < 500, "{} {:?}", action, answer.text());
                answer.all("Code");
            }
            client.call("sts", "GetCallerIdentity", &[]).await.ok();
            Ok(())
        })?;
    }
}
