//! Every label, annotation, finalizer, taint and field-manager name that Remuda reads or writes
//! on Kubernetes objects.
//!
//! Cloud tags are not here: they belong to the plans that write them.

/// Labels of objects.
pub mod label {
    /// Name of the Cluster an object belongs to; on every object of a cluster.
    pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
    /// Name of the MachinePool a pool Machine belongs to, hashed when it is too long.
    pub const POOL_NAME: &str = "cluster.x-k8s.io/pool-name";
    /// Name of the MachineSet a Machine belongs to, hashed when it is too long.
    pub const SET_NAME: &str = "cluster.x-k8s.io/set-name";
    /// Name of the MachineDeployment a Machine belongs to.
    pub const DEPLOYMENT_NAME: &str = "cluster.x-k8s.io/deployment-name";
    /// Present on control plane Machines.
    pub const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
    /// Name of the control plane object a Machine belongs to.
    pub const CONTROL_PLANE_NAME: &str = "cluster.x-k8s.io/control-plane-name";
    /// On a Lease: which managers elect a leader by it.
    pub const ELECTION: &str = "remuda.dev/election";
    /// On a Lease: into how many shares the managers split the work.
    pub const SHARES: &str = "remuda.dev/shares";
    /// A manager with a filter value reconciles only objects that carry the value.
    pub const WATCH_FILTER: &str = "cluster.x-k8s.io/watch-filter";
    /// Provider a component or definition belongs to, such as `infrastructure-captf`.
    pub const PROVIDER: &str = "cluster.x-k8s.io/provider";
    /// On a workload Node that the cloud may take back.
    pub const INTERRUPTIBLE: &str = "cluster.x-k8s.io/interruptible";
    /// On a workload Pod: `skip` or `wait-completed`, in any case.
    pub const DRAIN: &str = "cluster.x-k8s.io/drain";
    /// Revision of a MachineDeployment.
    pub const MACHINE_TEMPLATE_HASH: &str = "machine-template-hash";
    /// Present on objects a topology owns; the value is empty.
    pub const TOPOLOGY_OWNED: &str = "topology.cluster.x-k8s.io/owned";
    /// Name of a pool inside the Cluster's topology.
    pub const TOPOLOGY_POOL_NAME: &str = "topology.cluster.x-k8s.io/pool-name";
    /// Name of a MachineDeployment inside the Cluster's topology.
    pub const TOPOLOGY_DEPLOYMENT_NAME: &str = "topology.cluster.x-k8s.io/deployment-name";
    /// On a definition: versions that fulfil the v1beta1 contract.
    pub const CONTRACT_V1BETA1: &str = "cluster.x-k8s.io/v1beta1";
    /// On a definition: versions that fulfil the v1beta2 contract.
    pub const CONTRACT_V1BETA2: &str = "cluster.x-k8s.io/v1beta2";
    /// On a provider's ClusterRole: grants the core manager its rules.
    pub const AGGREGATE_TO_MANAGER: &str = "cluster.x-k8s.io/aggregate-to-manager";
    /// On an object: `clusterctl move` takes it along.
    pub const MOVE: &str = "clusterctl.cluster.x-k8s.io/move";
    /// On a definition: `clusterctl move` takes its objects and what they own along.
    pub const MOVE_HIERARCHY: &str = "clusterctl.cluster.x-k8s.io/move-hierarchy";
    /// `true` on a ConfigMap or Secret that `variablesFrom` may name.
    pub const VARIABLES: &str = "captf.io/variables";
    /// `true` on a ServiceAccount that jobs may run as.
    pub const RUNNER: &str = "captf.io/runner";
    /// `true` on every object a controller owns.
    pub const MANAGED: &str = "captf.io/managed";
    /// `true` on a mirror of credentials.
    pub const MIRRORED: &str = "captf.io/mirrored";
    /// UID of the object that left a Secret behind with `Retain`.
    pub const RETAINED_FROM_UID: &str = "captf.io/retained-from-uid";
    /// Kind of the object a record, state Secret or Lease belongs to.
    pub const OWNER_KIND: &str = "captf.infrastructure.cluster.x-k8s.io/owner-kind";
    /// Name of the object a record, state Secret or Lease belongs to.
    pub const OWNER_NAME: &str = "captf.infrastructure.cluster.x-k8s.io/owner-name";
    /// `true` or `false` on a TerraformPlan: whether it would destroy something.
    pub const PLAN_DESTRUCTIVE: &str = "captf.io/destructive";
    /// Phase of a TerraformPlan.
    pub const PLAN_PHASE: &str = "captf.io/plan-phase";
    /// Why a TerraformPlan exists.
    pub const PLAN_REASON: &str = "captf.io/plan-reason";
}

/// Annotations of objects.
pub mod annotation {
    /// Presence pauses the object, whatever the value.
    pub const PAUSED: &str = "cluster.x-k8s.io/paused";
    /// Presence on a Machine: it goes first when its set or pool shrinks.
    pub const DELETE_MACHINE: &str = "cluster.x-k8s.io/delete-machine";
    /// On a MachinePool: who owns the replica count; `false` stands for nobody.
    pub const REPLICAS_MANAGED_BY: &str = "cluster.x-k8s.io/replicas-managed-by";
    /// Value of [`REPLICAS_MANAGED_BY`] while the cloud's autoscaler owns the count.
    pub const REPLICAS_MANAGED_BY_CAPTF: &str = "captf";
    /// Smallest count an autoscaler may choose.
    pub const AUTOSCALER_MIN_SIZE: &str =
        "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
    /// Largest count an autoscaler may choose.
    pub const AUTOSCALER_MAX_SIZE: &str =
        "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";
    /// Presence on a Machine: health checks pass it by.
    pub const SKIP_REMEDIATION: &str = "cluster.x-k8s.io/skip-remediation";
    /// Presence on a Machine: health checks count it as unhealthy at once.
    pub const REMEDIATE_MACHINE: &str = "cluster.x-k8s.io/remediate-machine";
    /// `true` on a MachineSet: no Machine is created.
    pub const DISABLE_MACHINE_CREATE: &str = "cluster.x-k8s.io/disable-machine-create";
    /// Presence on infrastructure: something else manages it.
    pub const MANAGED_BY: &str = "cluster.x-k8s.io/managed-by";
    /// Template an object was cloned from.
    pub const CLONED_FROM_NAME: &str = "cluster.x-k8s.io/cloned-from-name";
    /// Group and kind of that template.
    pub const CLONED_FROM_GROUP_KIND: &str = "cluster.x-k8s.io/cloned-from-groupkind";
    /// On a workload Node: name of its Cluster.
    pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
    /// On a workload Node: namespace of its Cluster.
    pub const CLUSTER_NAMESPACE: &str = "cluster.x-k8s.io/cluster-namespace";
    /// On a workload Node: name of its Machine; absent for a pool without Machines.
    pub const MACHINE: &str = "cluster.x-k8s.io/machine";
    /// On a workload Node: kind of what owns its Machine, or of its pool.
    pub const OWNER_KIND: &str = "cluster.x-k8s.io/owner-kind";
    /// On a workload Node: name of what owns its Machine, or of its pool.
    pub const OWNER_NAME: &str = "cluster.x-k8s.io/owner-name";
    /// On a workload Node: label keys that came from its Machine, comma-separated.
    pub const LABELS_FROM_MACHINE: &str = "cluster.x-k8s.io/labels-from-machine";
    /// On a workload Node: annotation keys that came from its Machine, comma-separated.
    pub const ANNOTATIONS_FROM_MACHINE: &str = "cluster.x-k8s.io/annotations-from-machine";
    /// On a workload Node: `key:effect` of taints that came from its Machine, comma-separated.
    pub const TAINTS_FROM_MACHINE: &str = "cluster.x-k8s.io/taints-from-machine";
    /// Presence on a Machine: its Node is not drained.
    pub const EXCLUDE_NODE_DRAINING: &str = "machine.cluster.x-k8s.io/exclude-node-draining";
    /// Presence on a Machine: its deletion does not wait for volumes.
    pub const EXCLUDE_WAIT_FOR_NODE_VOLUME_DETACH: &str =
        "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach";
    /// When the certificates of a control plane Machine expire.
    pub const CERTIFICATES_EXPIRY: &str = "machine.cluster.x-k8s.io/certificates-expiry";
    /// Prefix of hooks that hold a Machine's deletion before the drain.
    pub const PRE_DRAIN_HOOK_PREFIX: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
    /// Prefix of hooks that hold a Machine's deletion before its infrastructure goes.
    pub const PRE_TERMINATE_HOOK_PREFIX: &str =
        "pre-terminate.delete.hook.machine.cluster.x-k8s.io";
    /// On a MachineSet: preflight checks that are left out, comma-separated, or `All`.
    pub const SKIP_PREFLIGHT_CHECKS: &str = "machineset.cluster.x-k8s.io/skip-preflight-checks";
    /// On a dry run the topology controller makes.
    pub const TOPOLOGY_DRY_RUN: &str = "topology.cluster.x-k8s.io/dry-run";
    /// On a topology's group: its upgrade waits, and so do those after it.
    pub const TOPOLOGY_HOLD_UPGRADE_SEQUENCE: &str =
        "topology.cluster.x-k8s.io/hold-upgrade-sequence";
    /// On a topology's group: its upgrade waits.
    pub const TOPOLOGY_DEFER_UPGRADE: &str = "topology.cluster.x-k8s.io/defer-upgrade";
    /// On a Cluster: how many groups of its topology upgrade at once.
    pub const TOPOLOGY_UPGRADE_CONCURRENCY: &str = "topology.cluster.x-k8s.io/upgrade-concurrency";
    /// Presence: `clusterctl move` waits, an operation is under way.
    pub const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";
    /// Presence: `clusterctl move` is deleting the object from its old home.
    pub const DELETE_FOR_MOVE: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";
    /// On a definition: clusterctl does not check its name.
    pub const SKIP_CRD_NAME_PREFLIGHT_CHECK: &str =
        "clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check";
    /// Request to restore a kept state.
    pub const RESTORE_STATE: &str = "captf.io/restore-state";
    /// Releases a stuck deletion; the value equals the object's UID.
    pub const ABANDON_INFRASTRUCTURE: &str = "captf.io/abandon-infrastructure";
    /// Hash of the inputs of the last adopted apply.
    pub const INPUTS_HASH: &str = "captf.io/inputs-hash";
    /// Pinned image of the durable inputs.
    pub const IMAGE: &str = "captf.io/image";
    /// Pinned digest of the durable inputs.
    pub const IMAGE_DIGEST: &str = "captf.io/image-digest";
    /// Identity of the durable inputs or of a mirror of credentials.
    pub const IDENTITY: &str = "captf.io/identity";
    /// `true` once an apply has succeeded; it does not turn back.
    pub const APPLIED: &str = "captf.io/applied";
    /// Cluster outputs that wait for approval.
    pub const PENDING_CLUSTER_OUTPUTS: &str = "captf.io/pending-cluster-outputs";
    /// Cluster outputs that were applied in part.
    pub const PARTIAL_CLUSTER_OUTPUTS: &str = "captf.io/partial-cluster-outputs";
    /// Hash of the cluster outputs that were applied.
    pub const APPLIED_CLUSTER_OUTPUTS_HASH: &str = "captf.io/applied-cluster-outputs-hash";
    /// An apply that vanished while it ran.
    pub const INTERRUPTED_APPLY: &str = "captf.io/interrupted-apply";
    /// Hash of the Secret a mirror of credentials was made from.
    pub const SOURCE_HASH: &str = "captf.io/source-hash";
    /// `false` on a MachinePool turns pool Machines off.
    pub const POOL_MACHINES: &str = "remuda.dev/machines";
    /// On a MachinePool: unhealthy Machines that were replaced, one a line, the newest last.
    pub const REMEDIATION_HISTORY: &str = "remuda.dev/remediation-history";
    /// On a Machine or its infrastructure: why it can't be deleted alone, only with its pool.
    pub const NOT_DELETABLE: &str = "remuda.dev/not-deletable";
    /// On a workload Node: its cloud is about to end the instance, as the node agent saw.
    pub const NODE_TERMINATING: &str = "remuda.dev/terminating";
    /// On a workload Node: its drain is over, the instance may go.
    pub const NODE_DRAINED: &str = "remuda.dev/drained";
    /// `true` on an infrastructure pool: unhealthy pool Machines are replaced.
    pub const REMEDIATE_MACHINES: &str = "remuda.dev/remediate-machines";

    /// Prefix of what an autoscaler is told about the machines of an empty pool: `cpu`, `memory`,
    /// `ephemeral-disk`, `gpu-type`, `gpu-count`, `maxPods`, `labels`, `taints`, `csi-driver`,
    /// `dra-driver`.
    pub const CAPACITY_PREFIX: &str = "capacity.cluster-autoscaler.kubernetes.io/";
    /// Prefix of an autoscaler's options for one group.
    pub const AUTOSCALING_OPTIONS_PREFIX: &str = "cluster.x-k8s.io/autoscaling-options-";
    /// Prefix of the bookkeeping of in-place updates, which is kept and not written.
    pub const IN_PLACE_UPDATES_PREFIX: &str = "in-place-updates.internal.cluster.x-k8s.io/";
}

/// Finalizers of objects.
pub mod finalizer {
    /// Of a TerraformMachinePool.
    pub const TERRAFORM_MACHINE_POOL: &str = "terraformmachinepool.infrastructure.cluster.x-k8s.io";
    /// Of a TerraformMachinePoolMachine: its instance is not gone yet.
    pub const TERRAFORM_MACHINE_POOL_MACHINE: &str =
        "terraformmachinepoolmachine.infrastructure.cluster.x-k8s.io";
    /// Of a TerraformCluster.
    pub const TERRAFORM_CLUSTER: &str = "terraformcluster.infrastructure.cluster.x-k8s.io";
    /// Of a TerraformMachine.
    pub const TERRAFORM_MACHINE: &str = "terraformmachine.infrastructure.cluster.x-k8s.io";
    /// Of a Cluster.
    pub const CLUSTER: &str = "cluster.cluster.x-k8s.io";
    /// Of a MachinePool.
    pub const MACHINE_POOL: &str = "machinepool.cluster.x-k8s.io";
    /// Of a Machine.
    pub const MACHINE: &str = "machine.cluster.x-k8s.io";
    /// Of a MachineSet.
    pub const MACHINE_SET: &str = "cluster.x-k8s.io/machineset";
}

/// Taints of workload Nodes.
pub mod taint {
    /// Until labels have been synced.
    pub const UNINITIALIZED: &str = "node.cluster.x-k8s.io/uninitialized";
    /// While the Machine's set is behind its deployment.
    pub const OUTDATED_REVISION: &str = "node.cluster.x-k8s.io/outdated-revision";
}

/// Domains whose labels and annotations go from a Machine to its Node.
pub mod node_domain {
    /// Labels with exactly this prefix.
    pub const ROLE: &str = "node-role.kubernetes.io";
    /// Labels of this domain and its subdomains.
    pub const RESTRICTION: &str = "node-restriction.kubernetes.io";
    /// Labels and annotations of this domain and its subdomains.
    pub const CLUSTER_API: &str = "node.cluster.x-k8s.io";
}

/// Names under which fields are owned in server-side apply.
pub mod field_manager {
    /// Whatever has no manager of its own.
    pub const REMUDA: &str = "remuda";
    /// The replica count of a MachinePool, alone.
    pub const REPLICAS: &str = "remuda-replicas";
    /// Pool Machines; the name upstream's controller uses.
    pub const MACHINE_POOL: &str = "machinepool-controller";
    /// Machines of a MachineSet; the name upstream's controller uses.
    pub const MACHINE_SET: &str = "capi-machineset";
    /// Labels and annotations of what a MachineSet made; the name upstream's controller uses.
    pub const MACHINE_SET_METADATA: &str = "capi-machineset-metadata";
    /// Objects a topology expands to; the name upstream's controller uses.
    pub const TOPOLOGY: &str = "capi-topology";
}
