//! The reconcilers, one folder a kind.
