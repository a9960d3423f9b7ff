//! Tokens of ServiceAccounts: what they claim, and when a claim holds.
//!
//! A token lives no longer than its ServiceAccount and the object it is bound to: both are looked
//! up, by name and uid, each time.

use serde_json::{Map, Value, json};

use crate::access::caller::Caller;
use crate::instance::Instance;
use crate::object::{at, text};
use crate::status_error::{Failure, Outcome};
use crate::store::{Key, Record};

/// The shelf of ServiceAccounts.
pub(crate) const SHELF: &str = "serviceaccounts";
/// Who issues the tokens of Secrets, which have no end.
const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";
const LEGACY: &str = "kubernetes.io/serviceaccount";
/// The claim that Kubernetes keeps its own facts in.
const FACTS: &str = "kubernetes.io";
/// Clocks may differ by this much, in seconds.
const LEEWAY: i64 = 60;

/// An object that a token needs to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// What a token is bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) pod: Option<Reference>,
    pub(crate) secret: Option<Reference>,
    pub(crate) node: Option<Reference>,
}

/// A token that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) caller: Caller,
    pub(crate) audiences: Vec<String>,
}

/// The issuer of an instance's tokens, which is their default audience, too.
pub(crate) fn issuer(instance: &str) -> String {
    const HOST: &str = "https://kubernetes.default.svc";
    if instance.is_empty() {
        HOST.to_owned()
    } else {
        format!("{HOST}/clusters/{instance}")
    }
}

/// What others need to check the tokens of an instance by themselves.
pub(crate) fn issuer_document(instance: &str) -> Value {
    let issuer = issuer(instance);
    json!({
        "issuer": issuer, "jwks_uri": format!("{issuer}/openid/v1/jwks"),
        "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    })
}

/// Makes a token for a ServiceAccount, and tells when it ends, in seconds of the epoch.
pub(crate) fn issue(
    instance: &Instance,
    namespace: &str,
    account: &Reference,
    bound: &Bound,
    audiences: &[String],
    seconds: i64,
) -> Outcome<(String, i64)> {
    let now = instance.now().as_second();
    let mut facts = Map::new();
    facts.insert("namespace".into(), namespace.into());
    let references = [
        ("serviceaccount", Some(account)),
        ("pod", bound.pod.as_ref()),
        ("secret", bound.secret.as_ref()),
        ("node", bound.node.as_ref()),
    ];
    for (field, reference) in references {
        if let Some(Reference { name, uid }) = reference {
            facts.insert(field.into(), json!({"name": name, "uid": uid}));
        }
    }
    let claims = json!({
        "aud": audiences, "exp": now + seconds, "iat": now, "nbf": now,
        "iss": issuer(instance.name()), "jti": instance.ids().uid(), FACTS: facts,
        "sub": Caller::service_account(namespace, &account.name).name(),
    });
    let key = instance.authority().token_key();
    let token = key.sign(&claims).map_err(Failure::internal)?;
    Ok((token, now + seconds))
}

/// Makes the token that a Secret carries: it ends with the Secret or the ServiceAccount.
pub(crate) fn issue_for_secret(
    instance: &Instance,
    namespace: &str,
    account: &Reference,
    secret: &str,
) -> Outcome<String> {
    let claims = json!({
        "iss": LEGACY_ISSUER,
        "sub": Caller::service_account(namespace, &account.name).name(),
        format!("{LEGACY}/namespace"): namespace,
        format!("{LEGACY}/secret.name"): secret,
        format!("{LEGACY}/service-account.name"): account.name,
        format!("{LEGACY}/service-account.uid"): account.uid,
    });
    let key = instance.authority().token_key();
    key.sign(&claims).map_err(Failure::internal)
}

/// Who a token speaks for; `None` when it does not hold.
pub(super) fn authenticate(instance: &Instance, token: &str) -> Option<Accepted> {
    let claims = instance.authority().token_key().open(token)?;
    match text(&claims, &["iss"]) {
        LEGACY_ISSUER => legacy(instance, token, &claims),
        own if own == issuer(instance.name()) => timely(instance, &claims),
        _ => None,
    }
}

fn timely(instance: &Instance, claims: &Value) -> Option<Accepted> {
    let now = instance.now().as_second();
    let second = |claim: &str| claims.get(claim).and_then(Value::as_i64);
    if second("exp")? + LEEWAY < now || second("nbf")? > now + LEEWAY {
        return None;
    }
    let facts = claims.get(FACTS)?;
    let namespace = text(facts, &["namespace"]);
    let account = reference(facts, "serviceaccount")?;
    let caller = holder(instance, namespace, &account)?;
    let mut extra = vec![(
        "authentication.kubernetes.io/credential-id",
        format!("JTI={}", text(claims, &["jti"])),
    )];
    for (field, shelf, namespace, kind) in [
        ("secret", "secrets", namespace, ""),
        ("pod", "pods", namespace, "pod"),
        ("node", "nodes", "", "node"),
    ] {
        let Some(bound) = reference(facts, field) else {
            continue;
        };
        let found = live(instance, shelf, namespace, &bound.name);
        // The node of a pod is told, not demanded.
        let told = field == "node" && reference(facts, "pod").is_some();
        if !told && found.is_none_or(|record| *record.head.uid != *bound.uid) {
            return None;
        }
        match kind {
            "pod" => {
                extra.push(("authentication.kubernetes.io/pod-name", bound.name));
                extra.push(("authentication.kubernetes.io/pod-uid", bound.uid));
            }
            "node" => {
                extra.push(("authentication.kubernetes.io/node-name", bound.name));
                extra.push(("authentication.kubernetes.io/node-uid", bound.uid));
            }
            _ => {}
        }
    }
    let extra = extra
        .into_iter()
        .map(|(key, value)| (key.to_owned(), vec![value]));
    let audiences = claims.get("aud").and_then(Value::as_array);
    let audiences = audiences.into_iter().flatten().filter_map(Value::as_str);
    Some(Accepted {
        caller: Caller {
            extra: extra.collect(),
            ..caller
        },
        audiences: audiences.map(str::to_owned).collect(),
    })
}

fn legacy(instance: &Instance, token: &str, claims: &Value) -> Option<Accepted> {
    let claim = |name: &str| text(claims, &[&format!("{LEGACY}/{name}")]);
    let namespace = claim("namespace");
    let account = Reference {
        name: claim("service-account.name").to_owned(),
        uid: claim("service-account.uid").to_owned(),
    };
    let caller = holder(instance, namespace, &account)?;
    let secret = live(instance, "secrets", namespace, claim("secret.name"))?.value();
    let carried = crate::object::secret_text(&secret, "token")?;
    (carried == token).then(|| Accepted {
        caller,
        audiences: vec![issuer(instance.name())],
    })
}

/// The identity of a ServiceAccount that still exists.
fn holder(instance: &Instance, namespace: &str, account: &Reference) -> Option<Caller> {
    let found = live(instance, SHELF, namespace, &account.name)?;
    if *found.head.uid != *account.uid || account.uid.is_empty() || found.deleting {
        return None;
    }
    Some(Caller {
        uid: account.uid.clone(),
        ..Caller::service_account(namespace, &account.name)
    })
}

fn reference(facts: &Value, field: &str) -> Option<Reference> {
    at(facts, &[field])?;
    Some(Reference {
        name: text(facts, &[field, "name"]).to_owned(),
        uid: text(facts, &[field, "uid"]).to_owned(),
    })
}

fn live(
    instance: &Instance,
    shelf: &str,
    namespace: &str,
    name: &str,
) -> Option<std::sync::Arc<Record>> {
    let key = Key {
        shelf: shelf.into(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    instance.get(&key)
}

impl Accepted {
    /// Whether the token was made for this API server.
    pub(crate) fn is_for(&self, instance: &Instance) -> bool {
        self.audiences.contains(&issuer(instance.name()))
    }
}
