//! A structural schema, parsed once: what every later duty (prune, default, validate, apply) walks.
//!
//! Invariants: regular expressions and rules are compiled; `properties` of an embedded resource and
//! of the root hold `apiVersion`, `kind` and `metadata`; cloning is one reference count.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use regex::Regex;
use serde_json::Value;

use super::rules::RuleSet;

/// A parsed schema of one version of one kind.
#[derive(Clone)]
pub struct Structural {
    pub(crate) root: Arc<Node>,
}

impl Structural {
    /// The root of the tree.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The node at a path of property names; list items and map values are stepped through.
    pub fn at<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Option<&Node> {
        let mut node: &Node = &self.root;
        for name in path {
            while let Some(items) = &node.items {
                node = items;
            }
            node = node.child(name)?;
        }
        Some(node)
    }
}

impl fmt::Debug for Structural {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Structural").finish_non_exhaustive()
    }
}

/// A JSON type that a schema can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonType {
    /// An object or map.
    Object,
    /// A list.
    Array,
    /// A string.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// true or false.
    Boolean,
}

impl JsonType {
    /// The name in a schema and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    /// The type with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }
}

/// How a list is merged and what must be unique in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// Replaced and owned as a whole.
    #[default]
    Atomic,
    /// Scalars, each at most once.
    Set,
    /// Objects identified by these keys, in the schema's order.
    Map(Vec<String>),
}

/// How a strategic merge patch treats a list of a built-in kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PatchStrategy {
    /// The list is replaced.
    #[default]
    Replace,
    /// Scalars are united.
    MergeScalars,
    /// Objects with the same value of this key are merged.
    MergeByKey(String),
    /// An object whose absent keys are dropped.
    RetainKeys,
    /// Objects are merged by this key, and keys absent from an entry are dropped.
    MergeByKeyRetainKeys(String),
}

/// What a schema says about keys that no property names.
#[derive(Clone, Default)]
pub enum Additional {
    /// Nothing.
    #[default]
    Absent,
    /// `additionalProperties: true` or `false`.
    Allowed(bool),
    /// Values follow this schema.
    Schema(NodeRef),
}

/// A child: owned, or shared by name among built-in types, which may refer to themselves.
#[derive(Clone)]
pub enum NodeRef {
    /// Part of this tree only.
    Own(Arc<Node>),
    /// A named type; filled before the tree is handed out.
    Shared(Arc<OnceLock<Node>>),
}

impl Deref for NodeRef {
    type Target = Node;

    fn deref(&self) -> &Node {
        match self {
            Self::Own(node) => node,
            Self::Shared(cell) => cell
                .get()
                .expect("named types are filled before their schema is returned"),
        }
    }
}

/// The value checks of one node, also inside `allOf`, `anyOf`, `oneOf` and `not`.
#[derive(Clone, Default)]
pub struct Checks {
    /// Allowed values; empty means any.
    pub allowed: Vec<Value>,
    /// A format by name, for example `date-time`.
    pub format: Option<String>,
    /// The pattern as written and compiled.
    pub pattern: Option<Pattern>,
    /// Least length of a string in characters.
    pub min_length: Option<u64>,
    /// Greatest length of a string in characters.
    pub max_length: Option<u64>,
    /// Least number.
    pub minimum: Option<f64>,
    /// Greatest number.
    pub maximum: Option<f64>,
    /// Whether the least number itself is refused.
    pub exclusive_minimum: bool,
    /// Whether the greatest number itself is refused.
    pub exclusive_maximum: bool,
    /// The number must be a multiple of this.
    pub multiple_of: Option<f64>,
    /// Least count of list entries.
    pub min_items: Option<u64>,
    /// Greatest count of list entries.
    pub max_items: Option<u64>,
    /// List entries must differ.
    pub unique_items: bool,
    /// Least count of keys.
    pub min_properties: Option<u64>,
    /// Greatest count of keys.
    pub max_properties: Option<u64>,
    /// Keys that must be present.
    pub required: Vec<String>,
    /// All of these must hold.
    pub all_of: Vec<Arc<Node>>,
    /// At least one of these must hold.
    pub any_of: Vec<Arc<Node>>,
    /// Exactly one of these must hold.
    pub one_of: Vec<Arc<Node>>,
    /// This must not hold.
    pub not: Option<Arc<Node>>,
}

impl Checks {
    /// Whether there is a logical combination, which the published short form leaves out.
    pub(crate) fn has_junctors(&self) -> bool {
        !(self.all_of.is_empty() && self.any_of.is_empty() && self.one_of.is_empty())
            || self.not.is_some()
    }
}

/// A pattern as the schema writes it, and compiled.
#[derive(Clone)]
pub struct Pattern {
    /// As written.
    pub source: String,
    pub(crate) regex: Regex,
}

/// One node of a structural schema.
#[derive(Clone, Default)]
pub struct Node {
    /// The JSON type; `None` for int-or-string, for preserved unknown values and in combinations.
    pub json_type: Option<JsonType>,
    /// Whether `null` is a value.
    pub nullable: bool,
    /// Whether both integers and strings are values.
    pub int_or_string: bool,
    /// Whether unknown fields stay.
    pub preserve_unknown: bool,
    /// Whether the value is a whole Kubernetes object.
    pub embedded_resource: bool,
    /// Whether the value is a whole Kubernetes object, as the root is.
    pub(crate) whole_object: bool,
    /// The value of an absent field.
    pub default: Option<Value>,
    /// Named fields.
    pub properties: BTreeMap<String, NodeRef>,
    /// Other keys.
    pub additional: Additional,
    /// List entries.
    pub items: Option<NodeRef>,
    /// Value checks.
    pub checks: Checks,
    /// How lists merge; `None` when the schema doesn't say (atomic).
    pub list_type: Option<ListType>,
    /// Whether an object is owned and replaced as a whole.
    pub atomic_map: bool,
    /// How strategic patches treat this field (built-in kinds).
    pub patch: PatchStrategy,
    /// The compiled rules of this node.
    pub(crate) rules: RuleSet,
    /// Whether this node or one below has rules.
    pub(crate) rules_below: bool,
    /// Whether rules of the tree below this root nest too deeply for a small stack.
    pub(crate) deep_rules: bool,
    /// Whether this node or one below has defaults.
    pub(crate) defaults_below: bool,
    /// Whether this node or one below has list types that demand uniqueness.
    pub(crate) lists_below: bool,
}

impl Node {
    /// The schema of a named key: a property, else the additional properties.
    pub fn child(&self, name: &str) -> Option<&Node> {
        if let Some(node) = self.properties.get(name) {
            return Some(node);
        }
        match &self.additional {
            Additional::Schema(node) => Some(node),
            Additional::Absent | Additional::Allowed(_) => None,
        }
    }

    /// How the list merges; atomic where the schema doesn't say.
    pub fn list_type(&self) -> &ListType {
        static ATOMIC: ListType = ListType::Atomic;
        self.list_type.as_ref().unwrap_or(&ATOMIC)
    }

    /// Whether keys that no property names are values of a map.
    pub(crate) fn is_map(&self) -> bool {
        !matches!(
            self.additional,
            Additional::Absent | Additional::Allowed(false)
        )
    }
}
