//! What the manager may do in the management cluster: the rules of its roles, each with its reason.
//!
//! | file | what |
//! | --- | --- |
//! | `rules` | the rules, as data |
//! | `roles` | the roles that hold them, as a person would write them |
//!
//! `remuda install` prints the roles. Every test world runs the manager with them and no others, and
//! fails when something was refused; one test proves that nothing is granted that is never asked.

mod roles;
mod rules;

pub use self::{
    roles::{Roles, SERVICE_ACCOUNT},
    rules::RULES,
};

/// When a rule is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needed {
    /// Always.
    Always,
    /// Where Remuda runs the core controllers itself (`--core=on`, or `auto` without upstream's).
    Core,
    /// Where the manager makes the certificates of its webhooks itself.
    OwnCertificates,
}

/// Where a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Objects that live in no namespace, or in one that is not known beforehand.
    Cluster,
    /// Objects of the namespaces that the manager watches: all, or one.
    Watched,
    /// Objects in the manager's own namespace.
    Own,
}

/// One rule of the manager's roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Where.
    pub reach: Reach,
    /// When.
    pub needed: Needed,
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Resource, with its subresource as `machines/status`.
    pub resource: &'static str,
    /// Verbs.
    pub verbs: &'static [&'static str],
    /// Only objects of these names; empty: of any.
    pub names: &'static [&'static str],
    /// Why.
    pub because: &'static str,
}

/// What a manager does, as far as its rights depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duties {
    /// The core controllers run here.
    pub core: bool,
    /// The certificates of the webhooks are made here.
    pub own_certificates: bool,
}

impl Duties {
    /// Everything.
    pub const ALL: Self = Self {
        core: true,
        own_certificates: true,
    };

    /// The rules that these duties need.
    pub fn rules(self) -> impl Iterator<Item = &'static Rule> {
        RULES.iter().filter(move |rule| match rule.needed {
            Needed::Always => true,
            Needed::Core => self.core,
            Needed::OwnCertificates => self.own_certificates,
        })
    }
}
