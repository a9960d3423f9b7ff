//! Kubernetes kinds that Remuda serves, one kind a file, no logic.
