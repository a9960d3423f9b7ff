//! What a request asks for: its path, options, selectors, body and the wished form of the answer.

pub(crate) mod accept;
pub(crate) mod body;
mod duplicates;
pub(crate) mod fields;
pub(crate) mod go_json;
pub(crate) mod options;
pub(crate) mod path;
mod protobuf;
pub(crate) mod selector;
pub(crate) mod yaml;

pub(crate) use crate::access::Caller;
