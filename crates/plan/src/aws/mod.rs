//! The AWS machine pool: one Auto Scaling group, one launch template, one S3 object.
//!
//! | file | what |
//! | --- | --- |
//! | `limits` | AWS's bounds and our figures, each with its source |
//! | `exports` | cluster exports, read tolerantly |
//! | `vars` | user variables as data: one table |
//! | `names`, `tags` | every cloud name and tag set |
//! | `image` | image filter and choice |
//! | `bootstrap` | the boot stub |
//! | `checks` | refusals that need no read |
//! | `desired` | inputs to what should exist |
//! | `observed` | what does exist |
//! | `action` | one variant a cloud call |
//! | `diff` | desired, observed and record to ordered steps |
//! | `ownership` | whose a found group or template is |
//! | `remembered` | the driver's record: kept, or rebuilt when it is lost |
//! | `template` | which launch template a pool uses, and how its data is compared |
//! | `tagging` | tags of an existing group and template |
//! | `group` | the group's fields, processes and policy |
//! | `roll` | replacing running members: when, how, resume after a crash |
//! | `scene` | what a plan looks at |
//! | `steps` | collecting steps and record writes in order |
//! | `notices` | failures AWS reports beside its answers |
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
pub mod group;
pub mod handle;
pub mod image;
pub mod limits;
pub mod machines;
pub mod names;
pub mod notices;
pub mod observed;
pub mod outputs;
pub mod ownership;
pub mod remembered;
pub mod roll;
mod scene;
pub mod steps;
pub mod tagging;
pub mod tags;
pub mod teardown;
pub mod template;
pub mod vars;
