//! How long the processes of the world take.

use std::time::Duration;

/// Durations of simulated processes, in simulated time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// From a change of a group to the group acting on it.
    pub group_reaction: Duration,
    /// An instance's `pending` state.
    pub pending: Duration,
    /// From `running` to the node's first request: cloud-init, the kubelet's start.
    pub node_boot: Duration,
    /// From the Node's registration to Ready, and to the cloud controller's initialisation.
    pub node_ready: Duration,
    /// An instance's `stopping` state.
    pub stopping: Duration,
    /// An instance's `shutting-down` state.
    pub shutting_down: Duration,
    /// From the end of an instance outside the group's doing to the group noticing it.
    pub health_check: Duration,
    /// First pause after a failed launch; it doubles up to `launch_retry_longest`.
    pub launch_retry: Duration,
    /// Longest pause between launch attempts.
    pub launch_retry_longest: Duration,
    /// A refresh's `Cancelling` state.
    pub refresh_cancelling: Duration,
    /// A refresh's `Pending` state.
    pub refresh_pending: Duration,
    /// A refresh without progress for so long fails.
    pub refresh_patience: Duration,
    /// Divisor of a refresh's instance warmup: 0 leaves no warmup at all.
    pub keep_warmup: bool,
    /// A group's `Delete in progress` state once it is empty.
    pub group_deletion: Duration,
    /// From a Spot interruption notice to the end of the instance.
    pub spot_notice: Duration,
    /// How long a terminated instance stays visible.
    pub terminated_visible: Duration,
    /// Pause between two looks of a target-tracking policy at the metric.
    pub metric_period: Duration,
    /// How long reads of EC2 and Auto Scaling lag behind writes; zero: not at all.
    pub read_lag: Duration,
}

impl Timing {
    /// Figures of the size people see at AWS. Ours: AWS publishes none but the two minutes of a
    /// Spot notice, the hour a refresh waits and the hour a terminated instance stays visible.
    pub fn realistic() -> Self {
        let seconds = Duration::from_secs;
        Self {
            group_reaction: seconds(2),
            pending: seconds(8),
            node_boot: seconds(20),
            node_ready: seconds(5),
            stopping: seconds(20),
            shutting_down: seconds(15),
            health_check: seconds(20),
            launch_retry: seconds(15),
            launch_retry_longest: seconds(300),
            refresh_cancelling: seconds(10),
            refresh_pending: seconds(2),
            refresh_patience: seconds(3600),
            keep_warmup: true,
            group_deletion: seconds(5),
            spot_notice: seconds(120),
            terminated_visible: seconds(3600),
            metric_period: seconds(60),
            read_lag: Duration::ZERO,
        }
    }

    /// Processes take no time. Retries and the metric keep a pause, or they would spin, and
    /// terminated instances stay visible for as long as before.
    pub fn immediate() -> Self {
        let none = Duration::ZERO;
        Self {
            group_reaction: none,
            pending: none,
            node_boot: none,
            node_ready: none,
            stopping: none,
            shutting_down: none,
            health_check: none,
            launch_retry: Duration::from_secs(1),
            launch_retry_longest: Duration::from_secs(30),
            refresh_cancelling: none,
            refresh_pending: none,
            keep_warmup: false,
            group_deletion: none,
            spot_notice: none,
            metric_period: Duration::from_secs(5),
            ..Self::realistic()
        }
    }
}
