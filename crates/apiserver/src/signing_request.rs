//! What a CertificateSigningRequest must be to be taken.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::metadata::{label_problem, subdomain_problem};
use crate::object::{at, text};
use crate::status_error::Cause;

/// What keys are for, in the order in which a refusal lists them.
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];
/// The shortest life that can be asked for, in seconds: Kubernetes' own bound.
const SHORTEST_SECONDS: i64 = 600;
const BEGIN: &str = "-----BEGIN CERTIFICATE REQUEST-----";

/// Everything that is wrong with a new request. A request never changes afterwards.
pub(crate) fn validate(request: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    causes.extend(check_pem(request));
    causes.extend(check_usages(request));
    causes.extend(check_signer(text(request, &["spec", "signerName"])));
    let seconds = at(request, &["spec", "expirationSeconds"]).and_then(Value::as_i64);
    if let Some(seconds) = seconds.filter(|seconds| *seconds < SHORTEST_SECONDS) {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        causes.push(Cause::invalid(
            "spec.expirationSeconds",
            &seconds.into(),
            detail,
        ));
    }
    causes
}

/// The request proper is one PEM block.
fn check_pem(request: &Value) -> Option<Cause> {
    let given = at(request, &["spec", "request"]).and_then(Value::as_str);
    let bytes = STANDARD
        .decode(given.unwrap_or_default())
        .unwrap_or_default();
    let is_pem = std::str::from_utf8(&bytes).is_ok_and(|text| text.contains(BEGIN));
    if is_pem {
        return None;
    }
    let listed: Vec<String> = bytes.iter().map(|byte| format!("{byte:#x}")).collect();
    let shown = match given {
        None => "[]byte(nil)".to_owned(),
        Some(_) => format!("[]byte{{{}}}", listed.join(", ")),
    };
    let message = format!("Invalid value: {shown}: PEM block type must be CERTIFICATE REQUEST");
    Some(Cause::new("FieldValueInvalid", "spec.request", message))
}

fn check_usages(request: &Value) -> Vec<Cause> {
    let usages = at(request, &["spec", "usages"]).and_then(Value::as_array);
    let usages = usages.map(Vec::as_slice).unwrap_or_default();
    if usages.is_empty() {
        return vec![Cause::required("spec.usages", "usages must be provided")];
    }
    let mut causes = Vec::new();
    for (index, usage) in usages.iter().enumerate() {
        let path = format!("spec.usages[{index}]");
        if !usage.as_str().is_some_and(|usage| USAGES.contains(&usage)) {
            causes.push(Cause::unsupported(&path, usage, &USAGES));
        }
        if usages.iter().take(index).any(|earlier| earlier == usage) {
            let message = format!("Duplicate value: {usage}");
            causes.push(Cause::new("FieldValueDuplicate", &path, message));
        }
    }
    causes
}

/// A signer is named by a domain and a path: `example.com/signer-name`.
fn check_signer(name: &str) -> Vec<Cause> {
    const PATH: &str = "spec.signerName";
    if name.is_empty() {
        return vec![Cause::required(PATH, "signerName must be provided")];
    }
    let parts: Vec<&str> = name.split('/').collect();
    let (&[domain, path], true) = (parts.as_slice(), name.contains('.')) else {
        let detail =
            "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return vec![Cause::invalid(PATH, &name.into(), detail)];
    };
    let domain_problem = domain
        .split('.')
        .find_map(|label| Some((domain, label, label_problem(label)?)));
    let path_problem = path
        .split('.')
        .find_map(|label| Some((path, label, subdomain_problem(label)?)));
    let problems = domain_problem.into_iter().chain(path_problem);
    problems
        .map(|(part, label, why)| {
            let detail = format!("validating label {label:?}: {why}");
            Cause::invalid(PATH, &part.into(), &detail)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problems(spec: Value) -> Vec<String> {
        let causes = validate(&json!({ "spec": spec }));
        causes
            .into_iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect()
    }

    fn pem() -> String {
        STANDARD.encode(format!(
            "{BEGIN}\nAA==\n-----END CERTIFICATE REQUEST-----\n"
        ))
    }

    #[test]
    fn a_whole_request_is_taken() {
        let spec = json!({"request": pem(), "signerName": "example.com/own", "usages": ["any"]});
        assert_eq!(problems(spec), Vec::<String>::new());
    }

    #[test]
    fn every_problem_is_named() {
        let spec = json!({"request": "QQ==", "signerName": "A.b/c d", "usages": ["any", "any"],
                          "expirationSeconds": 1});
        let found = problems(spec);
        let starts = [
            "spec.request: Invalid value: []byte{0x41}: PEM block type",
            "spec.usages[1]: Duplicate value: \"any\"",
            "spec.signerName: Invalid value: \"A.b\": validating label \"A\": a lowercase RFC 1123 label",
            "spec.signerName: Invalid value: \"c d\": validating label \"c d\": a lowercase RFC 1123 sub",
            "spec.expirationSeconds: Invalid value: 1: may not specify",
        ];
        assert_eq!(found.len(), starts.len(), "{found:?}");
        for (found, start) in found.iter().zip(starts) {
            assert!(found.starts_with(start), "{found}");
        }
        assert_eq!(
            problems(json!({"request": pem()})),
            [
                "spec.usages: Required value: usages must be provided",
                "spec.signerName: Required value: signerName must be provided"
            ]
        );
    }
}
