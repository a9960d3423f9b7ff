//! Every ARM call that is made, as data: its name, whether it changes something, which ceilings it
//! counts against and which API version it speaks. A call that is not listed here can't be made.

use remuda_cloud::{budget::Ceiling, retry::Repeat};

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

/// The client-side ceilings of the Azure document, 10.5, per principal, subscription and region:
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

/// One ARM call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// Method and resource type, as people know them: `PATCH virtualMachineScaleSets`.
    pub(crate) name: &'static str,
    /// ARM's own ceiling.
    pub(crate) arm: &'static str,
    /// Ceiling of the policy.
    pub(crate) policy: &'static str,
    /// It changes something.
    pub(crate) mutating: bool,
    /// What a lost answer allows.
    pub(crate) repeat: Repeat,
}

impl Call {
    /// The HTTP method.
    pub(crate) fn method(&self) -> http::Method {
        match self.name.split_once(' ') {
            Some(("PUT", _)) => http::Method::PUT,
            Some(("PATCH", _)) => http::Method::PATCH,
            Some(("DELETE", _)) => http::Method::DELETE,
            Some(("POST", _)) => http::Method::POST,
            _ => http::Method::GET,
        }
    }
}

const fn read(name: &'static str, policy: &'static str) -> Call {
    Call {
        name,
        arm: bucket::ARM_READS,
        policy,
        mutating: false,
        repeat: Repeat::Harmless,
    }
}

const fn write(name: &'static str, policy: &'static str) -> Call {
    Call {
        name,
        arm: bucket::ARM_WRITES,
        policy,
        mutating: true,
        repeat: Repeat::Harmless,
    }
}

const fn delete(name: &'static str, policy: &'static str) -> Call {
    Call {
        name,
        arm: bucket::ARM_DELETES,
        policy,
        mutating: true,
        repeat: Repeat::Harmless,
    }
}

macro_rules! calls {
    ($($name:ident = $call:expr;)*) => { $(pub(crate) static $name: Call = $call;)* };
}

calls! {
    LIST_SETS = read("LIST virtualMachineScaleSets", bucket::LISTS);
    GET_SET = read("GET virtualMachineScaleSets", bucket::SET_GET);
    LIST_INSTANCES = read("LIST virtualMachines", bucket::LISTS);
    GET_IMAGE = read("GET images", bucket::SET_GET);
    LIST_NICS = read("LIST networkInterfaces", bucket::NETWORK_READS);
    LIST_SETTINGS = read("LIST autoscalesettings", bucket::INSIGHTS_READS);
    GET_OPERATION = read("GET operations", bucket::OPERATION_GET);
    LIST_PERMISSIONS = read("LIST permissions", bucket::AUTHORIZATION_READS);
    LIST_USAGES = read("LIST usages", bucket::LISTS);
    LIST_SUBNET_USAGES = read("LIST virtualNetworks/usages", bucket::NETWORK_READS);

    CREATE_SET = Call {
        repeat: Repeat::LookFirst,
        ..write("PUT virtualMachineScaleSets", bucket::SET_PUT)
    };
    PATCH_SET = write("PATCH virtualMachineScaleSets", bucket::SET_PATCH);
    DELETE_INSTANCES = write("POST virtualMachineScaleSets/delete", bucket::INSTANCE_WRITES);
    DELETE_SET = delete("DELETE virtualMachineScaleSets", bucket::SET_DELETE);
    PUT_SETTING = write("PUT autoscalesettings", bucket::INSIGHTS_WRITES);
    DELETE_SETTING = delete("DELETE autoscalesettings", bucket::INSIGHTS_WRITES);
}

/// The name under which requests for tokens appear in failures and measurements.
pub(crate) const TOKEN: &str = "POST token";
