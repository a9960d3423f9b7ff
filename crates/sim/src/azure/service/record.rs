//! What the faults match of a call, and what the journal keeps of it.

use std::{borrow::Cow, collections::BTreeMap};

use jiff::Timestamp;
use serde_json::Value;

use super::route::{Action, Target, query};
use crate::{
    Faults, Journal,
    azure::{
        login, metadata,
        protocol::{Answer, ArmError},
    },
    faults::{CallFacts, Verdict},
    journal::{Call, Outcome, Sent},
    transport::Received,
};

/// Members of bodies that are never kept.
const SECRET: [&str; 5] = [
    "customData",
    "userData",
    "adminPassword",
    "client_secret",
    "client_assertion",
];

/// What is known of a call before it is carried out.
pub(super) struct Facts {
    pub(super) service: &'static str,
    pub(super) action: &'static str,
    pub(super) caller: String,
    subscription: String,
    write: bool,
    params: BTreeMap<String, String>,
}

impl Facts {
    pub(super) fn of(received: &Received, routed: Option<&(Action, Target)>) -> Self {
        let mut params: BTreeMap<String, String> = query(received.uri.query().unwrap_or_default());
        let Some((action, target)) = routed else {
            let path = received.uri.path();
            let (service, action) = login::action(path);
            let answers_event = received.method == http::Method::POST && metadata::serves(path);
            return Self {
                service,
                action,
                caller: String::new(),
                subscription: String::new(),
                write: answers_event,
                params,
            };
        };
        for (name, value) in [
            ("resourceGroupName", &target.group),
            ("name", &target.name),
            ("instanceId", &target.instance),
        ] {
            if !value.is_empty() {
                params.insert(name.to_owned(), value.clone());
            }
        }
        Self {
            service: action.service,
            action: action.name,
            caller: String::new(),
            subscription: target.subscription.clone(),
            write: action.writes(),
            params,
        }
    }

    /// What the scripted faults say to it.
    pub(super) fn judge(&self, faults: &Faults) -> Verdict {
        if faults.is_empty() {
            return Verdict::default();
        }
        let resources: Vec<Cow<'_, str>> = self
            .params
            .values()
            .map(|value| value.as_str().into())
            .collect();
        faults.judge(&CallFacts {
            service: self.service,
            action: self.action,
            caller: &self.caller,
            from_instance: false,
            resources: &resources,
        })
    }

    pub(super) fn record(
        self,
        journal: &Journal,
        now: Timestamp,
        received: &Received,
        verdict: &Verdict,
        result: &Result<Answer, ArmError>,
    ) {
        let outcome = match result {
            Err(error) => Outcome::Refused {
                code: error.code.clone(),
                status: error.status,
            },
            Ok(_) if verdict.lost => Outcome::AnswerLost,
            Ok(_) => Outcome::Ok,
        };
        let sent = sent(received, self.write);
        journal.push(Call {
            number: 0,
            at: now,
            account: self.subscription,
            access_key_id: self.caller,
            region: String::new(),
            service: self.service.to_owned(),
            action: self.action.to_owned(),
            params: self.params,
            outcome,
            write: self.write,
            from_instance: false,
            sent: Some(sent),
        });
    }
}

fn sent(received: &Received, write: bool) -> Sent {
    let headers = received
        .headers
        .iter()
        .filter(|(name, _)| *name != "authorization")
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect();
    let body = if write {
        serde_json::from_slice(&received.body)
            .map(|mut body: Value| {
                redact(&mut body);
                body.to_string()
            })
            .unwrap_or_default()
    } else {
        String::new()
    };
    Sent {
        method: received.method.to_string(),
        path: received.uri.path().to_owned(),
        query: received.uri.query().unwrap_or_default().to_owned(),
        headers,
        body,
    }
}

/// Replaces the values of secret members.
fn redact(body: &mut Value) {
    match body {
        Value::Object(members) => {
            for (name, value) in members {
                if SECRET.contains(&name.as_str()) {
                    *value = "[redacted]".into();
                } else {
                    redact(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_left_out_at_any_depth() {
        let mut body = json!({ "a": [{ "customData": "c2VjcmV0", "b": 1 }], "userData": "x" });
        redact(&mut body);
        let left =
            json!({ "a": [{ "customData": "[redacted]", "b": 1 }], "userData": "[redacted]" });
        assert_eq!(body, left);
    }
}
