//! Kinds of Cluster API's core group as far as Remuda reads or writes them, in full shape.

mod machine_address;
mod status;
mod template;

pub use machine_address::{MachineAddress, MachineAddressType};
pub use status::{FailureDomain, InfrastructureInitialization};
pub use template::TemplateMetadata;
