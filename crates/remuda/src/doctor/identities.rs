//! Each identity has a credential, and its cloud takes it.

use remuda_cloud::Credentials;
use remuda_controllers::{
    identity::{Credential, credential},
    kinds::Kind,
};
use remuda_plan::pool::objects::{AllowedNamespaces, IdentityObject};

use super::{finding::Finding, patient::Patient};

/// Looks at every TerraformClusterIdentity.
pub(super) async fn run(patient: &Patient) -> Vec<Finding> {
    let identities = match patient.list(Kind::TerraformClusterIdentity).await {
        Ok(identities) => identities,
        Err(error) => {
            let remedy = "run with the right to list terraformclusteridentities";
            return vec![Finding::warn("identities", error.to_string(), remedy)];
        }
    };
    let mut findings = Vec::new();
    for identity in identities {
        match serde_json::from_value::<IdentityObject>(identity) {
            Ok(identity) => findings.push(one(&identity, patient).await),
            Err(error) => findings.push(Finding::fail(
                "an identity",
                format!("has an unexpected shape: {error}"),
                "apply it again with this version's definitions",
            )),
        }
    }
    findings
}

async fn one(identity: &IdentityObject, patient: &Patient) -> Finding {
    let subject = format!("identity {}", identity.metadata.name);
    let found = match credential(identity, &patient.context.objects).await {
        Ok(found) => found,
        Err(error) => {
            let remedy = "run with the right to get its Secret, or as the manager (--as)";
            return Finding::warn(subject, error.to_string(), remedy);
        }
    };
    let credentials = match found {
        Credential::Found(credentials) => credentials,
        Credential::Unnamed => {
            let remedy = "set spec.secretRef to the name and namespace of a Secret";
            return Finding::fail(subject, "names no Secret", remedy);
        }
        Credential::Missing(source) => {
            let secret = format!("{}/{}", source.namespace, source.name);
            let remedy = format!("create the Secret {secret}, or correct spec.secretRef");
            return Finding::fail(
                subject,
                format!("its Secret {secret} does not exist"),
                remedy,
            );
        }
        Credential::Lacks(keys) => {
            let keys = keys.join(", ");
            let remedy = "add them to the Secret, or take them from spec.requiredKeys";
            return Finding::fail(subject, format!("its Secret lacks {keys}"), remedy);
        }
        Credential::Unreadable(why) => {
            return Finding::fail(subject, why, "create the Secret anew");
        }
    };
    let who = match who(&credentials, patient).await {
        Ok(who) => who,
        Err(why) => {
            let remedy = "put a credential that works into its Secret";
            return Finding::fail(subject, why, remedy);
        }
    };
    match allowed(identity.spec.allowed_namespaces.as_ref()) {
        Some(namespaces) => Finding::ok(subject, format!("{who}, for {namespaces}")),
        None => Finding::warn(
            subject,
            format!("{who}, for no namespace"),
            "set spec.allowedNamespaces: pools of no namespace may use it",
        ),
    }
}

/// Who the credential is: the cloud that can read its keys is asked.
async fn who(credentials: &Credentials, patient: &Patient) -> Result<String, String> {
    let mut unreadable = Vec::new();
    for backend in patient.context.backends.values() {
        match backend.session(credentials).await {
            Ok(session) => {
                return session
                    .who()
                    .await
                    .map_err(|error| error.failure.to_string());
            }
            Err(error) => unreadable.push(error.failure.message),
        }
    }
    Err(unreadable.join("; "))
}

/// The namespaces that may use an identity, in words; `None`: none may.
fn allowed(namespaces: Option<&AllowedNamespaces>) -> Option<String> {
    let AllowedNamespaces { list, selector } = namespaces?;
    let selected = selector.as_ref().map(|selector| {
        let labels = serde_json::to_value(selector).unwrap_or_default();
        let every = labels.as_object().is_none_or(|fields| {
            fields.values().all(|field| {
                field.as_object().is_some_and(serde_json::Map::is_empty)
                    || field.as_array().is_some_and(Vec::is_empty)
            })
        });
        if every {
            "every namespace".to_owned()
        } else {
            "namespaces of a selector".to_owned()
        }
    });
    match (list.is_empty(), selected) {
        (true, None) => None,
        (true, Some(selected)) => Some(selected),
        (false, None) => Some(list.join(", ")),
        (false, Some(selected)) => Some(format!("{} and {selected}", list.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_use_an_identity_is_told_in_words() {
        let read = |text: &str| {
            let namespaces: AllowedNamespaces = serde_json::from_str(text).unwrap();
            allowed(Some(&namespaces))
        };
        assert_eq!(allowed(None), None);
        assert_eq!(read("{}"), None);
        assert_eq!(read(r#"{"list":["a","b"]}"#).as_deref(), Some("a, b"));
        assert_eq!(
            read(r#"{"selector":{}}"#).as_deref(),
            Some("every namespace")
        );
        let some = r#"{"list":["a"],"selector":{"matchLabels":{"team":"b"}}}"#;
        assert_eq!(
            read(some).as_deref(),
            Some("a and namespaces of a selector")
        );
    }
}
