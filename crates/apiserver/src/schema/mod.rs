//! Structural schemas: parse once, then prune, default and validate every write.
//!
//! | file | duty |
//! | --- | --- |
//! | `structural` | the parsed tree |
//! | `parse` | from `openAPIV3Schema` to the tree, or why not |
//! | `structure` | what makes a schema structural |
//! | `pattern` | regular expressions in the dialect of schemas |
//! | `builtin` | trees of the built-in kinds |
//! | `decoding` | whether an object of a built-in kind has the types that its fields have |
//! | `prune` | drops unknown fields and names them |
//! | `defaulting` | fills absent fields |
//! | `validate` | the order of the checks |
//! | `values` | types, bounds, formats, combinations |
//! | `embedded` | types and metadata of embedded resources |
//! | `lists` | uniqueness in sets and maps |
//! | `rules` | CEL: declared, typed, evaluated |
//! | `correlate` | the old value of a new one |
//! | `printed` | values inside messages |
//! | `field_error` | one problem, in Kubernetes' words |
//!
//! Everything here is a pure function of its arguments.

pub mod builtin;
mod correlate;
mod decoding;
mod defaulting;
mod embedded;
pub(crate) mod field_error;
mod format;
mod lists;
mod parse;
mod path;
mod pattern;
pub(crate) mod printed;
mod prune;
mod rules;
pub mod structural;
mod structure;
mod validate;
mod values;

pub(crate) use decoding::problem as decode_problem;
pub use defaulting::default;
pub use field_error::{FieldError, FieldErrorKind};
pub(crate) use format::go_duration_nanoseconds;
pub use prune::prune;
pub(crate) use rules::Expression;
pub use structural::Structural;
pub use validate::{validate, validate_beside};
