//! Every AWS call that is made, as data: its name, whether it changes something, which ceiling it
//! counts against, and which permissions it needs. A call that is not listed here can't be made.

use remuda_cloud::{budget::Ceiling, calls, calls::Call};

/// Ceilings are kept per bucket (AWS document 11.2).
pub mod bucket {
    /// `ec2:DescribeInstances`.
    pub const INSTANCES: &str = "ec2:DescribeInstances";
    /// `autoscaling:DescribeAutoScalingGroups`.
    pub const GROUPS: &str = "autoscaling:DescribeAutoScalingGroups";
    /// All mutating calls together.
    pub const WRITES: &str = "writes";
    /// Other reads of EC2.
    pub const EC2_READS: &str = "ec2 reads";
    /// Other reads of Auto Scaling.
    pub const AUTOSCALING_READS: &str = "autoscaling reads";
    /// Reads of S3.
    pub const S3_READS: &str = "s3 reads";
}

/// The client-side ceilings of the AWS document, 11.2, per account and region. What it does not
/// name has none here: those calls are made per apply, not per refresh.
pub fn default_ceilings() -> Vec<(&'static str, Ceiling)> {
    let ceiling = |per_second, burst| Ceiling { per_second, burst };
    vec![
        (bucket::INSTANCES, ceiling(5.0, 5.0)),
        (bucket::GROUPS, ceiling(2.0, 2.0)),
        (bucket::WRITES, ceiling(2.0, 10.0)),
    ]
}

/// The service of a call: `autoscaling`.
pub(crate) fn service(call: &Call) -> &'static str {
    call.name.split_once(':').map_or("", |(service, _)| service)
}

/// The action of a call without its service: `UpdateAutoScalingGroup`.
pub(crate) fn action(call: &Call) -> &'static str {
    call.name.split_once(':').map_or(call.name, |(_, a)| a)
}

const fn write(name: &'static str) -> Call {
    Call::write(name, &[bucket::WRITES])
}

const fn autoscaling_read(name: &'static str) -> Call {
    Call::read(name, &[bucket::AUTOSCALING_READS])
}

const fn ec2_read(name: &'static str) -> Call {
    Call::read(name, &[bucket::EC2_READS])
}

calls! {
    DESCRIBE_GROUPS = Call::read("autoscaling:DescribeAutoScalingGroups", &[bucket::GROUPS]) => {
        "autoscaling:DescribeAutoScalingGroups": "find the group of each pool, its bounds and members",
    };
    DESCRIBE_POLICIES = autoscaling_read("autoscaling:DescribePolicies") => {
        "autoscaling:DescribePolicies": "compare a pool's CPU policy with what was asked for",
    };
    DESCRIBE_REFRESHES = autoscaling_read("autoscaling:DescribeInstanceRefreshes") => {
        "autoscaling:DescribeInstanceRefreshes": "follow a roll",
    };
    DESCRIBE_HOOKS = autoscaling_read("autoscaling:DescribeLifecycleHooks") => {
        "autoscaling:DescribeLifecycleHooks": "see whether ends of instances are held for a drain",
    };
    DESCRIBE_ACTIVITIES = autoscaling_read("autoscaling:DescribeScalingActivities") => {
        "autoscaling:DescribeScalingActivities": "tell why launches fail and why instances leave",
    };
    DESCRIBE_INSTANCES = Call::read("ec2:DescribeInstances", &[bucket::INSTANCES]) => {
        "ec2:DescribeInstances": "know the members of a pool, their state and addresses",
    };
    DESCRIBE_IMAGES = ec2_read("ec2:DescribeImages") => {
        "ec2:DescribeImages": "find the newest image that a pool's image lookup means",
    };
    DESCRIBE_TEMPLATES = ec2_read("ec2:DescribeLaunchTemplates") => {
        "ec2:DescribeLaunchTemplates": "find a pool's launch templates",
    };
    DESCRIBE_TEMPLATE_VERSIONS = ec2_read("ec2:DescribeLaunchTemplateVersions") => {
        "ec2:DescribeLaunchTemplateVersions": "compare a launch template with what was asked for",
    };
    HEAD_OBJECT = Call::read("s3:HeadObject", &[bucket::S3_READS]) => {
        "s3:GetObject": "see whether a pool's bootstrap payload is in place (a HEAD needs this right)",
    };
    GET_OBJECT_TAGGING = Call::read("s3:GetObjectTagging", &[bucket::S3_READS]) => {
        "s3:GetObjectTagging": "see whose a bootstrap payload is",
    };
    ASSUME_ROLE = Call::read("sts:AssumeRole", &[]) => {
        "sts:AssumeRole": "become the role that an identity's profile names",
    };
    // It needs no right.
    CALLER_IDENTITY = Call::read("sts:GetCallerIdentity", &[]) => {};
    DESCRIBE_SUBNETS = ec2_read("ec2:DescribeSubnets") => {
        "ec2:DescribeSubnets": "tell how many addresses a pool's subnets have left",
    };
    DESCRIBE_ACCOUNT_LIMITS = autoscaling_read("autoscaling:DescribeAccountLimits") => {
        "autoscaling:DescribeAccountLimits": "tell how many groups the account may still have",
    };
    // A dry run, which changes nothing.
    TRY_CREATE_TEMPLATE = Call::read("ec2:CreateLaunchTemplate", &[bucket::WRITES]) => {
        "ec2:CreateLaunchTemplate": "make a pool's launch template",
        "ec2:CreateTags": "tag what a pool makes as its own",
    };

    PUT_OBJECT = write("s3:PutObject") => {
        "s3:PutObject": "put a pool's bootstrap payload",
        "s3:PutObjectTagging": "tag a bootstrap payload as the pool's",
    };
    PUT_OBJECT_TAGGING = write("s3:PutObjectTagging") => {
        "s3:PutObjectTagging": "tag a bootstrap payload as the pool's",
    };
    DELETE_OBJECT = write("s3:DeleteObject") => {
        "s3:DeleteObject": "remove the bootstrap payload of a deleted pool",
    };
    CREATE_TEMPLATE = write("ec2:CreateLaunchTemplate") => {
        "ec2:CreateLaunchTemplate": "make a pool's launch template",
        "ec2:CreateTags": "tag what a pool makes as its own",
    };
    CREATE_TEMPLATE_VERSION = write("ec2:CreateLaunchTemplateVersion").once() => {
        "ec2:CreateLaunchTemplateVersion": "change what a pool's next instances look like",
    };
    MODIFY_TEMPLATE = write("ec2:ModifyLaunchTemplate") => {
        "ec2:ModifyLaunchTemplate": "make the newest version of a launch template its default",
    };
    DELETE_TEMPLATE = write("ec2:DeleteLaunchTemplate") => {
        "ec2:DeleteLaunchTemplate": "remove the launch templates of a deleted pool",
    };
    CREATE_EC2_TAGS = write("ec2:CreateTags") => {
        "ec2:CreateTags": "tag what a pool makes as its own",
    };
    DELETE_EC2_TAGS = write("ec2:DeleteTags") => {
        "ec2:DeleteTags": "take tags off a launch template that the pool no longer asks for",
    };
    CREATE_GROUP = write("autoscaling:CreateAutoScalingGroup") => {
        "autoscaling:CreateAutoScalingGroup": "make a pool's group",
        "autoscaling:CreateOrUpdateTags": "tag a group as the pool's",
        "ec2:RunInstances": "Auto Scaling checks that its caller may launch what the template describes",
        "ec2:CreateTags": "tag what a pool makes as its own",
        "iam:PassRole": "give instances the cluster's worker profile",
        "iam:CreateServiceLinkedRole": "let Auto Scaling and Spot work in an account that never used them",
    };
    UPDATE_GROUP = write("autoscaling:UpdateAutoScalingGroup") => {
        "autoscaling:UpdateAutoScalingGroup": "change a group's bounds, count, subnets and template",
        "ec2:RunInstances": "Auto Scaling checks that its caller may launch what the template describes",
        "ec2:CreateTags": "tag what a pool makes as its own",
        "iam:PassRole": "give instances the cluster's worker profile",
    };
    DELETE_GROUP = write("autoscaling:DeleteAutoScalingGroup") => {
        "autoscaling:DeleteAutoScalingGroup": "remove the group of a deleted pool",
    };
    TAG_GROUP = write("autoscaling:CreateOrUpdateTags") => {
        "autoscaling:CreateOrUpdateTags": "tag a group as the pool's",
    };
    UNTAG_GROUP = write("autoscaling:DeleteTags") => {
        "autoscaling:DeleteTags": "take tags off a group that the pool no longer asks for",
    };
    SUSPEND_PROCESSES = write("autoscaling:SuspendProcesses") => {
        "autoscaling:SuspendProcesses": "keep AWS from ending members to even out zones",
    };
    RESUME_PROCESSES = write("autoscaling:ResumeProcesses") => {
        "autoscaling:ResumeProcesses": "resume what somebody else suspended and a pool needs",
    };
    PUT_POLICY = write("autoscaling:PutScalingPolicy") => {
        "autoscaling:PutScalingPolicy": "scale a pool by CPU",
    };
    DELETE_POLICY = write("autoscaling:DeletePolicy") => {
        "autoscaling:DeletePolicy": "stop scaling a pool by CPU",
    };
    START_REFRESH = write("autoscaling:StartInstanceRefresh").once() => {
        "autoscaling:StartInstanceRefresh": "roll a pool's instances",
        "ec2:RunInstances": "Auto Scaling checks that its caller may launch what the template describes",
    };
    CANCEL_REFRESH = write("autoscaling:CancelInstanceRefresh") => {
        "autoscaling:CancelInstanceRefresh": "stop a roll that the pool's inputs have overtaken",
    };
    PUT_HOOK = write("autoscaling:PutLifecycleHook") => {
        "autoscaling:PutLifecycleHook": "hold an instance that AWS ends until its Node is drained",
    };
    DELETE_HOOK = write("autoscaling:DeleteLifecycleHook") => {
        "autoscaling:DeleteLifecycleHook": "let ends of instances go once a pool has no Machines",
    };
    // Naming one instance, and a decrement that must not happen twice.
    END_INSTANCE = write("autoscaling:TerminateInstanceInAutoScalingGroup").once() => {
        "autoscaling:TerminateInstanceInAutoScalingGroup": "end the instance of a deleted Machine",
    };
    COMPLETE_HOOK = write("autoscaling:CompleteLifecycleAction") => {
        "autoscaling:CompleteLifecycleAction": "let a drained instance go",
    };
    PROLONG_HOOK = write("autoscaling:RecordLifecycleActionHeartbeat") => {
        "autoscaling:RecordLifecycleActionHeartbeat": "hold an instance whose drain takes longer",
    };
    SET_PROTECTION = write("autoscaling:SetInstanceProtection") => {
        "autoscaling:SetInstanceProtection": "take off a protection that holds up a teardown",
    };
}
