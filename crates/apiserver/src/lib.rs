//! An embedded Kubernetes API server.

pub mod apply;
pub mod openapi;
pub mod patch;
pub mod schema;
pub mod table;
