//! What both clouds share: the captf machinepool contract as functions on plain data.
//!
//! | file | what |
//! | --- | --- |
//! | `inputs` | the 14 contract inputs, validated |
//! | `secret` | a value that never prints |
//! | `members` | members, their states and addresses |
//! | `health` | the health verdict |
//! | `outputs` | what a pool publishes |
//! | `record` | the durable pool record |
//! | `action` | steps: one cloud call each, with reason and effect |

pub mod action;
pub mod health;
pub mod inputs;
pub mod members;
pub mod outputs;
pub mod record;
pub mod secret;
