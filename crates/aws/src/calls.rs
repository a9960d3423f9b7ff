//! Every AWS call that is made, as data: its name, whether it changes something, and which ceiling
//! it counts against. A call that is not listed here can't be made.

use remuda_cloud::{budget::Ceiling, retry::Repeat};

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

/// One AWS call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// In AWS's words: `autoscaling:UpdateAutoScalingGroup`.
    pub(crate) name: &'static str,
    /// Ceiling it counts against.
    pub(crate) bucket: &'static str,
    /// It changes something.
    pub(crate) mutating: bool,
    /// What a lost answer allows.
    pub(crate) repeat: Repeat,
}

impl Call {
    /// The service: `autoscaling`.
    pub(crate) fn service(&self) -> &'static str {
        self.name.split_once(':').map_or("", |(service, _)| service)
    }

    /// The action without the service: `UpdateAutoScalingGroup`.
    pub(crate) fn action(&self) -> &'static str {
        self.name.split_once(':').map_or(self.name, |(_, a)| a)
    }
}

const fn read(name: &'static str, bucket: &'static str) -> Call {
    Call {
        name,
        bucket,
        mutating: false,
        repeat: Repeat::Harmless,
    }
}

const fn write(name: &'static str) -> Call {
    Call {
        name,
        bucket: bucket::WRITES,
        mutating: true,
        repeat: Repeat::Harmless,
    }
}

const fn write_once(name: &'static str) -> Call {
    Call {
        name,
        bucket: bucket::WRITES,
        mutating: true,
        repeat: Repeat::LookFirst,
    }
}

macro_rules! calls {
    ($($name:ident = $call:expr;)*) => { $(pub(crate) static $name: Call = $call;)* };
}

calls! {
    DESCRIBE_GROUPS = read("autoscaling:DescribeAutoScalingGroups", bucket::GROUPS);
    DESCRIBE_POLICIES = read("autoscaling:DescribePolicies", bucket::AUTOSCALING_READS);
    DESCRIBE_REFRESHES = read("autoscaling:DescribeInstanceRefreshes", bucket::AUTOSCALING_READS);
    DESCRIBE_HOOKS = read("autoscaling:DescribeLifecycleHooks", bucket::AUTOSCALING_READS);
    DESCRIBE_ACTIVITIES = read("autoscaling:DescribeScalingActivities", bucket::AUTOSCALING_READS);
    DESCRIBE_INSTANCES = read("ec2:DescribeInstances", bucket::INSTANCES);
    DESCRIBE_IMAGES = read("ec2:DescribeImages", bucket::EC2_READS);
    DESCRIBE_TEMPLATES = read("ec2:DescribeLaunchTemplates", bucket::EC2_READS);
    DESCRIBE_TEMPLATE_VERSIONS = read("ec2:DescribeLaunchTemplateVersions", bucket::EC2_READS);
    HEAD_OBJECT = read("s3:HeadObject", bucket::S3_READS);
    GET_OBJECT_TAGGING = read("s3:GetObjectTagging", bucket::S3_READS);
    ASSUME_ROLE = read("sts:AssumeRole", "sts");
    CALLER_IDENTITY = read("sts:GetCallerIdentity", "sts");
    DESCRIBE_SUBNETS = read("ec2:DescribeSubnets", bucket::EC2_READS);
    DESCRIBE_ACCOUNT_LIMITS = read("autoscaling:DescribeAccountLimits", bucket::AUTOSCALING_READS);
    // A dry run, which changes nothing.
    TRY_CREATE_TEMPLATE = read("ec2:CreateLaunchTemplate", bucket::WRITES);

    PUT_OBJECT = write("s3:PutObject");
    PUT_OBJECT_TAGGING = write("s3:PutObjectTagging");
    DELETE_OBJECT = write("s3:DeleteObject");
    CREATE_TEMPLATE = write("ec2:CreateLaunchTemplate");
    CREATE_TEMPLATE_VERSION = write_once("ec2:CreateLaunchTemplateVersion");
    MODIFY_TEMPLATE = write("ec2:ModifyLaunchTemplate");
    DELETE_TEMPLATE = write("ec2:DeleteLaunchTemplate");
    CREATE_EC2_TAGS = write("ec2:CreateTags");
    DELETE_EC2_TAGS = write("ec2:DeleteTags");
    CREATE_GROUP = write("autoscaling:CreateAutoScalingGroup");
    UPDATE_GROUP = write("autoscaling:UpdateAutoScalingGroup");
    DELETE_GROUP = write("autoscaling:DeleteAutoScalingGroup");
    TAG_GROUP = write("autoscaling:CreateOrUpdateTags");
    UNTAG_GROUP = write("autoscaling:DeleteTags");
    SUSPEND_PROCESSES = write("autoscaling:SuspendProcesses");
    RESUME_PROCESSES = write("autoscaling:ResumeProcesses");
    PUT_POLICY = write("autoscaling:PutScalingPolicy");
    DELETE_POLICY = write("autoscaling:DeletePolicy");
    START_REFRESH = write_once("autoscaling:StartInstanceRefresh");
    CANCEL_REFRESH = write("autoscaling:CancelInstanceRefresh");
    PUT_HOOK = write("autoscaling:PutLifecycleHook");
    DELETE_HOOK = write("autoscaling:DeleteLifecycleHook");
    // Naming one instance, and a decrement that must not happen twice.
    END_INSTANCE = write_once("autoscaling:TerminateInstanceInAutoScalingGroup");
    COMPLETE_HOOK = write("autoscaling:CompleteLifecycleAction");
    PROLONG_HOOK = write("autoscaling:RecordLifecycleActionHeartbeat");
    SET_PROTECTION = write("autoscaling:SetInstanceProtection");
}
