//! Azure's bounds and Remuda's own figures for Azure pools, each with its source.

/// Characters of a set name before its hash (Azure document 3.1).
pub const SET_BASE_CHARS: usize = 41;

/// Hex digits of the hash in a set name (Azure document 3.1).
pub const SET_HASH_CHARS: usize = 8;

/// Instances of a set made from a gallery image (Azure document 2.2).
pub const SET_INSTANCES: i64 = 1000;

/// `additional_tags` of a pool: 44 of the 50 tags Azure allows on a resource (Azure document 2.1).
pub const ADDITIONAL_TAGS: usize = 44;

/// Tags of a resource (Azure Resource Manager, "Tag limitations").
pub const TAGS: usize = 50;

/// Characters of a tag name (Azure Resource Manager, "Tag limitations").
pub const TAG_KEY_CHARS: usize = 512;

/// Characters of a tag value (Azure Resource Manager, "Tag limitations").
pub const TAG_VALUE_CHARS: usize = 256;

/// Characters that stay of a longer tag value, before `-` and the digest (Azure document 3.2).
pub const TAG_VALUE_KEPT_CHARS: usize = 247;

/// Hex digits of the digest in a shortened tag value (Azure document 3.2).
pub const TAG_DIGEST_CHARS: usize = 8;

/// Characters of `customData`: base64 of 65,535 bytes (Azure document 6.5).
pub const CUSTOM_DATA_CHARS: usize = 87_380;

/// Characters of a line of the payload in the MIME message (RFC 2045, section 6.8).
pub const MIME_LINE_CHARS: usize = 76;

/// When to look again at something Azure is busy with, unless Azure says otherwise (Azure document
/// 4.6).
pub const LOOK_AGAIN_SECONDS: u32 = 10;

/// How long an operation may run (Azure document 4.6: set create, update and delete).
pub const OPERATION_SECONDS: i64 = 3600;

/// How long an operation whose address answers 404 counts as running (Azure document 4.6, "a
/// bounded time"). Ours: Azure's own replicas agree within seconds.
pub const LOST_OPERATION_SECONDS: i64 = 120;
