//! Acting as somebody else: the `Impersonate-…` headers.
//!
//! In: a caller and headers. Out: the identities asked for, as questions to the authorizer, and
//! the caller to go on with.

use std::collections::BTreeMap;

use http::HeaderMap;
use percent_encoding::percent_decode_str;

use super::attributes::{Attributes, Resource};
use super::caller::{
    ANONYMOUS, AUTHENTICATED, Caller, UNAUTHENTICATED, service_account_groups, service_account_of,
};
use crate::status_error::{Failure, Outcome};

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA: &str = "impersonate-extra-";
const AUTHENTICATION: &str = "authentication.k8s.io";

/// What a request's headers ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Wish {
    user: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// The identity that the headers ask for, and what its sender must be allowed to do for it;
/// `None` when they ask for none.
pub(crate) fn wished(headers: &HeaderMap) -> Outcome<Option<(Caller, Vec<Attributes>)>> {
    let wish = Wish::read(headers);
    if wish == Wish::default() {
        return Ok(None);
    }
    if wish.user.is_empty() {
        let message = format!("requested {} without impersonating a user", wish.listed());
        return Err(Failure::internal(message));
    }
    let questions = wish.questions();
    Ok(Some((wish.caller(), questions)))
}

/// Whether any header is one of these.
pub(crate) fn asks(headers: &HeaderMap) -> bool {
    headers
        .keys()
        .any(|name| name.as_str().starts_with("impersonate-"))
}

impl Wish {
    fn read(headers: &HeaderMap) -> Self {
        let mut wish = Self::default();
        for (name, value) in headers {
            let Ok(value) = value.to_str().map(str::to_owned) else {
                continue;
            };
            match name.as_str() {
                USER if wish.user.is_empty() => wish.user = value,
                UID if wish.uid.is_empty() => wish.uid = value,
                GROUP => wish.groups.push(value),
                other => {
                    if let Some(key) = other.strip_prefix(EXTRA) {
                        let key = percent_decode_str(key).decode_utf8_lossy();
                        let key = key.to_lowercase();
                        wish.extra.entry(key).or_default().push(value);
                    }
                }
            }
        }
        wish
    }

    fn listed(&self) -> String {
        let groups = self.groups.iter().map(|name| format!("group {name:?}"));
        let extra = self.extra.keys().map(|key| format!("extra {key:?}"));
        let uid = (!self.uid.is_empty()).then(|| format!("uid {:?}", self.uid));
        groups
            .chain(extra)
            .chain(uid)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// One question an identity.
    fn questions(&self) -> Vec<Attributes> {
        let ask = |group: &str, plural: &str, subresource: &str, namespace: &str, name: &str| {
            Attributes::on(
                "impersonate",
                Resource {
                    group: group.into(),
                    plural: plural.into(),
                    subresource: subresource.into(),
                    namespace: namespace.into(),
                    name: name.into(),
                },
            )
        };
        let mut questions = vec![match service_account_of(&self.user) {
            Some((namespace, name)) => ask("", "serviceaccounts", "", namespace, name),
            None => ask("", "users", "", "", &self.user),
        }];
        questions.extend(
            self.groups
                .iter()
                .map(|name| ask("", "groups", "", "", name)),
        );
        for (key, values) in &self.extra {
            let each = values.iter();
            questions.extend(each.map(|value| ask(AUTHENTICATION, "userextras", key, "", value)));
        }
        if !self.uid.is_empty() {
            questions.push(ask(AUTHENTICATION, "uids", "", "", &self.uid));
        }
        questions
    }

    fn caller(self) -> Caller {
        let mut groups = self.groups;
        if groups.is_empty()
            && let Some((namespace, _)) = service_account_of(&self.user)
        {
            groups = service_account_groups(namespace);
        }
        let (fitting, other) = if self.user == ANONYMOUS {
            (UNAUTHENTICATED, UNAUTHENTICATED)
        } else {
            (AUTHENTICATED, UNAUTHENTICATED)
        };
        if !groups
            .iter()
            .any(|group| group == fitting || group == other)
        {
            groups.push(fitting.into());
        }
        Caller {
            name: self.user,
            uid: self.uid,
            groups,
            extra: self.extra,
        }
    }
}
