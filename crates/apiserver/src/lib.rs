//! An embedded Kubernetes API server.
