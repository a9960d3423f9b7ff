//! Admission: what a created or changed object is completed with, and why it is refused. Pure.
//!
//! | file | duty |
//! | --- | --- |
//! | `kind` | the kinds, and which requests about them are asked |
//! | `gates` | feature gates |
//! | `request`, `problem`, `defaults` | the question, what is wrong, what is filled in |
//! | `facts` | what a decision needs to know beyond the request |
//! | one file a kind | its defaults and its rules |
//!
//! In: the operation, the object, the old object, gates and facts. Out: defaults as a JSON patch,
//! every problem at once. What a schema can say is the CustomResourceDefinition's. A change that
//! leaves `spec` alone is always accepted, so that an object that was admitted under older rules
//! can lose its finalizer.

pub mod defaults;
pub mod facts;
pub mod gates;
pub mod kind;
pub mod problem;
pub mod request;

mod autoscaled;
mod cluster;
mod machine;
mod machine_drain_rule;
mod machine_health_check;
mod machine_pool;
mod metadata;
mod selector;
mod taints;
mod terraform;
mod version;

pub use self::{
    defaults::Defaults,
    facts::Facts,
    gates::Gates,
    kind::Kind,
    machine::not_deletable,
    problem::Problem,
    request::{Operation, Request},
};

/// What an object is completed with. A value that makes no sense is left for [`problems`].
pub fn defaults(kind: Kind, request: &Request<'_>) -> Defaults {
    let mut defaults = Defaults::of(request.object);
    match kind {
        Kind::MachinePool => machine_pool::complete(request, &mut defaults),
        Kind::Machine => machine::complete(&mut defaults),
        Kind::MachineHealthCheck => machine_health_check::complete(&mut defaults),
        _ => {}
    }
    defaults
}

/// Every reason to refuse a request, none to let it pass. `facts` answer [`facts::questions`].
pub fn problems(kind: Kind, request: &Request<'_>, gates: &Gates, facts: &Facts) -> Vec<Problem> {
    if request.operation == Operation::Delete {
        return match kind {
            Kind::Machine | Kind::TerraformMachinePoolMachine => machine::deletion(request, facts),
            Kind::TerraformClusterIdentity => terraform::identity_deletion(facts),
            _ => Vec::new(),
        };
    }
    match kind {
        Kind::MachinePool => machine_pool::problems(request, gates),
        Kind::Machine => machine::problems(request, gates),
        Kind::MachineHealthCheck => machine_health_check::problems(request),
        Kind::MachineDrainRule => machine_drain_rule::problems(request),
        Kind::Cluster => cluster::problems(request, gates),
        Kind::ClusterClass => cluster::class_problems(request, gates),
        Kind::TerraformMachinePool => terraform::pool(request),
        Kind::TerraformMachinePoolTemplate => terraform::template(request),
        Kind::TerraformClusterIdentity => terraform::identity(request, facts),
        Kind::TerraformMachinePoolMachine => terraform::pool_machine(request),
    }
}

/// What a person should know about a request that passes.
pub fn warnings(kind: Kind, request: &Request<'_>) -> Vec<String> {
    match kind {
        Kind::TerraformMachinePool => terraform::pool_warnings(request),
        _ => Vec::new(),
    }
}
