//! Whether an identity's Secret is there and complete. Pure.

use std::collections::BTreeSet;

use remuda_plan::pool::objects::IdentityObject;

use crate::conditions::Wanted;

/// What is known of the source Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SecretFinding {
    /// `spec.secretRef` is not set.
    Unnamed,
    /// It does not exist.
    Missing,
    /// It has these keys.
    Keys(BTreeSet<String>),
}

/// What the identity's `Ready` condition says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// The Secret can be used.
    pub ready: bool,
    /// Reason.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

impl Verdict {
    /// `True` or `False`.
    pub(crate) fn status(&self) -> &'static str {
        if self.ready { "True" } else { "False" }
    }

    /// As a condition.
    pub(crate) fn condition(&self) -> Wanted {
        Wanted {
            kind: "Ready".to_owned(),
            status: self.status(),
            reason: self.reason.to_owned(),
            message: self.message.clone(),
        }
    }
}

/// Judges an identity by its Secret.
pub(crate) fn judge(identity: &IdentityObject, secret: &SecretFinding) -> Verdict {
    let source = identity.spec.secret_ref.clone().unwrap_or_default();
    let place = format!("{}/{}", source.namespace, source.name);
    let keys = match secret {
        SecretFinding::Unnamed => {
            return not_ready("SecretNotFound", "spec.secretRef is not set".to_owned());
        }
        SecretFinding::Missing => {
            let message = format!("the Secret {place} does not exist: create it");
            return not_ready("SecretNotFound", message);
        }
        SecretFinding::Keys(keys) => keys,
    };
    let missing: BTreeSet<&str> = identity
        .spec
        .required_keys
        .iter()
        .filter(|key| !keys.contains(*key))
        .map(String::as_str)
        .collect();
    if missing.is_empty() {
        return Verdict {
            ready: true,
            reason: "SecretFound",
            message: format!("the Secret {place} is there"),
        };
    }
    let missing: Vec<&str> = missing.into_iter().collect();
    let message = format!("the Secret {place} lacks the keys {}", missing.join(", "));
    not_ready("CredentialsIncomplete", message)
}

fn not_ready(reason: &'static str, message: String) -> Verdict {
    Verdict {
        ready: false,
        reason,
        message,
    }
}

#[cfg(test)]
mod tests {
    use remuda_plan::pool::objects::{IdentityObject, SecretRef};

    use super::{BTreeSet, SecretFinding, judge};

    fn identity() -> IdentityObject {
        let mut identity = IdentityObject::default();
        identity.spec.secret_ref = Some(SecretRef {
            name: "aws".to_owned(),
            namespace: "ops".to_owned(),
        });
        identity.spec.required_keys = vec!["B".to_owned(), "A".to_owned(), "C".to_owned()];
        identity
    }

    #[test]
    fn missing_keys_are_named_in_order() {
        let keys = BTreeSet::from(["B".to_owned()]);
        let verdict = judge(&identity(), &SecretFinding::Keys(keys));
        assert_eq!(verdict.reason, "CredentialsIncomplete");
        assert_eq!(verdict.message, "the Secret ops/aws lacks the keys A, C");
    }

    #[test]
    fn a_missing_secret_is_named() {
        let verdict = judge(&identity(), &SecretFinding::Missing);
        assert_eq!((verdict.ready, verdict.reason), (false, "SecretNotFound"));
        assert!(verdict.message.contains("ops/aws"), "{}", verdict.message);
    }

    #[test]
    fn a_complete_secret_is_ready() {
        let keys = ["A", "B", "C", "D"].map(str::to_owned);
        assert!(judge(&identity(), &SecretFinding::Keys(BTreeSet::from(keys))).ready);
    }
}
