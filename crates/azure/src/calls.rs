//! Every ARM call that is made, as data: its name, whether it changes something, which ceilings it
//! counts against, which permissions it needs and which API version it speaks. A call that is not listed here can't be made.

use remuda_cloud::{budget::Ceiling, calls, calls::Call};

/// API versions (Azure document 0.2).
pub(crate) mod version {
    /// Scale sets and their instances; the version of the published examples.
    pub(crate) const COMPUTE: &str = "2024-11-01";
    /// Galleries: a line of versions of its own (Azure REST specifications, Compute, GalleryRP).
    pub(crate) const GALLERY: &str = "2024-03-03";
    /// Autoscale settings.
    pub(crate) const INSIGHTS: &str = "2022-10-01";
    /// What a caller may do.
    pub(crate) const AUTHORIZATION: &str = "2022-04-01";
    /// Virtual networks.
    pub(crate) const VIRTUAL_NETWORKS: &str = "2024-05-01";
    /// Network interfaces of a whole set. Not tried on a live account (document 15, question 7).
    pub(crate) const NETWORK: &str = "2018-10-01";
}

/// Ceilings are kept per bucket (Azure document 10.5): ARM's own three, and one a policy.
pub mod bucket {
    /// All reads through ARM.
    pub const ARM_READS: &str = "arm reads";
    /// All creates, updates and actions through ARM.
    pub const ARM_WRITES: &str = "arm writes";
    /// All deletes through ARM.
    pub const ARM_DELETES: &str = "arm deletes";
    /// Compute: a set is put.
    pub const SET_PUT: &str = "compute set put";
    /// Compute: a set is patched.
    pub const SET_PATCH: &str = "compute set patch";
    /// Compute: a set is deleted.
    pub const SET_DELETE: &str = "compute set delete";
    /// Compute: one set is read.
    pub const SET_GET: &str = "compute set get";
    /// Compute: sets or instances are listed.
    pub const LISTS: &str = "compute lists";
    /// Compute: instances of a set are deleted.
    pub const INSTANCE_WRITES: &str = "compute instance writes";
    /// Compute: an operation is looked at.
    pub const OPERATION_GET: &str = "compute operation get";
    /// Network: reads.
    pub const NETWORK_READS: &str = "network reads";
    /// Authorization: reads.
    pub const AUTHORIZATION_READS: &str = "authorization reads";
    /// Insights: reads.
    pub const INSIGHTS_READS: &str = "insights reads";
    /// Insights: writes.
    pub const INSIGHTS_WRITES: &str = "insights writes";
}

/// The client-side ceilings of the Azure document, 10.5, per subscription and region:
/// the subscription's share of each policy. What a single set allows (4 patches a minute) is left
/// to its answers: nothing Remuda does comes near it.
pub fn default_ceilings() -> Vec<(&'static str, Ceiling)> {
    let a_second = |per_second, burst| Ceiling { per_second, burst };
    let a_minute = |refill: f64, burst| Ceiling {
        per_second: refill / 60.0,
        burst,
    };
    vec![
        (bucket::ARM_READS, a_second(25.0, 250.0)),
        (bucket::ARM_WRITES, a_second(10.0, 200.0)),
        (bucket::ARM_DELETES, a_second(10.0, 200.0)),
        (bucket::SET_PUT, a_minute(125.0, 375.0)),
        (bucket::SET_PATCH, a_minute(500.0, 1_500.0)),
        (bucket::SET_DELETE, a_minute(175.0, 525.0)),
        (bucket::SET_GET, a_minute(800.0, 2_400.0)),
        (bucket::LISTS, a_minute(360.0, 1_080.0)),
        (bucket::INSTANCE_WRITES, a_minute(500.0, 1_500.0)),
        (bucket::OPERATION_GET, a_minute(5_000.0, 15_000.0)),
        (bucket::NETWORK_READS, a_minute(2_000.0, 10_000.0)),
    ]
}

/// What ARM counts for each principal by itself (Azure document 10.5); the resource providers count
/// for the subscription, whoever asks.
pub(crate) const PER_PRINCIPAL: &[&str] =
    &[bucket::ARM_READS, bucket::ARM_WRITES, bucket::ARM_DELETES];

/// The HTTP method of a call.
pub(crate) fn method(call: &Call) -> http::Method {
    match call.name.split_once(' ') {
        Some(("PUT", _)) => http::Method::PUT,
        Some(("PATCH", _)) => http::Method::PATCH,
        Some(("DELETE", _)) => http::Method::DELETE,
        Some(("POST", _)) => http::Method::POST,
        _ => http::Method::GET,
    }
}

calls! {
    LIST_SETS = Call::read("LIST virtualMachineScaleSets", &[bucket::ARM_READS, bucket::LISTS]) => {
        "Microsoft.Compute/virtualMachineScaleSets/read": "find the scale sets of each pool",
    };
    GET_SET = Call::read("GET virtualMachineScaleSets", &[bucket::ARM_READS, bucket::SET_GET]) => {
        "Microsoft.Compute/virtualMachineScaleSets/read": "find the scale sets of each pool",
    };
    LIST_INSTANCES = Call::read("LIST virtualMachines", &[bucket::ARM_READS, bucket::LISTS]) => {
        "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read":
            "know the members of a pool",
        "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/instanceView/read":
            "know the state of each member",
    };
    GET_IMAGE = Call::read("GET images", &[bucket::ARM_READS, bucket::SET_GET]) => {
        "Microsoft.Compute/images/read": "see whether a pool's image exists",
        "Microsoft.Compute/galleries/images/read": "see whether a pool's image exists in a gallery",
        "Microsoft.Compute/galleries/images/versions/read":
            "see whether a pool's image exists in a gallery",
        "Microsoft.Compute/locations/communityGalleries/images/read":
            "see whether a pool's image exists in a community gallery",
        "Microsoft.Compute/locations/communityGalleries/images/versions/read":
            "see whether a pool's image exists in a community gallery",
        "Microsoft.Compute/locations/sharedGalleries/images/read":
            "see whether a pool's image exists in a gallery shared with the tenant",
        "Microsoft.Compute/locations/sharedGalleries/images/versions/read":
            "see whether a pool's image exists in a gallery shared with the tenant",
    };
    LIST_NICS = Call::read("LIST networkInterfaces", &[bucket::ARM_READS, bucket::NETWORK_READS]) => {
        "Microsoft.Compute/virtualMachineScaleSets/networkInterfaces/read":
            "know the addresses of a pool's members",
    };
    LIST_SETTINGS = Call::read("LIST autoscalesettings", &[bucket::ARM_READS, bucket::INSIGHTS_READS]) => {
        "Microsoft.Insights/AutoscaleSettings/Read": "compare a pool's autoscale settings with what was asked for",
    };
    GET_OPERATION = Call::read("GET operations", &[bucket::ARM_READS, bucket::OPERATION_GET]) => {
        "Microsoft.Compute/locations/operations/read": "follow what takes Azure a while",
    };

    LIST_PERMISSIONS = Call::read(
        "LIST permissions",
        &[bucket::ARM_READS, bucket::AUTHORIZATION_READS],
    ) => {
        "Microsoft.Authorization/permissions/read": "tell what an identity may do",
    };
    LIST_USAGES = Call::read("LIST usages", &[bucket::ARM_READS, bucket::LISTS]) => {
        "Microsoft.Compute/locations/usages/read": "tell how much of the region's quotas is left",
    };
    LIST_SUBNET_USAGES = Call::read(
        "LIST virtualNetworks/usages",
        &[bucket::ARM_READS, bucket::NETWORK_READS],
    ) => {
        "Microsoft.Network/virtualNetworks/usages/read":
            "tell how many addresses a pool's subnet has left",
    };

    CREATE_SET = Call::write(
        "PUT virtualMachineScaleSets",
        &[bucket::ARM_WRITES, bucket::SET_PUT],
    )
    .once() => {
        "Microsoft.Compute/virtualMachineScaleSets/write": "make and change a pool's scale sets",
        "Microsoft.Network/virtualNetworks/subnets/join/action":
            "place members in the cluster's worker subnet",
        "Microsoft.Network/networkSecurityGroups/join/action":
            "put members' interfaces into the pool's network security group",
        "Microsoft.Network/applicationSecurityGroups/joinIpConfiguration/action":
            "put members' addresses into the pool's application security groups",
        "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action":
            "give members the cluster's node identity",
        "Microsoft.Compute/images/read": "see whether a pool's image exists",
        "Microsoft.Compute/galleries/images/versions/read":
            "see whether a pool's image exists in a gallery",
    };
    PATCH_SET = Call::write(
        "PATCH virtualMachineScaleSets",
        &[bucket::ARM_WRITES, bucket::SET_PATCH],
    ) => {
        "Microsoft.Compute/virtualMachineScaleSets/write": "make and change a pool's scale sets",
        "Microsoft.Network/virtualNetworks/subnets/join/action":
            "place members in the cluster's worker subnet",
        "Microsoft.Network/networkSecurityGroups/join/action":
            "put members' interfaces into the pool's network security group",
        "Microsoft.Network/applicationSecurityGroups/joinIpConfiguration/action":
            "put members' addresses into the pool's application security groups",
        "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action":
            "give members the cluster's node identity",
    };
    DELETE_INSTANCES = Call::write(
        "POST virtualMachineScaleSets/delete",
        &[bucket::ARM_WRITES, bucket::INSTANCE_WRITES],
    ) => {
        "Microsoft.Compute/virtualMachineScaleSets/delete/action": "end the instance of a deleted Machine",
    };
    DELETE_SET = Call::write(
        "DELETE virtualMachineScaleSets",
        &[bucket::ARM_DELETES, bucket::SET_DELETE],
    ) => {
        "Microsoft.Compute/virtualMachineScaleSets/delete": "remove the scale sets of a deleted pool and of finished rolls",
    };
    PUT_SETTING = Call::write(
        "PUT autoscalesettings",
        &[bucket::ARM_WRITES, bucket::INSIGHTS_WRITES],
    ) => {
        "Microsoft.Insights/AutoscaleSettings/Write": "keep a pool's bounds and scale it by CPU",
    };
    DELETE_SETTING = Call::write(
        "DELETE autoscalesettings",
        &[bucket::ARM_DELETES, bucket::INSIGHTS_WRITES],
    ) => {
        "Microsoft.Insights/AutoscaleSettings/Delete": "remove the autoscale setting of a deleted scale set",
    };
}

/// The name under which requests for tokens appear in failures and measurements.
pub(crate) const TOKEN: &str = "POST token";
