//! What does exist on AWS.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use super::desired::{ImageQuery, TemplateData};
use crate::{
    error::CloudFailure,
    pool::{members::Member, read::Read},
};

/// What to look at; built from `Desired` or, for deletion and refreshes, from the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Handle {
    /// Region.
    pub region: String,
    /// Group name.
    pub group_name: String,
    /// Launch template names start with this: `<group name>-`.
    pub template_prefix: String,
    /// Payload object: bucket and key.
    pub payload: Option<(String, String)>,
    /// Old payload object after a bucket change: bucket and key.
    pub old_payload: Option<(String, String)>,
    /// Image to look up.
    pub image: Option<ImageQuery>,
    /// The lifecycle hook is read with everything: a pool with Machines needs it, and one without a
    /// record may have left it behind.
    pub hook: bool,
    /// Set with pool Machines: why instances leave is read whenever some are held. These are
    /// explained already.
    pub explained: Option<BTreeSet<String>>,
}

/// Everything observed of one pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Observed {
    /// The group, `None` when it does not exist.
    pub group: Read<Option<Group>>,
    /// Instances by the group's name tag, sorted by provider id, those that shut down included.
    pub instances: Read<Vec<Instance>>,
    /// Our CPU policy.
    pub policy: Read<Option<Policy>>,
    /// Launch templates whose name starts with the prefix, by name.
    pub templates: Read<BTreeMap<String, Template>>,
    /// The payload object; `None` when it does not exist.
    pub payload: Read<Option<PayloadHead>>,
    /// The old payload object.
    pub old_payload: Read<Option<PayloadHead>>,
    /// The newest matching image; `None` when nothing matches.
    pub image: Read<Option<String>>,
    /// The newest instance refreshes of the group, newest first.
    pub refreshes: Read<Vec<Refresh>>,
    /// Failed scaling activities of the last hour, newest first; asked for when short of members.
    pub failed_activities: Read<Vec<Activity>>,
    /// Our lifecycle hook.
    pub hook: Read<Option<Hook>>,
    /// Why instances leave, by instance id: asked for when some are held and not explained.
    pub departures: Read<BTreeMap<String, Departure>>,
}

impl Observed {
    /// Members: the instances that neither shut down nor are gone.
    ///
    /// # Errors
    /// The failed read.
    pub fn members(&self) -> Result<Vec<Member>, CloudFailure> {
        let instances = self.instances.needed("members")?;
        let staying = instances.iter().filter(|instance| !instance.ending);
        Ok(staying.map(|instance| instance.member.clone()).collect())
    }
}

/// A time as EC2 writes it: `2026-11-30T10:00:00.000Z`.
pub fn time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// A time as the SDK holds it: seconds since the epoch.
pub fn time_of_seconds(seconds: i64) -> Option<Timestamp> {
    Timestamp::from_second(seconds).ok()
}

/// An instance as EC2 shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Instance {
    /// What a pool publishes of it.
    pub member: Member,
    /// It shuts down: no member any more.
    pub ending: bool,
    /// Of the Spot market.
    pub interruptible: bool,
    /// `LaunchTime`.
    pub launched_at: Option<Timestamp>,
}

/// A lifecycle hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hook {
    /// `autoscaling:EC2_INSTANCE_TERMINATING`.
    pub transition: String,
    /// `HeartbeatTimeout`.
    pub heartbeat_seconds: i64,
    /// `CONTINUE`.
    pub default_result: String,
}

/// A termination under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Departure {
    /// When it began.
    pub since: Option<Timestamp>,
    /// AWS's own words.
    pub cause: String,
}

/// An Auto Scaling group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// Name.
    pub name: String,
    /// ARN.
    pub arn: String,
    /// Bounds and desired capacity.
    pub min_size: i64,
    /// Upper bound.
    pub max_size: i64,
    /// Desired capacity.
    pub desired_capacity: i64,
    /// Launch template id, when the group names a template: `lt-…`.
    pub template_id: Option<String>,
    /// Launch template name, when the group names one.
    pub template_name: Option<String>,
    /// Launch template version as the group names it: `$Latest`.
    pub template_version: Option<String>,
    /// Subnets of `VPCZoneIdentifier`.
    pub subnets: BTreeSet<String>,
    /// Zones of the subnets, as AWS lists them.
    pub zones: BTreeSet<String>,
    /// `CapacityRebalance`.
    pub capacity_rebalance: bool,
    /// `EC2`.
    pub health_check_type: String,
    /// Seconds.
    pub health_check_grace_period_seconds: i64,
    /// `NewInstancesProtectedFromScaleIn`.
    pub new_instances_protected: bool,
    /// Tags: key to (value, propagates).
    pub tags: BTreeMap<String, (String, bool)>,
    /// Names of suspended processes.
    pub suspended: BTreeSet<String>,
    /// Instances the group itself lists (terminating ones included).
    pub instances: Vec<GroupInstance>,
    /// `Delete in progress` while a delete runs.
    pub status: Option<String>,
}

/// An instance as the group lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroupInstance {
    /// Instance id.
    pub instance_id: String,
    /// `InService`, `Terminating:Wait`, ...
    pub lifecycle_state: String,
    /// Protected from scale-in.
    pub protected: bool,
    /// Launch template name, when known.
    pub template_name: Option<String>,
    /// Launch template version, when known.
    pub template_version: Option<String>,
}

/// A target-tracking policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Policy {
    /// Policy type.
    pub policy_type: String,
    /// Predefined metric.
    pub metric: String,
    /// Target.
    pub target_value: f64,
}

/// A launch template with its newest version.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Template {
    /// `lt-…`.
    pub id: String,
    /// Name.
    pub name: String,
    /// Default version number.
    pub default_version: i64,
    /// Latest version number.
    pub latest_version: i64,
    /// Tags of the template object.
    pub tags: BTreeMap<String, String>,
    /// Data of the latest version, read back into our shape; `None` when it was not read.
    pub data: Option<TemplateData>,
    /// Fields of the data that we never set, by name: drift of their own.
    pub foreign_fields: Vec<String>,
}

/// A staged payload as `HeadObject` and `GetObjectTagging` show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PayloadHead {
    /// Bytes.
    pub content_length: i64,
    /// Lower-case hex MD5 in quotes; `None` where an ETag is no digest of the bytes: objects put in
    /// several parts, or encrypted otherwise than by S3's own keys.
    pub etag: Option<String>,
    /// Object tags.
    pub tags: BTreeMap<String, String>,
}

/// An instance refresh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refresh {
    /// Id.
    pub id: String,
    /// `Pending`, `InProgress`, `Successful`, `Failed`, `Cancelling`, `Cancelled`, `Baking`, ...
    pub status: String,
    /// Why, when AWS says.
    pub status_reason: Option<String>,
    /// Percent done.
    pub percentage_complete: Option<i64>,
}

/// A failed scaling activity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// Id.
    pub id: String,
    /// AWS's message: why the launch failed.
    pub status_message: String,
}
