//! Every bound and figure, each with its source.

/// Seconds between two drift checks unless someone says otherwise (captf document 1.9, 3.5).
pub const DRIFT_INTERVAL_SECONDS: u32 = 1800;

/// Seconds between two membership refreshes unless someone says otherwise (captf document, MEM-2).
pub const MEMBERSHIP_INTERVAL_SECONDS: u32 = 60;

/// Seconds between two refreshes while members and wish disagree (captf document, MEM-3).
pub const CONVERGING_INTERVAL_SECONDS: u32 = 30;

/// Every interval gains up to this many percent, derived from the UID (captf document, MEM-5).
pub const JITTER_PERCENT: u64 = 10;

/// First retry after a failed operation (captf document 2.15).
pub const RETRY_FIRST_SECONDS: u32 = 60;

/// Longest wait between two tries (captf document 2.15).
pub const RETRY_CAP_SECONDS: u32 = 600;

/// Failed tries after which the longest wait applies (captf document 1.4, 2.15).
pub const FAILED_HISTORY_LIMIT: u32 = 3;

/// Overall deadline of an operation (captf document 1.4).
pub const OPERATION_DEADLINE_SECONDS: u32 = 3600;

/// Lock timeout: only compared with the deadline (captf document 1.4).
pub const LOCK_TIMEOUT_SECONDS: u32 = 300;

/// Rendered inputs and variables together (captf document, HASH-5).
pub const INPUTS_BYTES: usize = 1_000_000;

/// Entries of `spec.providerIDList` (captf document 2.2).
pub const PROVIDER_IDS: usize = 10_000;

/// Characters of a provider id (captf document 2.2).
pub const PROVIDER_ID_CHARS: usize = 512;

/// Entries of `status.instances` (captf document 2.2).
pub const INSTANCES: usize = 1_000;

/// Resources named in `status.lastRun.drift` (captf document, DRF-2).
pub const DRIFT_RESOURCES: usize = 20;

/// Bytes of `status.lastRun.error.summary` (captf document 1.5).
pub const ERROR_SUMMARY_BYTES: usize = 512;

/// Seconds between the two reads that confirm an empty list (captf document, LST-9).
pub const EMPTY_CONFIRM_SECONDS: u32 = 15;

/// Keys of `spec.variables` (captf document, VAR-9).
pub const INLINE_VARIABLES: usize = 256;

/// Entries of `spec.variablesFrom` (captf document, VAR-9).
pub const VARIABLE_SOURCES: usize = 16;

/// Characters of an operation's name (captf document 6.3).
pub const JOB_NAME_CHARS: usize = 57;

/// Characters of `spec.source.image` (captf document 1.3).
pub const IMAGE_CHARS: usize = 512;

/// Longest wait after a throttled or transient answer (AWS document, A-1).
pub const THROTTLE_CAP_SECONDS: u32 = 60;

/// How long throttling counts as nobody's failure (AWS document, A-1).
pub const THROTTLE_GRACE_SECONDS: u32 = 300;

/// Shortest wait when something else is at work on the object (AWS document, A-3).
pub const CONTENDED_FIRST_SECONDS: u32 = 5;

/// What the UID adds to it at most (AWS document, A-3: 5 to 15 s).
pub const CONTENDED_SPREAD_SECONDS: u32 = 10;

/// Wait where an operator must act: a missing right, a quota (AWS document, A-7, A-9).
pub const OPERATOR_RETRY_SECONDS: u32 = 300;

/// First wait while a region or zone has no room (Azure document 10.3): it doubles.
pub const CAPACITY_FIRST_SECONDS: u32 = 300;

/// Longest of these waits (Azure document 10.3).
pub const CAPACITY_CAP_SECONDS: u32 = 1800;

/// Wait where what was asked for can't be met together (Azure document 10.3).
pub const CONSTRAINT_RETRY_SECONDS: u32 = 1800;

/// Wait while a lock holds an object (Azure document 10.3).
pub const LOCKED_RETRY_SECONDS: u32 = 600;

/// Wait while the cloud needs a moment for what was just made.
/// Ours: eight tries within the two minutes of AWS document A-11.
pub const NOT_READY_RETRY_SECONDS: u32 = 15;

/// How long that is believed (AWS document, A-11, A-12).
pub const NOT_READY_SECONDS: u32 = 120;

/// Wait after a Kubernetes read or write that failed. Ours: the API server's usual restart.
pub const KUBERNETES_RETRY_SECONDS: u32 = 15;

/// Wait for objects that no watch covers: bootstrap and identity Secrets (captf document, IDN-4).
pub const UNWATCHED_RETRY_SECONDS: u32 = 30;

/// Longest time without a pass (captf document 2.15: informer resync).
pub const RESYNC_SECONDS: u32 = 600;

/// Characters of an instance id, a zone or an address (captf document 1.5).
pub const SHORT_TEXT_CHARS: usize = 256;

/// Addresses of an instance (captf document 1.5).
pub const ADDRESSES: usize = 256;

/// Characters of a resource name in `status.lastRun.drift` (captf document 1.5).
pub const DRIFT_RESOURCE_CHARS: usize = 512;

/// How long a group may be short of members before failed launches are told (AWS document 10.3,
/// the first tries often fail and the next succeed.
pub const LAUNCH_FAILURE_GRACE_SECONDS: u32 = 600;

/// The same where no member is desired: only a second read is asked for (captf document, LST-9).
/// Ours: a second, so that the two reads are two.
pub const EMPTY_WANTED_CONFIRM_SECONDS: u32 = 1;

/// How long a new member may take to be available before it stops a roll. Ours: as long as the
/// core's default node startup timeout (Cluster API document, 1.5).
pub const ROLL_PATIENCE_SECONDS: u32 = 600;

/// How soon a group is looked at again while Machines of it come or go. Ours: the age of a sweep
/// while something converges (AWS document, 10.1).
pub const MACHINES_SECONDS: u32 = 10;
