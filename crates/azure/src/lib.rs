//! The Azure backend: pools on uniform scale sets and Autoscale settings, through ARM.
//!
//! Plan types come in as handles and actions, observations and outcomes go out. No decision about
//! a pool is made here: what a call means for a pool is the plan's.
//!
//! | file | what |
//! | --- | --- |
//! | `backend` | credentials to sessions, handles to subscriptions and regions |
//! | `credentials`, `certificate` | identities to what a token is asked for with |
//! | `tokens`, `metadata` | tokens: asked for, kept, renewed |
//! | `clients`, `headroom` | ARM for one subscription and region |
//! | `calls`, `permissions` | every call as data, and what an identity needs for them |
//! | `transport` | how requests travel |
//! | `batch` | sweeps: many pools, few calls |
//! | `observe`, `images` | reads only |
//! | `guest` | Scheduled Events, as the machine itself is told them |
//! | `apply`, `operations` | one arm per action; what outlives a call |
//! | `wire` | plan types to bodies, answers to plan types |
//! | `errors`, `error_body` | provider codes to classes, a table |

mod apply;
mod backend;
mod batch;
pub mod calls;
mod certificate;
mod clients;
mod credentials;
mod error_body;
mod errors;
mod examine;
mod guest;
mod headroom;
mod images;
mod metadata;
mod observe;
mod operations;
mod permissions;
mod tokens;
mod transport;
mod wire;

pub use backend::{Azure, AzureBackend, Clock, Endpoints, Options};
pub use credentials::Ambient;
pub use guest::Guest;
pub use permissions::{permissions, role};
pub use remuda_cloud::sweep::SweepTiming;
