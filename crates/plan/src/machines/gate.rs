//! Whether the steps of a Machine's deletion that concern its Node run (Cluster API document,
//! 5.3, gate G). A gate that nobody can judge is not closed: nothing goes undrained on a failed
//! read.

/// What the gate looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateFacts {
    /// The Cluster is being deleted.
    pub cluster_deleting: bool,
    /// The Machine's Node.
    pub node: NodeKnown,
    /// The object the Cluster names as its control plane.
    pub control_plane: ControlPlane,
    /// Machines of the control plane.
    pub control_plane_machines: ControlPlaneMachines,
}

/// What is known of a Machine's Node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKnown {
    /// The Machine has, or had, a Node.
    Linked,
    /// It never had one, and a last look by provider ID found none.
    Never,
    /// The last look failed.
    Unknown,
}

/// The Cluster's control plane object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlPlane {
    /// The Cluster names none, or the named one does not exist.
    None,
    /// It exists.
    There {
        /// It is being deleted.
        deleting: bool,
        /// It says that it has no Machines.
        external: bool,
    },
    /// It could not be read: why.
    Unknown(String),
}

/// Control plane Machines of the Cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlPlaneMachines {
    /// How many there are, and how many of them are not being deleted.
    Counted {
        /// All of them.
        all: usize,
        /// Those that stay.
        active: usize,
    },
    /// They could not be listed: why.
    Unknown(String),
}

/// Whether the steps that concern the Node run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// They run.
    Open,
    /// They are left out.
    Closed(Closed),
    /// Nobody knows now: why.
    Unknown(String),
}

/// Why the steps that concern the Node are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// The Cluster is being deleted.
    ClusterDeleting,
    /// There is no Node.
    NoNode,
    /// The control plane is being deleted.
    ControlPlaneDeleting,
    /// No control plane Machine is left.
    NoControlPlane,
}

/// Judges the gate. A Cluster without a control plane object and without control plane Machines
/// has a control plane that somebody else runs: its Nodes are drained.
pub fn gate(facts: &GateFacts) -> Gate {
    if facts.cluster_deleting {
        return Gate::Closed(Closed::ClusterDeleting);
    }
    if facts.node == NodeKnown::Never {
        return Gate::Closed(Closed::NoNode);
    }
    let has_object = match &facts.control_plane {
        ControlPlane::None => false,
        ControlPlane::There { deleting: true, .. } => {
            return Gate::Closed(Closed::ControlPlaneDeleting);
        }
        ControlPlane::There { external: true, .. } => return Gate::Open,
        ControlPlane::There { .. } => true,
        ControlPlane::Unknown(why) => return Gate::Unknown(why.clone()),
    };
    match &facts.control_plane_machines {
        ControlPlaneMachines::Unknown(why) => Gate::Unknown(why.clone()),
        ControlPlaneMachines::Counted { active: 1.., .. } => Gate::Open,
        ControlPlaneMachines::Counted { all: 0, .. } if !has_object => Gate::Open,
        ControlPlaneMachines::Counted { .. } => Gate::Closed(Closed::NoControlPlane),
    }
}
