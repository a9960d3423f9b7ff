//! The ServiceAccount `default` of every namespace, and the tokens of Secrets made to carry one.
//!
//! The ConfigMap `kube-root-ca.crt` is not made: pods would mount it, and none run here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::access::tokens::service_account::{Reference, SHELF as ACCOUNTS, issue_for_secret};
use crate::handlers::{Order, Propagation, Writing, delete_begin};
use crate::instance::Instance;
use crate::object::{self, child_mut, meta_mut, secret_text, text};
use crate::registry::NAMESPACE_SHELF;
use crate::store::{Change, Event, Key};
use crate::strategy::{ACCOUNT_NAME, TOKEN_TYPE};

/// The shelf of Secrets.
pub(super) const SECRETS: &str = "secrets";
const DEFAULT: &str = "default";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// Looks at a change of a namespace, a ServiceAccount or a Secret.
pub(super) async fn note(instance: &Instance, shelf: &str, event: &Event) {
    let gone = event.change == Change::Deleted;
    match shelf {
        NAMESPACE_SHELF if !gone => settle(instance, &event.name).await,
        ACCOUNTS if gone => {
            remove_tokens(instance, &event.namespace, &event.name).await;
            settle(instance, &event.namespace).await;
        }
        SECRETS if !gone => fill(instance, &event.namespace, &event.name).await,
        _ => {}
    }
}

fn key(shelf: &str, namespace: &str, name: &str) -> Key {
    Key {
        shelf: shelf.into(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

/// Makes what a namespace lacks.
pub(super) async fn settle(instance: &Instance, namespace: &str) {
    let stays = instance
        .get(&key(NAMESPACE_SHELF, "", namespace))
        .is_some_and(|record| !record.deleting);
    if !stays {
        return;
    }
    let account = json!({"metadata": {"name": DEFAULT}});
    make(instance, ACCOUNTS, namespace, account).await;
}

async fn make(instance: &Instance, shelf: &str, namespace: &str, object: Value) {
    let exists = instance.get(&key(shelf, namespace, object::name(&object)));
    let Some(served) = instance
        .registry()
        .by_shelf(shelf)
        .filter(|_| exists.is_none())
    else {
        return;
    };
    let writing = Writing::own(instance, served, "");
    if let Err(failure) = writing.create(Some(namespace), object).await {
        tracing::debug!(error = %failure.message, "a namespace could not be completed");
    }
}

async fn update(instance: &Instance, key: &Key, change: impl Fn(&mut Value) + Send + Sync) {
    let Some(served) = instance.registry().by_shelf(&key.shelf) else {
        return;
    };
    let writing = Writing::own(instance, served, "");
    let written = writing
        .update(key, |live| {
            let mut new = live.clone();
            change(&mut new);
            Ok(new)
        })
        .await;
    if let Err(failure) = written.map_err(|failure| failure.message) {
        tracing::debug!(error = %failure, "an object of a namespace could not be written");
    }
}

async fn remove(instance: &Instance, key: &Key) {
    let Some(served) = instance.registry().by_shelf(&key.shelf) else {
        return;
    };
    let writing = Writing::own(instance, served, "");
    let order = Order::own(Propagation::Background);
    let outcome = delete_begin(&writing, key, &order).await;
    if let Err(failure) = outcome.map_err(|failure| failure.message) {
        tracing::debug!(error = %failure, "a token without its account stays");
    }
}

/// The ServiceAccount whose token a Secret is made to carry.
fn account_of(secret: &Value) -> Option<&str> {
    let name = text(secret, &["metadata", "annotations", ACCOUNT_NAME]);
    (text(secret, &["type"]) == TOKEN_TYPE && !name.is_empty()).then_some(name)
}

/// Gives a Secret the token that it is made to carry. Without its ServiceAccount it goes.
pub(super) async fn fill(instance: &Instance, namespace: &str, name: &str) {
    let place = key(SECRETS, namespace, name);
    let Some(secret) = instance.get(&place).map(|record| record.value()) else {
        return;
    };
    let Some(account) = account_of(&secret).filter(|_| !object::is_deleting(&secret)) else {
        return;
    };
    let found = instance.get(&key(ACCOUNTS, namespace, account));
    let annotated = text(&secret, &["metadata", "annotations", ACCOUNT_UID]);
    let found = found.filter(|found| annotated.is_empty() || *found.head.uid == *annotated);
    let Some(found) = found else {
        return remove(instance, &place).await;
    };
    let certificate = instance.authority().certificate();
    let carried = |field: &str| secret_text(&secret, field).unwrap_or_default();
    let whole = !carried("token").is_empty()
        && carried("ca.crt") == certificate
        && carried("namespace") == namespace
        && !annotated.is_empty();
    if whole {
        return;
    }
    let account = Reference {
        name: account.to_owned(),
        uid: found.head.uid.to_string(),
    };
    let token = match issue_for_secret(instance, namespace, &account, name) {
        Ok(token) => token,
        Err(failure) => {
            tracing::warn!(error = %failure.message, "a token could not be made");
            return;
        }
    };
    update(instance, &place, |secret| {
        let meta = meta_mut(secret);
        if let Some(annotations) = meta.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.insert(ACCOUNT_UID.into(), account.uid.as_str().into());
        }
        let data = child_mut(secret, "data");
        data.entry("token")
            .or_insert_with(|| STANDARD.encode(&token).into());
        data.insert("ca.crt".into(), STANDARD.encode(certificate).into());
        data.insert("namespace".into(), STANDARD.encode(namespace).into());
    })
    .await;
}

/// Removes the Secrets that carry tokens of a ServiceAccount that is gone.
async fn remove_tokens(instance: &Instance, namespace: &str, account: &str) {
    for ((namespace, name), record) in instance.space().list(SECRETS, Some(namespace)).records {
        if account_of(&record.value()) == Some(account) {
            remove(instance, &key(SECRETS, &namespace, &name)).await;
        }
    }
}
