//! What both clouds share: the captf machinepool contract as functions on plain data.
//!
//! | file | what |
//! | --- | --- |
//! | `world` | everything one pass reads from Kubernetes |
//! | `objects` | the Kubernetes objects a pool reads, as plain data |
//! | `gate` | waiting for whom, and which operation is due |
//! | `identity` | which identity, and whether it may be used |
//! | `inputs` | the 14 contract inputs, validated |
//! | `secret` | a value that never prints |
//! | `members` | members, their states and addresses |
//! | `health` | the health verdict |
//! | `outputs` | what a pool publishes |
//! | `record` | the durable pool record |
//! | `action` | steps: one cloud call each, with reason and effect |

pub mod action;
pub mod gate;
pub mod health;
pub mod identity;
pub mod inputs;
pub mod members;
pub mod objects;
pub mod outputs;
pub mod record;
pub mod secret;
pub mod world;
