//! The question.

use serde_json::Value;

/// What is about to happen to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It is created.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
}

impl Operation {
    /// As a review spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }

    /// The one that a review names.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Create, Self::Update, Self::Delete]
            .into_iter()
            .find(|operation| operation.name() == name)
    }
}

/// One request about one object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request<'a> {
    /// What is about to happen.
    pub operation: Operation,
    /// The object as it will be; null on deletion.
    pub object: &'a Value,
    /// The object as it is; absent on creation.
    pub old: Option<&'a Value>,
    /// Nothing of the request is kept.
    pub dry_run: bool,
}

impl<'a> Request<'a> {
    /// Something about to be created.
    pub fn create(object: &'a Value) -> Self {
        Self {
            operation: Operation::Create,
            object,
            old: None,
            dry_run: false,
        }
    }

    /// Something about to be changed.
    pub fn update(object: &'a Value, old: &'a Value) -> Self {
        Self {
            operation: Operation::Update,
            object,
            old: Some(old),
            dry_run: false,
        }
    }

    /// Something about to be deleted.
    pub fn delete(old: &'a Value) -> Self {
        Self {
            operation: Operation::Delete,
            object: &Value::Null,
            old: Some(old),
            dry_run: false,
        }
    }

    /// Whether the spec is what it was: then there is nothing to judge.
    pub fn leaves_spec(&self) -> bool {
        self.old
            .is_some_and(|old| old["spec"] == self.object["spec"])
    }

    /// What the object is about: the old one on deletion.
    pub fn subject(&self) -> &'a Value {
        match self.old {
            Some(old) if self.operation == Operation::Delete => old,
            _ => self.object,
        }
    }
}
