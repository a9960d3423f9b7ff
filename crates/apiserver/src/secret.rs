//! What a Secret of a known type must hold.

use serde_json::Value;

use crate::object::text;
use crate::status_error::Cause;

/// The keys that a type asks for, each with the path that a refusal names. The placeholders are
/// what a genuine server prints.
fn required(kind: &str) -> &'static [(&'static str, &'static str)] {
    match kind {
        "kubernetes.io/tls" => &[("tls.crt", "data[tls.crt]"), ("tls.key", "data[tls.key]")],
        "kubernetes.io/dockerconfigjson" => &[(".dockerconfigjson", "data[.dockerconfigjson]")],
        "kubernetes.io/dockercfg" => &[(".dockercfg", "data[.dockercfg]")],
        "kubernetes.io/ssh-auth" => &[("ssh-privatekey", "data[%s][ssh-privatekey]")],
        _ => &[],
    }
}

/// Everything that is missing from a Secret, by its type.
pub(crate) fn missing_keys(secret: &Value) -> Vec<Cause> {
    const USERNAME: &str = "data[%s][username]";
    const PASSWORD: &str = "data[%s][password]";
    let kind = text(secret, &["type"]);
    let has = |key: &str| {
        secret
            .get("data")
            .is_some_and(|data| data.get(key).is_some())
    };
    let missing = |path: &str| Cause::required(path, "");
    // Either of the two suffices.
    if kind == "kubernetes.io/basic-auth" && !has("username") && !has("password") {
        return vec![missing(USERNAME), missing(PASSWORD)];
    }
    required(kind)
        .iter()
        .filter(|(key, _)| !has(key))
        .map(|(_, path)| missing(path))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_type_asks_for_its_keys() {
        let fields = |secret: Value| -> Vec<String> {
            missing_keys(&secret).into_iter().map(|c| c.field).collect()
        };
        let tls = json!({"type": "kubernetes.io/tls", "data": {"tls.crt": ""}});
        assert_eq!(fields(tls), ["data[tls.key]"]);
        let basic = json!({"type": "kubernetes.io/basic-auth", "data": {"password": ""}});
        assert!(fields(basic).is_empty());
        assert!(fields(json!({"type": "Opaque"})).is_empty());
    }
}
