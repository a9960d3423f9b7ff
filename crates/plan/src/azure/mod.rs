//! The Azure machine pool: one uniform scale set and one Autoscale setting.
//!
//! | file | what |
//! | --- | --- |
//! | `limits` | Azure's bounds and our figures, each with its source |
//! | `place` | subscription, group and region: fixed for life |
//! | `exports` | cluster exports, read tolerantly |
//! | `vars` | user variables as data: one table |
//! | `names`, `tags` | every cloud name and tag set |
//! | `image` | image references with their version |
//! | `bootstrap` | custom data |
//! | `checks` | refusals that need no read |
//! | `desired` | inputs to what should exist |
//! | `observed` | what does exist |
//! | `action` | one variant an ARM call |
//! | `diff` | desired, observed and record to ordered steps |
//! | `ownership` | whose a found set or setting is |
//! | `remembered` | the driver's record: kept, or rebuilt when it is lost |
//! | `model` | the set's model: what differs, and the PATCH for it |
//! | `setting` | the Autoscale setting, which holds the capacity |
//! | `operation` | the one long-running operation of a pool |
//! | `roll` | a new generation: made before the old one goes |
//! | `scene` | what a plan looks at |
//! | `steps` | collecting steps and record writes in order |
//! | `notices` | what people should be told beside outputs |
//! | `machines` | members as the pool's Machines see them, and what these ask for |
//! | `teardown` | deletion order |
//! | `handle` | what to look at |
//! | `outputs` | what the pool publishes |

pub mod action;
pub mod bootstrap;
mod checks;
pub mod desired;
pub mod diff;
pub mod exports;
pub mod handle;
pub mod image;
pub mod limits;
pub mod machines;
mod model;
pub mod names;
pub mod notices;
pub mod observed;
mod operation;
pub mod outputs;
pub mod ownership;
pub mod place;
mod remembered;
mod roll;
mod scene;
mod setting;
mod steps;
pub mod tags;
pub mod teardown;
pub mod vars;
