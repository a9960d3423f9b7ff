//! Names of the labels, annotations and finalizers a pool reads or writes (captf document 1.2).

/// Kind of the pool.
pub const POOL_KIND: &str = "TerraformMachinePool";
/// API group of the pool.
pub const POOL_GROUP: &str = "infrastructure.cluster.x-k8s.io";
/// Kind of the infrastructure cluster.
pub const CLUSTER_KIND: &str = "TerraformCluster";
/// Kind of the owner.
pub const OWNER_KIND: &str = "MachinePool";
/// API group of the owner, with the slash.
pub const OWNER_GROUP_PREFIX: &str = "cluster.x-k8s.io/";
/// Finalizer of a pool.
pub const FINALIZER: &str = "terraformmachinepool.infrastructure.cluster.x-k8s.io";
/// Label: name of the Cluster.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// Label: who reconciles the object.
pub const WATCH_FILTER: &str = "cluster.x-k8s.io/watch-filter";
/// Annotation: paused.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";
/// Annotation: externally managed.
pub const MANAGED_BY: &str = "cluster.x-k8s.io/managed-by";
/// Annotation: the template a pool was cloned from.
pub const CLONED_FROM_NAME: &str = "cluster.x-k8s.io/cloned-from-name";
/// Annotation on the owner: autoscaling minimum.
pub const AUTOSCALER_MIN: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
/// Annotation on the owner: autoscaling maximum.
pub const AUTOSCALER_MAX: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";
/// Annotation on the owner: who owns the count.
pub const REPLICAS_MANAGED_BY: &str = "cluster.x-k8s.io/replicas-managed-by";
/// Our value of [`REPLICAS_MANAGED_BY`].
pub const REPLICAS_CLAIM: &str = "captf";
/// Kind of the object that stands for a member.
pub const MEMBER_KIND: &str = "TerraformMachinePoolMachine";
/// Group and version of that kind, and of the pool.
pub const MEMBER_API_VERSION: &str = "infrastructure.cluster.x-k8s.io/v1alpha1";
/// Finalizer of that object: its instance is not gone yet.
pub const MEMBER_FINALIZER: &str = "terraformmachinepoolmachine.infrastructure.cluster.x-k8s.io";
/// Label on Machines and on what they stand for: name of the MachinePool, hashed when it is long.
pub const POOL_NAME: &str = "cluster.x-k8s.io/pool-name";
/// Annotation on a Machine: it goes first.
pub const DELETE_MACHINE: &str = "cluster.x-k8s.io/delete-machine";
/// Annotation: `clusterctl move` deletes the object from its old home.
pub const DELETE_FOR_MOVE: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";
/// Annotation on a pool: `"true"`: Machines that a health check gave up are replaced.
pub const REMEDIATE_MACHINES: &str = "remuda.dev/remediate-machines";
/// Annotation on the owner: `"false"` turns pool Machines off.
pub const MACHINES: &str = "remuda.dev/machines";
/// Label: present on Machines of a control plane.
pub const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
/// Annotation of a Machine or of its infrastructure: why it can't be ended alone.
pub const NOT_DELETABLE: &str = "remuda.dev/not-deletable";
/// Annotation on a workload Node: its cloud is about to end the instance, as the node agent saw.
pub const NODE_TERMINATING: &str = "remuda.dev/terminating";
/// Annotation on a workload Node: its drain is over, the instance may go.
pub const NODE_DRAINED: &str = "remuda.dev/drained";
/// Label: opt-in of a variable source.
pub const VARIABLES: &str = "captf.io/variables";
/// Annotation: state restore request.
pub const RESTORE_STATE: &str = "captf.io/restore-state";
/// Annotation: releases a stuck deletion when its value is the pool's UID.
pub const ABANDON: &str = "captf.io/abandon-infrastructure";
/// Annotation: present while an operation runs.
pub const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";
/// Label of the record: UID of the pool that left it behind.
pub const RETAINED_FROM_UID: &str = "captf.io/retained-from-uid";
/// Label of everything the controller owns.
pub const MANAGED: &str = "captf.io/managed";
/// Label: moved by `clusterctl move`.
pub const MOVE: &str = "clusterctl.cluster.x-k8s.io/move";
/// Label: kind of the owning object.
pub const OWNER_KIND_LABEL: &str = "captf.infrastructure.cluster.x-k8s.io/owner-kind";
/// Label: name of the owning object.
pub const OWNER_NAME_LABEL: &str = "captf.infrastructure.cluster.x-k8s.io/owner-name";

/// The tag of the owning cluster.
pub const TAG_CLUSTER: &str = "captf.io/cluster";
/// The tag of the pool's namespace.
pub const TAG_NAMESPACE: &str = "captf.io/namespace";
/// The tag of the pool's kind.
pub const TAG_KIND: &str = "captf.io/kind";
/// The tag of the pool's name.
pub const TAG_NAME: &str = "captf.io/name";
/// The tag that names the tool; `captf` stays for drop-in.
pub const TAG_MANAGED_BY: &str = "captf.io/managed-by";
/// The tag of the template.
pub const TAG_TEMPLATE: &str = "captf.io/template";
