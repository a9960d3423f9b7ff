//! Bootstrap tokens: how machines introduce themselves before they have a certificate. Each is a
//! Secret of `kube-system`.

use jiff::Timestamp;
use serde_json::Value;

use crate::access::caller::{AUTHENTICATED, Caller};
use crate::instance::Instance;
use crate::object::{is_deleting, secret_text, text};
use crate::server::same_bytes;
use crate::store::Key;

const NAMESPACE: &str = "kube-system";
const PREFIX: &str = "bootstrap-token-";
const TYPE: &str = "bootstrap.kubernetes.io/token";
const GROUP: &str = "system:bootstrappers";

/// Who a token speaks for; `None` when it is none of these or does not hold.
pub(super) fn authenticate(instance: &Instance, token: &str) -> Option<Caller> {
    let (id, secret) = token.split_once('.')?;
    let plain = |text: &str, length: usize| {
        text.len() == length
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    if !plain(id, 6) || !plain(secret, 16) {
        return None;
    }
    let key = Key {
        shelf: "secrets".into(),
        namespace: NAMESPACE.into(),
        name: format!("{PREFIX}{id}"),
    };
    let stored = instance.get(&key)?.value();
    holder(&stored, id, secret, instance.now())
}

/// The identity that a stored token gives. Pure.
fn holder(stored: &Value, id: &str, secret: &str, now: Timestamp) -> Option<Caller> {
    let field = |name: &str| secret_text(stored, name).unwrap_or_default();
    let expired = match field("expiration").as_str() {
        "" => false,
        // What cannot be read ends the token, as in Kubernetes.
        time => time.parse::<Timestamp>().map_or(true, |end| end < now),
    };
    let holds = text(stored, &["type"]) == TYPE
        && !is_deleting(stored)
        && !expired
        && field("token-id") == id
        && same_bytes(field("token-secret").as_bytes(), secret.as_bytes())
        && field("usage-bootstrap-authentication") == "true";
    if !holds {
        return None;
    }
    let mut groups = vec![GROUP.to_owned()];
    let named = field("auth-extra-groups");
    let own = named
        .split(',')
        .map(str::trim)
        .filter(|group| !group.is_empty());
    for group in own {
        // One name outside of this group's own spoils the whole token, as in Kubernetes.
        let name = group.strip_prefix(GROUP)?.strip_prefix(':')?;
        if name.is_empty() {
            return None;
        }
        groups.push(group.to_owned());
    }
    groups.push(AUTHENTICATED.to_owned());
    Some(Caller {
        name: format!("system:bootstrap:{id}"),
        groups,
        ..Caller::default()
    })
}
