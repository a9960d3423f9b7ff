//! Who sends a request, as authentication found out.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// May do everything, whatever the roles say.
const MASTERS: &str = "system:masters";
/// Everybody whose credentials were accepted.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// Everybody without credentials.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of those without credentials.
pub(crate) const ANONYMOUS: &str = "system:anonymous";
/// The start of every ServiceAccount's user name.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
/// The group of all ServiceAccounts.
const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";

/// An identity: a name, groups, and what else authentication knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    pub(crate) name: String,
    /// Empty when nothing but the name tells one user from another.
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

impl Caller {
    /// The one identity that may do everything.
    pub fn admin() -> Self {
        Self::named("kubernetes-admin", &[MASTERS, AUTHENTICATED])
    }

    /// A user in no group but `system:authenticated`.
    pub fn user(name: &str) -> Self {
        Self::named(name, &[AUTHENTICATED])
    }

    /// A ServiceAccount, in the groups that Kubernetes puts it in.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        let mut caller = Self::named(&format!("{SERVICE_ACCOUNT}{namespace}:{name}"), &[]);
        caller.groups = service_account_groups(namespace);
        caller.groups.push(AUTHENTICATED.into());
        caller
    }

    pub(crate) fn anonymous() -> Self {
        Self::named(ANONYMOUS, &[UNAUTHENTICATED])
    }

    pub(crate) fn named(name: &str, groups: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            groups: groups.iter().map(ToString::to_string).collect(),
            ..Self::default()
        }
    }

    /// Adds a group.
    #[must_use]
    pub fn in_group(mut self, group: &str) -> Self {
        self.groups.push(group.to_owned());
        self
    }

    /// The user name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether no rule can stop this caller.
    pub(crate) fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }

    /// `UserInfo` as reviews and admission webhooks show it.
    pub(crate) fn user_info(&self) -> Value {
        let mut info = json!({"username": self.name});
        if !self.uid.is_empty() {
            info["uid"] = self.uid.as_str().into();
        }
        if !self.groups.is_empty() {
            info["groups"] = json!(self.groups);
        }
        if !self.extra.is_empty() {
            info["extra"] = json!(self.extra);
        }
        info
    }
}

/// The groups of every ServiceAccount of a namespace.
pub(crate) fn service_account_groups(namespace: &str) -> Vec<String> {
    vec![
        SERVICE_ACCOUNTS.to_owned(),
        format!("{SERVICE_ACCOUNTS}:{namespace}"),
    ]
}

/// The user name of a ServiceAccount.
pub(crate) fn service_account_name(namespace: &str, name: &str) -> String {
    format!("{SERVICE_ACCOUNT}{namespace}:{name}")
}

/// Namespace and name of the ServiceAccount that a user name stands for.
pub(crate) fn service_account_of(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}
