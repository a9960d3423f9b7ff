//! What a request asks for: its path, options, selectors, body and the wished form of the answer.

pub(crate) mod accept;
pub(crate) mod body;
pub(crate) mod duplicates;
pub(crate) mod fields;
pub(crate) mod options;
pub(crate) mod path;
mod protobuf;
pub(crate) mod selector;

/// Who sends a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) name: String,
    pub(crate) groups: Vec<String>,
}

impl Caller {
    /// The one identity that may do everything.
    pub(crate) fn admin() -> Self {
        Self {
            name: "kubernetes-admin".into(),
            groups: vec!["system:masters".into(), "system:authenticated".into()],
        }
    }
}
