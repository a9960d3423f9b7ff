//! How long the processes of the world take, and how its services behave.

use std::time::Duration;

/// Durations of simulated processes, in simulated time (azure-machinepool.md, 14.3 to 14.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// Creating a scale set.
    pub create: Duration,
    /// Changing a model without its capacity.
    pub model: Duration,
    /// Changing the capacity.
    pub capacity: Duration,
    /// Deleting a scale set, a terminate delay not counted.
    pub delete: Duration,
    /// From an instance's creation to its power state.
    pub starting: Duration,
    /// From an instance's creation, or its start, until it is up.
    pub up: Duration,
    /// From the end of the terminate delay until an instance is gone.
    pub going: Duration,
    /// How soon a guest approves its own termination; `None`: it waits out the delay.
    pub terminate_approval: Option<Duration>,
    /// From a running machine to the node's first request: cloud-init, the kubelet's start.
    pub node_boot: Duration,
    /// From the Node's registration to Ready.
    pub node_ready: Duration,
    /// Pause between two looks of Autoscale at a setting.
    pub autoscale: Duration,
    /// From a Spot notice to the end of the instance.
    pub spot_notice: Duration,
    /// Lists of scale sets in a group or subscription show a creation or deletion so late.
    pub list_lag: Duration,
    /// The index of all resources shows a creation or deletion so late.
    pub index_lag: Duration,
    /// How long reads lag behind writes; zero: not at all.
    pub read_lag: Duration,
    /// Seconds a client is asked to wait between looks at an operation.
    pub retry_after: u64,
}

impl Timing {
    /// The defaults of the specification; Azure publishes the notices only.
    pub fn realistic() -> Self {
        let seconds = Duration::from_secs;
        Self {
            create: seconds(90),
            model: seconds(5),
            capacity: seconds(60),
            delete: seconds(60),
            starting: seconds(20),
            up: seconds(60),
            going: seconds(20),
            terminate_approval: None,
            node_boot: seconds(20),
            node_ready: seconds(5),
            autoscale: seconds(45),
            spot_notice: seconds(30),
            list_lag: Duration::ZERO,
            index_lag: Duration::ZERO,
            read_lag: Duration::ZERO,
            retry_after: 10,
        }
    }

    /// Processes take no time, and guests approve their termination at once. Autoscale keeps a
    /// pause, or it would spin.
    pub fn immediate() -> Self {
        let none = Duration::ZERO;
        Self {
            create: none,
            model: none,
            capacity: none,
            delete: none,
            starting: none,
            up: none,
            going: none,
            terminate_approval: Some(none),
            node_boot: none,
            node_ready: none,
            autoscale: Duration::from_secs(1),
            spot_notice: none,
            ..Self::realistic()
        }
    }
}

/// How an answer points to its operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationHeaders {
    /// `Azure-AsyncOperation` and `Location`.
    Both,
    /// `Azure-AsyncOperation` only.
    AsyncOnly,
    /// `Location` only.
    LocationOnly,
    /// Neither: clients read the resource's state.
    Neither,
}

/// How the services behave where Azure's own behaviour varies or is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behaviour {
    /// How an answer points to its operation.
    pub operation_headers: OperationHeaders,
    /// Items of a page of instances, NICs and scale sets.
    pub page_size: usize,
    /// A write during another operation waits for it instead of being refused.
    pub queue_writes: bool,
    /// While instances of a set are being deleted the set takes no other write.
    pub instance_deletions_lock_sets: bool,
    /// A new instance takes the lowest free id instead of a new one.
    pub reuse_instance_ids: bool,
    /// An instance that ends leaves the list of NICs when it begins to go, not when it is gone.
    pub nic_leaves_first: bool,
    /// A Spot scale set with a terminate notification is refused.
    pub reject_spot_terminate_notification: bool,
    /// Life of an access token.
    pub token_life: Duration,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            operation_headers: OperationHeaders::Both,
            page_size: 100,
            queue_writes: false,
            instance_deletions_lock_sets: false,
            reuse_instance_ids: false,
            nic_leaves_first: false,
            reject_spot_terminate_notification: false,
            token_life: Duration::from_secs(3599),
        }
    }
}
