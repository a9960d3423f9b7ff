//! TokenReview: whose token is this, and is it meant for the one who asks?

use serde_json::{Value, json};

use crate::access::tokens;
use crate::instance::Instance;
use crate::object::{at, text};
use crate::status_error::{Failure, Outcome};

/// The answer to a token review.
pub(super) fn status(instance: &Instance, review: &Value) -> Outcome<Value> {
    let token = text(review, &["spec", "token"]);
    if token.is_empty() {
        let message = "token is required for TokenReview in authentication";
        return Err(Failure::bad_request(message));
    }
    let asked = at(review, &["spec", "audiences"]).and_then(Value::as_array);
    let asked = asked.into_iter().flatten().filter_map(Value::as_str);
    let mut asked: Vec<String> = asked.map(str::to_owned).collect();
    if asked.is_empty() {
        asked.push(tokens::service_account::issuer(instance.name()));
    }
    let Some(accepted) = tokens::authenticate(instance, token) else {
        return Ok(refused("invalid bearer token"));
    };
    let shared: Vec<&String> = accepted
        .audiences
        .iter()
        .filter(|own| asked.contains(own))
        .collect();
    if shared.is_empty() {
        let quoted = |list: &[String]| {
            let quoted: Vec<String> = list.iter().map(|text| format!("{text:?}")).collect();
            quoted.join(" ")
        };
        return Ok(refused(&format!(
            "[invalid bearer token, token audiences [{}] is invalid for the target audiences [{}]]",
            quoted(&accepted.audiences),
            quoted(&asked)
        )));
    }
    Ok(json!({
        "authenticated": true, "user": accepted.caller.user_info(), "audiences": shared,
    }))
}

fn refused(why: &str) -> Value {
    json!({"user": {}, "error": why})
}
