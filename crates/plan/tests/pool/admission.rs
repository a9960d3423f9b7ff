//! What admission refuses.

use remuda_plan::pool::admission::{TOPOLOGY_DRY_RUN, Violation, identity, pool, template};
use serde_json::{Value, json};

const IMAGE: &str = "ghcr.io/captf-io/aws-machinepool:v0.3.0";

fn object(spec: &Value) -> Value {
    let mut object = json!({ "metadata": { "name": "demo-pool-0" }, "spec": spec });
    if object["spec"]["source"].is_null() {
        object["spec"]["source"] = json!({ "image": IMAGE });
    }
    object
}

fn fields(violations: &[Violation]) -> Vec<&str> {
    violations.iter().map(|it| it.field.as_str()).collect()
}

/// Proves: CAPTF-77.
#[test]
fn a_pool_with_a_reserved_variable_is_refused() {
    for name in ["captf_x", "replicas", "source"] {
        let new = object(&json!({ "variables": { name: 1 } }));
        let violations = pool(&new, None);
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert!(
            violations[0].message.contains(&format!("{name:?}")),
            "{violations:?}"
        );
    }
    let fine = object(&json!({ "variables": { "instance_type": "m6i.large" } }));
    assert_eq!(pool(&fine, None), []);
}

/// Proves: CAPTF-76.
#[test]
fn a_templates_spec_is_immutable_and_its_metadata_is_not() {
    let made = |spec: Value, labels: Value, annotations: Value| {
        json!({
            "metadata": { "name": "demo", "annotations": annotations },
            "spec": { "template": {
                "metadata": { "labels": labels },
                "spec": { "source": { "image": IMAGE }, "variables": spec },
            } },
        })
    };
    let old = made(json!({ "spot": true }), json!({}), json!({}));
    assert_eq!(template(&old, None, false), []);
    let edited = made(json!({ "spot": false }), json!({}), json!({}));
    let refused = template(&edited, Some(&old), false);
    assert_eq!(fields(&refused), ["spec.template.spec"]);
    assert!(refused[0].message.contains("create a new template"));
    let relabeled = made(json!({ "spot": true }), json!({ "team": "a" }), json!({}));
    assert_eq!(template(&relabeled, Some(&old), false), []);
    let topology = made(
        json!({ "spot": false }),
        json!({}),
        json!({ TOPOLOGY_DRY_RUN: "" }),
    );
    assert_eq!(template(&topology, Some(&old), true), []);
    // The annotation alone, on a request that persists, is no way around.
    assert_eq!(
        fields(&template(&topology, Some(&old), false)),
        ["spec.template.spec"]
    );
    assert_eq!(
        fields(&template(&edited, Some(&old), true)),
        ["spec.template.spec"]
    );
    let bad = made(json!({ "spot": true }), json!({ "a b": "c" }), json!({}));
    assert_eq!(template(&bad, Some(&old), false).len(), 1);
}

#[test]
fn all_violations_come_in_one_answer() {
    let new = object(&json!({
        "source": { "image": "Not An Image", "imagePullPolicy": "Sometimes" },
        "variables": { "count": 1, "captf_x": 1 },
        "variablesFrom": [{ "configMapRef": { "name": "a" }, "secretRef": { "name": "a" } }],
        "jobs": { "activeDeadlineSeconds": 300, "securityContext": { "privileged": true } },
    }));
    assert_eq!(
        fields(&pool(&new, None)),
        [
            "spec.source.image",
            "spec.source.imagePullPolicy",
            "spec.variablesFrom[0]",
            "spec.variables[\"captf_x\"]",
            "spec.variables[\"count\"]",
            "spec.jobs",
            "spec.jobs.securityContext.privileged",
        ]
    );
}

#[test]
fn hardening_cannot_be_weakened() {
    let weak = [
        json!({ "privileged": true }),
        json!({ "allowPrivilegeEscalation": true }),
        json!({ "capabilities": { "add": ["NET_ADMIN"] } }),
        json!({ "readOnlyRootFilesystem": false }),
        json!({ "procMount": "Unmasked" }),
        json!({ "runAsUser": 0 }),
        json!({ "runAsNonRoot": false }),
        json!({ "seccompProfile": { "type": "Unconfined" } }),
        json!({ "windowsOptions": { "hostProcess": true } }),
    ];
    for context in weak {
        for place in ["securityContext", "podSecurityContext"] {
            let new = object(&json!({ "jobs": { place: context } }));
            assert_eq!(pool(&new, None).len(), 1, "{context}");
        }
    }
    let strong = json!({
        "privileged": false, "runAsUser": 1000, "runAsNonRoot": true,
        "readOnlyRootFilesystem": true, "capabilities": { "drop": ["ALL"], "add": [] },
        "seccompProfile": { "type": "RuntimeDefault" },
    });
    let new = object(&json!({ "jobs": { "securityContext": strong } }));
    assert_eq!(pool(&new, None), []);
}

#[test]
fn lock_and_deadline_are_compared_within_one_policy() {
    let cases = [
        (json!({ "activeDeadlineSeconds": 300 }), false),
        (json!({ "activeDeadlineSeconds": 301 }), true),
        (json!({ "lockTimeoutSeconds": 3600 }), false),
        (json!({ "lockTimeoutSeconds": 3599 }), true),
        (
            json!({ "lockTimeoutSeconds": 10, "activeDeadlineSeconds": 10 }),
            false,
        ),
        (
            json!({ "lockTimeoutSeconds": 9, "activeDeadlineSeconds": 10 }),
            true,
        ),
        (json!({}), true),
    ];
    for (jobs, fits) in cases {
        let new = object(&json!({ "jobs": jobs }));
        assert_eq!(pool(&new, None).is_empty(), fits, "{jobs}");
    }
}

#[test]
fn old_sins_do_not_keep_a_pool_from_going() {
    let old = object(&json!({
        "variables": { "captf_x": 1 },
        "jobs": { "securityContext": { "privileged": true } },
    }));
    let mut same = old.clone();
    same["metadata"]["finalizers"] = json!([]);
    assert_eq!(pool(&same, Some(&old)), []);
    // The jobs are not looked at again while they stay as they are, nor on a deleting pool.
    let mut other = old.clone();
    other["spec"]["variables"] = json!({ "instance_type": "m6i.large" });
    assert_eq!(pool(&other, Some(&old)), []);
    let mut going = other.clone();
    going["spec"]["jobs"]["activeDeadlineSeconds"] = json!(10);
    assert!(!pool(&going, Some(&other)).is_empty());
    going["metadata"]["deletionTimestamp"] = json!("2026-10-01T00:00:00Z");
    assert_eq!(pool(&going, Some(&other)), []);
}

#[test]
fn identities_name_a_secret_and_say_who_may_use_it() {
    let secret = json!({ "name": "aws", "namespace": "captf-system" });
    let with = |rule: Value| json!({ "spec": { "secretRef": secret, "allowedNamespaces": rule } });
    for rule in [
        Value::Null,
        json!({ "list": ["team-a"] }),
        json!({ "selector": {} }),
        json!({ "selector": { "matchExpressions": [
            { "key": "team", "operator": "In", "values": ["a"] },
            { "key": "team", "operator": "Exists" },
        ] } }),
    ] {
        assert_eq!(identity(&with(rule)), []);
    }
    for rule in [
        json!({}),
        json!({ "list": ["Team_A"] }),
        json!({ "list": [""] }),
        json!({ "list": [7] }),
        json!({ "selector": { "matchExpressions": [{ "key": "team", "operator": "In" }] } }),
        json!({ "selector": { "matchExpressions": [
            { "key": "team", "operator": "Exists", "values": ["a"] },
        ] } }),
        json!({ "selector": { "matchExpressions": [{ "key": "team", "operator": "Like" }] } }),
    ] {
        assert_eq!(identity(&with(rule.clone())).len(), 1, "{rule}");
    }
    let nameless = json!({ "spec": { "secretRef": { "name": "" } } });
    assert_eq!(
        fields(&identity(&nameless)),
        ["spec.secretRef.name", "spec.secretRef.namespace"]
    );
}
