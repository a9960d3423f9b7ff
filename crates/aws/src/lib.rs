//! The AWS backend.
