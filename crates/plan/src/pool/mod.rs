//! What both clouds share: the captf machinepool contract as functions on plain data.
//!
//! | file | what |
//! | --- | --- |
//! | `world` | everything one pass reads from Kubernetes |
//! | `objects` | the Kubernetes objects a pool reads, as plain data |
//! | `gate` | waiting for whom, and which operation is due |
//! | `identity` | which identity, and whether it may be used |
//! | `inputs` | the 14 contract inputs, validated |
//! | `declared` | how a driver declares its user variables |
//! | `capacity` | bounds and desired count |
//! | `zones` | requested, inherited and known zones |
//! | `labels` | node label syntax and filter |
//! | `payload` | bootstrap formats and bytes |
//! | `secret` | a value that never prints |
//! | `members` | members, their states and addresses |
//! | `health` | the health verdict |
//! | `outputs` | what a pool publishes |
//! | `record` | the durable pool record |
//! | `action` | steps: one cloud call each, with reason and effect |

pub mod action;
pub mod capacity;
pub mod declared;
pub mod gate;
pub mod health;
pub mod identity;
pub mod inputs;
pub mod labels;
pub mod members;
pub mod objects;
pub mod outputs;
pub mod payload;
pub mod record;
pub mod secret;
pub mod world;
pub mod zones;
