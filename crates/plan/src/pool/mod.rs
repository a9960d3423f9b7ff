//! What both clouds share: the captf machinepool contract as functions on plain data.
//!
//! | file | what |
//! | --- | --- |
//! | `world` | everything one pass reads from Kubernetes |
//! | `objects` | the Kubernetes objects a pool reads, as plain data |
//! | `keys` | labels, annotations, finalizers, tags |
//! | `gate` | paused, mine, stored, waiting: what this pass does |
//! | `findings` | what the gate found, for the conditions |
//! | `owner` | whose pool is it |
//! | `ownership` | whose a found cloud object is |
//! | `render` | Kubernetes objects to contract inputs |
//! | `variables` | user variables: merge and names |
//! | `autoscaling` | bounds, claim and write-back |
//! | `identity` | which identity, and whether it may be used |
//! | `inputs` | the 14 contract inputs, validated |
//! | `exports` | cluster exports: their source, read tolerantly |
//! | `checks` | checks of the contract inputs that every cloud makes |
//! | `declared` | how a driver declares its user variables |
//! | `capacity` | bounds and desired count |
//! | `zones` | requested, inherited and known zones |
//! | `labels` | node label syntax and filter |
//! | `payload` | bootstrap formats and bytes |
//! | `boothook` | shell that both clouds' boot hooks run |
//! | `inherit` | policies after inheritance |
//! | `image` | image references, and the driver they name |
//! | `hash` | what decides that an apply is due |
//! | `schedule` | intervals, jitter, retries |
//! | `operation` | which operation is due |
//! | `deletion` | what stands between a deleting pool and its end |
//! | `instance_template` | what members are made from, and when another one rolls |
//! | `goal` | one operation with everything a driver needs |
//! | `admission` | what webhooks refuse |
//! | `secret` | a value that never prints |
//! | `machines` | whether a pool has Machines, and what it decides about them |
//! | `members` | members, their states and addresses |
//! | `membership` | when the published list follows what was seen |
//! | `health` | the health verdict |
//! | `notice` | failures to be told once |
//! | `read` | what a driver asks of a cloud, and what an answer may be |
//! | `outputs` | what a pool publishes |
//! | `contract` | whether outputs keep the contract's limits |
//! | `drift` | counts and names of what differs |
//! | `record` | the durable pool record |
//! | `action` | steps: one cloud call each, with reason and effect |
//! | `steps` | collecting steps and record writes in order |

pub mod action;
pub mod admission;
pub mod autoscaling;
pub mod boothook;
pub mod capacity;
pub mod checks;
pub mod contract;
pub mod declared;
mod deletion;
pub mod drift;
pub mod exports;
pub mod findings;
pub mod gate;
pub mod goal;
pub mod hash;
pub mod health;
pub mod identity;
pub mod image;
pub mod inherit;
pub mod inputs;
pub mod instance_template;
pub mod keys;
pub mod labels;
pub mod machines;
pub mod members;
pub mod membership;
pub mod notice;
pub mod objects;
mod operation;
pub mod outputs;
pub mod owner;
pub mod ownership;
pub mod payload;
pub mod read;
pub mod record;
pub mod render;
pub mod schedule;
pub mod secret;
pub mod selector;
pub mod steps;
pub mod variables;
pub mod world;
pub mod zones;
