//! An embedded Kubernetes API server.
//!
//! A library that serves the Kubernetes API from memory or from one durable file, to `kubectl`
//! over TLS on loopback and to `kube::Client` in process, without a socket:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use remuda_apiserver::ApiServer;
//!
//! let server = ApiServer::builder().build()?;
//! let client = kube::Client::new(server.management().router(), "default");
//! # Ok(())
//! # }
//! ```
//!
//! It knows CustomResourceDefinitions, the built-in kinds that cluster management needs, owner
//! references, finalizers and namespaces. It runs no pods, routes no services, aggregates no other
//! servers and answers in JSON (never in protobuf).
//!
//! The path of a write: `handlers` reads the request, `handlers::write` completes and checks the
//! object (`strategy`, `metadata`, `schema`, `apply`), `store` commits it and wakes the watches,
//! `lifecycle` follows with what owner references and finalizers ask for.

mod access;
mod admission;
pub mod apply;
mod clock;
mod conversion;
mod discovery;
mod disruption;
#[doc(hidden)]
pub mod fuzzing;
mod handlers;
mod ids;
mod instance;
mod journal;
mod lifecycle;
mod metadata;
mod object;
pub mod openapi;
pub mod patch;
mod registry;
mod request;
pub mod schema;
mod secret;
mod server;
mod signing_request;
mod status_error;
mod store;
mod strategy;
pub mod table;
mod webhook;

pub use access::Caller;
pub use admission::AdmissionReview;
pub use clock::{Clock, SystemClock, TokioClock};
pub use instance::Instance;
pub use journal::{Journal, WriteRequest};
pub use server::{
    ApiServer, BuildError, Builder, CompactError, CredentialError, DataDir, RemoveError,
    ServeError, Serving,
};
pub use store::{Backup, BackupSummary, StoreError, verify_backup};
pub use webhook::{Reviewer, ServiceResolver};
