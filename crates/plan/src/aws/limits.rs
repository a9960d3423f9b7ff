//! AWS's bounds and Remuda's own figures for AWS pools, each with its source.

/// Bytes of EC2 user data before base64 (EC2 user guide, "Instance user data": 16 KB).
pub const USER_DATA_BYTES: usize = 16_384;

/// Bytes the boot stub may have without labels (AWS document 7.2), so that no label set which the
/// module accepts is refused.
pub const STUB_BYTES: usize = 5_200;

/// Characters of a group name before its hash (AWS document 3.1).
pub const GROUP_BASE_CHARS: usize = 54;

/// Hex digits of the hash in a group name (AWS document 3.1).
pub const GROUP_HASH_CHARS: usize = 8;

/// Characters of a launch template's version description (EC2 API, `VersionDescription`).
pub const DESCRIPTION_CHARS: usize = 255;

/// Hex digits of the roll digest in a template name (AWS document 3.1).
pub const ROLL_DIGEST_CHARS: usize = 11;

/// `additional_tags` of a pool: 40 of the 50 tags AWS allows on a resource (AWS document 2.4).
pub const ADDITIONAL_TAGS: usize = 40;

/// Characters of a tag key (EC2 user guide, "Tag restrictions").
pub const TAG_KEY_CHARS: usize = 128;

/// Characters of a tag value (EC2 user guide, "Tag restrictions").
pub const TAG_VALUE_CHARS: usize = 256;

/// Instance ids a `SetInstanceProtection` call takes (Auto Scaling API).
pub const PROTECTION_IDS: usize = 50;

/// `HealthCheckGracePeriod` of a group (AWS document 4.4: what pools have today).
pub const HEALTH_CHECK_GRACE_SECONDS: i64 = 300;

/// Tries of the boot stub to fetch the payload (AWS document 7.2).
pub const FETCH_ATTEMPTS: u32 = 60;

/// Pause between two tries of the boot stub (AWS document 7.2).
pub const FETCH_PAUSE_SECONDS: u32 = 5;

/// When to look again at a refresh that is being cancelled: ours, because a cancellation takes
/// seconds and another pool must not wait for it.
pub const REFRESH_LOOK_AGAIN_SECONDS: u32 = 5;

/// When to look again at a group whose instances terminate: ours; a termination takes about a
/// minute.
pub const DRAIN_LOOK_AGAIN_SECONDS: u32 = 10;

/// When to look again at instances that were told to end: ours; the hook holds each for a moment,
/// and answering it is what ends it.
pub const END_LOOK_AGAIN_SECONDS: u32 = 5;

/// A hold is prolonged after this part of its heartbeat timeout: ours, so that one that is lost is
/// made up for by the next.
pub const HEARTBEAT_SHARE: i64 = 3;

/// From a Spot interruption notice to the end of the instance (EC2 user guide, "Spot Instance
/// interruption notices").
pub const SPOT_NOTICE_SECONDS: i64 = 120;

/// Heartbeats of one hold that AWS takes (Auto Scaling API, `PutLifecycleHook`: the whole wait is at
/// most 100 times the heartbeat timeout).
pub const HEARTBEATS: i64 = 100;

/// When to look again at a group that AWS is deleting: ours.
pub const DELETE_LOOK_AGAIN_SECONDS: u32 = 5;

/// Refresh ids remembered when a roll begins: ours; one would do, since a group runs one refresh
/// at a time.
pub const REFRESHES_REMEMBERED: usize = 5;
