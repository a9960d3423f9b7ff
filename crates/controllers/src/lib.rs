//! The reconcilers, one folder a kind.
//!
//! | folder | kind | runs |
//! | --- | --- | --- |
//! | `terraform_machine_pool` | TerraformMachinePool | always |
//! | `identity` | TerraformClusterIdentity | where captf's own manager does not |
//! | `machine` | Machine | standalone mode |
//! | `machine_pool` | MachinePool | standalone mode |
//! | `cluster` | Cluster | standalone mode |
//! | `machine_health_check` | MachineHealthCheck | standalone mode |
//!
//! `admission` is no controller: it answers the API server's questions about objects before they are
//! stored.
//! `agent` is no reconciler: it runs on the machines of a pool.
//!
//! A pass reads first and writes last; what it decides is decided by pure functions, of
//! `remuda-plan` or of the folder's own `status` module. Everything outside the process comes in
//! through [`context::Context`].

pub mod admission;
pub mod agent;
pub mod clock;
pub mod connect;
pub mod context;
pub mod election;
pub mod events;
pub mod identity;
pub mod kinds;
pub mod metrics;
pub mod objects;
pub mod permissions;
pub mod reference;
pub mod run;
pub mod terraform_machine_pool;
pub mod workload;

mod adopt;
mod carry_out;
mod cluster;
mod conditions;
mod contract;
mod machine;
mod machine_conditions;
mod machine_health_check;
mod machine_pool;
mod pacing;
mod passes;
mod patch;
mod pool_members;
mod publish;
mod record;
mod requeue;
mod share;
mod watching;

pub use self::{
    context::Context,
    run::{Options, run},
    terraform_machine_pool::{Preview, PreviewSource, preview},
};
