//! The AWS backend: pools on Auto Scaling, EC2, S3 and STS.
//!
//! Plan types come in as handles and actions, observations and outcomes go out. No decision about
//! a pool is made here: what a call means for a pool is the plan's.
//!
//! | file | what |
//! | --- | --- |
//! | `backend` | credentials to sessions, handles to regions |
//! | `credentials`, `profile` | identity Secrets to credentials |
//! | `clients` | SDK clients of a region |
//! | `calls`, `permissions` | every call as data, and what an identity needs for them |
//! | `ec2`, `xml` | the EC2 Query protocol on the SDK's orchestrator |
//! | `in_process` | an HTTP client over a service in this process |
//! | `batch` | sweeps: many pools, few calls |
//! | `images` | image lookups, shared |
//! | `observe` | reads only |
//! | `apply`, `operations` | one arm per action; what outlives a call |
//! | `wire` | plan types to parameters, answers to plan types |
//! | `errors` | provider codes to classes, a table |

mod apply;
mod backend;
mod batch;
pub mod calls;
mod clients;
mod credentials;
mod ec2;
mod errors;
mod examine;
mod images;
mod in_process;
mod observe;
mod operations;
mod permissions;
mod profile;
mod wire;
mod xml;

pub use backend::{Aws, AwsBackend, Options};
pub use in_process::InProcess;
pub use permissions::{permissions, policy};
pub use remuda_cloud::sweep::SweepTiming;
