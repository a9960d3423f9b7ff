//! One variant a cloud call. The backend has one arm a variant; all are safe to repeat.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::desired::{GroupSpec, PayloadSpec, TemplateData};

/// One AWS call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Action {
    /// `s3:PutObject`.
    PutPayload(PayloadSpec),
    /// `s3:PutObjectTagging`.
    TagPayload {
        /// Bucket.
        bucket: String,
        /// Key.
        key: String,
        /// The complete set.
        tags: BTreeMap<String, String>,
    },
    /// `s3:DeleteObject`; a missing bucket or key is success.
    DeletePayload {
        /// Bucket.
        bucket: String,
        /// Key.
        key: String,
    },
    /// `ec2:CreateLaunchTemplate`; the client token derives from the name.
    CreateTemplate {
        /// Name.
        name: String,
        /// Version description.
        description: String,
        /// Complete data.
        data: TemplateData,
        /// Tags of the template object.
        tags: BTreeMap<String, String>,
    },
    /// `ec2:CreateLaunchTemplateVersion` with complete data.
    CreateTemplateVersion {
        /// Name.
        name: String,
        /// Version description.
        description: String,
        /// Complete data.
        data: TemplateData,
    },
    /// `ec2:ModifyLaunchTemplate`.
    SetDefaultVersion {
        /// Name.
        name: String,
        /// Version number.
        version: i64,
    },
    /// `ec2:CreateTags` on a launch template.
    TagTemplate {
        /// `lt-…`.
        id: String,
        /// Tags to set.
        tags: BTreeMap<String, String>,
    },
    /// `ec2:DeleteTags` on a launch template.
    UntagTemplate {
        /// `lt-…`.
        id: String,
        /// Keys to remove.
        keys: BTreeSet<String>,
    },
    /// `ec2:DeleteLaunchTemplate` by name; not found is success.
    DeleteTemplate {
        /// Name.
        name: String,
    },
    /// `autoscaling:CreateAutoScalingGroup`.
    CreateGroup {
        /// The group.
        group: GroupSpec,
        /// Launch template name; the version is `$Latest`.
        template_name: String,
    },
    /// `autoscaling:UpdateAutoScalingGroup`; only what is set is sent.
    UpdateGroup(GroupUpdate),
    /// `autoscaling:CreateOrUpdateTags`, none propagating.
    TagGroup {
        /// Group name.
        group: String,
        /// Tags to set.
        tags: BTreeMap<String, String>,
    },
    /// `autoscaling:DeleteTags`.
    UntagGroup {
        /// Group name.
        group: String,
        /// Keys to remove.
        keys: BTreeSet<String>,
    },
    /// `autoscaling:SuspendProcesses`.
    SuspendProcesses {
        /// Group name.
        group: String,
        /// Process names.
        processes: BTreeSet<String>,
    },
    /// `autoscaling:ResumeProcesses`.
    ResumeProcesses {
        /// Group name.
        group: String,
        /// Process names.
        processes: BTreeSet<String>,
    },
    /// `autoscaling:PutScalingPolicy`, the CPU target tracking policy.
    PutCpuPolicy {
        /// Group name.
        group: String,
        /// Percent.
        target_percent: f64,
    },
    /// `autoscaling:DeletePolicy`, ours; not found is success.
    DeleteCpuPolicy {
        /// Group name.
        group: String,
    },
    /// `autoscaling:StartInstanceRefresh` (AWS document 4.7).
    StartRefresh {
        /// Group name.
        group: String,
        /// `InstanceWarmup`.
        warmup_seconds: u32,
    },
    /// `autoscaling:CancelInstanceRefresh`; none active is success.
    CancelRefresh {
        /// Group name.
        group: String,
    },
    /// `autoscaling:PutLifecycleHook`, ours: terminating, `CONTINUE`.
    PutHook {
        /// Group name.
        group: String,
        /// `HeartbeatTimeout`.
        heartbeat_seconds: i64,
    },
    /// `autoscaling:DeleteLifecycleHook`, ours; what it holds goes on. Not found is success.
    DeleteHook {
        /// Group name.
        group: String,
    },
    /// `autoscaling:TerminateInstanceInAutoScalingGroup`; gone already is success.
    EndInstance {
        /// Group name.
        group: String,
        /// Instance id.
        instance_id: String,
        /// `ShouldDecrementDesiredCapacity`: no replacement.
        decrement: bool,
    },
    /// `autoscaling:CompleteLifecycleAction` with `CONTINUE` at our hook; no action is success.
    CompleteHook {
        /// Group name.
        group: String,
        /// Instance id.
        instance_id: String,
    },
    /// `autoscaling:RecordLifecycleActionHeartbeat` at our hook; no action is success.
    ProlongHook {
        /// Group name.
        group: String,
        /// Instance id.
        instance_id: String,
    },
    /// `autoscaling:SetInstanceProtection(false)`, at most 50 ids.
    UnprotectInstances {
        /// Group name.
        group: String,
        /// Instance ids.
        instance_ids: BTreeSet<String>,
    },
    /// `autoscaling:DeleteAutoScalingGroup` without force; not found is success.
    DeleteGroup {
        /// Group name.
        group: String,
    },
}

/// Fields of an update; `None` leaves the field as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GroupUpdate {
    /// Group name.
    pub group: String,
    /// Lower bound.
    pub min_size: Option<i64>,
    /// Upper bound.
    pub max_size: Option<i64>,
    /// Desired capacity.
    pub desired_capacity: Option<i64>,
    /// Launch template name, with version `$Latest`.
    pub template_name: Option<String>,
    /// Subnets.
    pub subnets: Option<BTreeSet<String>>,
    /// `CapacityRebalance`.
    pub capacity_rebalance: Option<bool>,
    /// `HealthCheckType`.
    pub health_check_type: Option<String>,
    /// Seconds.
    pub health_check_grace_period_seconds: Option<i64>,
    /// `NewInstancesProtectedFromScaleIn`.
    pub new_instances_protected: Option<bool>,
}
