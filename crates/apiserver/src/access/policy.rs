//! Roles and bindings, indexed by subject; and the decision.
//!
//! In: a caller and a question. Out: allowed or not, and why. A pure function on plain data:
//! nothing here reads a store or a clock.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::attributes::{Asked, Attributes};
use super::caller::{Caller, service_account_name};
use super::rules::Rule;
use crate::object::text;

/// The scope of cluster roles and their bindings.
const CLUSTER: &str = "";
const CLUSTER_ROLE: &str = "ClusterRole";

/// The roles and bindings of one instance.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    /// By namespace; the cluster's own under the empty name.
    scopes: HashMap<String, Scope>,
}

#[derive(Debug, Default)]
struct Scope {
    roles: HashMap<String, Vec<Rule>>,
    bindings: BTreeMap<String, Binding>,
    /// Names of bindings by the users and groups that they bind.
    users: HashMap<String, BTreeSet<String>>,
    groups: HashMap<String, BTreeSet<String>>,
}

/// Who gets which role.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Binding {
    role_kind: String,
    role_name: String,
    subjects: Vec<Subject>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Subject {
    User(String),
    Group(String),
    ServiceAccount { namespace: String, name: String },
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) allowed: bool,
    /// Why, in Kubernetes' words; often empty.
    pub(crate) reason: String,
}

/// All that a caller may do in a namespace and in the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) rules: Vec<Rule>,
    /// Roles that are bound but do not exist.
    pub(crate) problems: Vec<String>,
}

impl Policy {
    /// Takes over a Role (with a namespace) or ClusterRole (without); `None` removes it.
    pub(crate) fn set_role(&mut self, namespace: &str, name: &str, role: Option<&Value>) {
        let scope = self.scopes.entry(namespace.to_owned()).or_default();
        match role {
            Some(role) => scope.roles.insert(name.to_owned(), Rule::of_role(role)),
            None => scope.roles.remove(name),
        };
        self.forget_if_empty(namespace);
    }

    /// Takes over a RoleBinding (with a namespace) or ClusterRoleBinding; `None` removes it.
    pub(crate) fn set_binding(&mut self, namespace: &str, name: &str, binding: Option<&Value>) {
        let scope = self.scopes.entry(namespace.to_owned()).or_default();
        if let Some(old) = scope.bindings.remove(name) {
            scope.index(&old, |names| {
                names.remove(name);
            });
        }
        if let Some(binding) = binding.map(|binding| Binding::read(namespace, binding)) {
            scope.index(&binding, |names| {
                names.insert(name.to_owned());
            });
            scope.bindings.insert(name.to_owned(), binding);
        }
        self.forget_if_empty(namespace);
    }

    fn forget_if_empty(&mut self, namespace: &str) {
        let empty = |scope: &Scope| scope.roles.is_empty() && scope.bindings.is_empty();
        if self.scopes.get(namespace).is_some_and(empty) {
            self.scopes.remove(namespace);
        }
    }

    /// The rules of a role; `None` when there is no such role.
    pub(crate) fn role(&self, kind: &str, namespace: &str, name: &str) -> Option<&[Rule]> {
        let scope = if kind == CLUSTER_ROLE {
            CLUSTER
        } else {
            namespace
        };
        let rules = self.scopes.get(scope)?.roles.get(name)?;
        Some(rules)
    }

    /// Whether the caller may do what is asked.
    pub(crate) fn decide(&self, caller: &Caller, asked: &Attributes) -> Decision {
        if caller.is_master() {
            return Decision {
                allowed: true,
                reason: String::new(),
            };
        }
        let namespace = match &asked.object {
            Asked::Resource(resource) => resource.namespace.as_str(),
            Asked::Path(_) => CLUSTER,
        };
        let mut problems = Vec::new();
        for bound in self.bound(caller, namespace) {
            match bound.rules {
                Some(rules) if rules.iter().any(|rule| rule.allows(asked)) => {
                    return Decision {
                        allowed: true,
                        reason: format!("RBAC: allowed by {}", bound.described()),
                    };
                }
                Some(_) => {}
                None => problems.push(bound.binding.missing()),
            }
        }
        let reason = match problems.as_slice() {
            [] => String::new(),
            [one] => format!("RBAC: {one}"),
            many => format!("RBAC: [{}]", many.join(", ")),
        };
        Decision {
            allowed: false,
            reason,
        }
    }

    /// Every rule that applies to the caller in a namespace (empty: in the cluster).
    pub(crate) fn held(&self, caller: &Caller, namespace: &str) -> Held {
        let mut held = Held::default();
        for bound in self.bound(caller, namespace) {
            match bound.rules {
                Some(rules) => held.rules.extend_from_slice(rules),
                None => held.problems.push(bound.binding.missing()),
            }
        }
        held
    }

    /// The bindings that apply to the caller: those of the cluster, then those of the namespace.
    fn bound<'a>(
        &'a self,
        caller: &'a Caller,
        namespace: &'a str,
    ) -> impl Iterator<Item = Bound<'a>> {
        let scopes = [CLUSTER, namespace];
        let scopes = scopes
            .into_iter()
            .take(if namespace.is_empty() { 1 } else { 2 });
        scopes
            .filter_map(|name| Some((name, self.scopes.get(name)?)))
            .flat_map(move |(namespace, scope)| {
                scope.names_for(caller).into_iter().filter_map(move |name| {
                    let binding = scope.bindings.get(name)?;
                    let rules = self.role(&binding.role_kind, namespace, &binding.role_name);
                    Some(Bound {
                        namespace,
                        name,
                        binding,
                        caller,
                        rules,
                    })
                })
            })
    }
}

/// A binding that applies to a caller, and the rules that it gives.
struct Bound<'a> {
    namespace: &'a str,
    name: &'a str,
    binding: &'a Binding,
    caller: &'a Caller,
    rules: Option<&'a [Rule]>,
}

impl Bound<'_> {
    fn described(&self) -> String {
        let Binding {
            role_kind,
            role_name,
            subjects,
        } = self.binding;
        let subject = subjects.iter().find(|subject| subject.is(self.caller));
        let subject = subject.map(Subject::described).unwrap_or_default();
        let binding = match self.namespace {
            CLUSTER => format!("ClusterRoleBinding {:?}", self.name),
            namespace => format!("RoleBinding {:?}", format!("{}/{namespace}", self.name)),
        };
        format!("{binding} of {role_kind} {role_name:?} to {subject}")
    }
}

impl Scope {
    /// Changes the entries of the index that a binding is under.
    fn index(&mut self, binding: &Binding, change: impl Fn(&mut BTreeSet<String>)) {
        for subject in &binding.subjects {
            let (index, key) = match subject {
                Subject::User(name) => (&mut self.users, name.clone()),
                Subject::Group(name) => (&mut self.groups, name.clone()),
                Subject::ServiceAccount { namespace, name } => {
                    (&mut self.users, service_account_name(namespace, name))
                }
            };
            let names = index.entry(key.clone()).or_default();
            change(names);
            if names.is_empty() {
                index.remove(&key);
            }
        }
    }

    /// The names of the bindings that bind a caller, in order.
    fn names_for<'a>(&'a self, caller: &Caller) -> BTreeSet<&'a str> {
        let by_group = caller
            .groups
            .iter()
            .filter_map(|name| self.groups.get(name));
        let found = self.users.get(&caller.name).into_iter().chain(by_group);
        found.flatten().map(String::as_str).collect()
    }
}

impl Binding {
    fn read(namespace: &str, binding: &Value) -> Self {
        let subjects = binding.get("subjects").and_then(Value::as_array);
        Self {
            role_kind: text(binding, &["roleRef", "kind"]).to_owned(),
            role_name: text(binding, &["roleRef", "name"]).to_owned(),
            subjects: subjects
                .into_iter()
                .flatten()
                .filter_map(|subject| Subject::read(namespace, subject))
                .collect(),
        }
    }

    /// The complaint about a role that does not exist.
    fn missing(&self) -> String {
        let kind = self.role_kind.to_ascii_lowercase();
        format!(
            "{kind}.rbac.authorization.k8s.io {:?} not found",
            self.role_name
        )
    }
}

impl Subject {
    fn read(binding_namespace: &str, subject: &Value) -> Option<Self> {
        let name = text(subject, &["name"]).to_owned();
        match text(subject, &["kind"]) {
            "User" => Some(Self::User(name)),
            "Group" => Some(Self::Group(name)),
            "ServiceAccount" => {
                let own = text(subject, &["namespace"]);
                let namespace = if own.is_empty() {
                    binding_namespace
                } else {
                    own
                };
                let namespace = (!namespace.is_empty()).then(|| namespace.to_owned())?;
                Some(Self::ServiceAccount { namespace, name })
            }
            _ => None,
        }
    }

    fn is(&self, caller: &Caller) -> bool {
        match self {
            Self::User(name) => *name == caller.name,
            Self::Group(name) => caller.groups.contains(name),
            Self::ServiceAccount { namespace, name } => {
                service_account_name(namespace, name) == caller.name
            }
        }
    }

    fn described(&self) -> String {
        match self {
            Self::User(name) => format!("User {name:?}"),
            Self::Group(name) => format!("Group {name:?}"),
            Self::ServiceAccount { namespace, name } => {
                format!("ServiceAccount {:?}", format!("{name}/{namespace}"))
            }
        }
    }
}
