//! Identities: resolution, permission, credentials.

use std::collections::BTreeMap;

use remuda_plan::{
    driver::Driver,
    pool::{
        gate::{IdentityFinding, Next, gate},
        identity::{
            AMBIENT_KEY, CLUSTER_IDENTITY, LOCAL_SECRET, check, credentials_problem, resolve,
        },
        objects::{AllowedNamespaces, IdentityRef, LabelSelector, SelectorRequirement},
        world::{CredentialSecret, Lookup, World},
    },
    status::{
        condition::{ConditionStatus, ConditionType, Reason},
        wire::Operation,
    },
};

use super::{
    lab::Lab,
    world::{Edit as _, message, start, world},
};
use ConditionStatus::{False, True, Unknown};

/// No operation starts and the condition says why.
fn refused(world: World, reason: Reason) -> Lab {
    let mut lab = Lab::new(world);
    lab.run_for(120);
    assert_eq!(
        lab.condition(ConditionType::IdentityAllowed),
        Some((False, reason))
    );
    assert_eq!(
        lab.condition(ConditionType::CredentialsMirrored),
        Some((Unknown, Reason::MirrorPending))
    );
    assert!(lab.started.is_empty() && lab.cloud.calls.is_empty());
    lab
}

/// Proves: CAPTF-56.
#[test]
fn without_an_identity_nothing_runs() {
    refused(
        world().infra(|cluster| cluster.spec.identity_ref = None),
        Reason::IdentityNotFound,
    );
    let mut gone = world();
    gone.identity.object = Lookup::Missing;
    refused(gone, Reason::IdentityNotFound);
}

fn allowing(rule: Option<AllowedNamespaces>) -> World {
    world().identity(|identity| identity.spec.allowed_namespaces = rule)
}

/// Proves: CAPTF-57.
#[test]
fn unset_allows_none_and_an_empty_selector_all() {
    refused(allowing(None), Reason::NamespaceNotAllowed);
    let mut open = allowing(Some(AllowedNamespaces {
        list: Vec::new(),
        selector: Some(LabelSelector::default()),
    }));
    // Even without a look at the namespace.
    open.identity.namespace_labels = Lookup::Missing;
    let mut lab = Lab::new(open);
    lab.settle();
    assert_eq!(
        lab.condition(ConditionType::IdentityAllowed),
        Some((True, Reason::IdentityAllowed))
    );
    assert_eq!(lab.operations(Operation::Apply), 1);
}

#[test]
fn list_and_selector_are_a_union_and_bad_selectors_deny() {
    let selector = |key: &str, operator: &str, values: &[&str]| {
        Some(AllowedNamespaces {
            list: vec!["other".to_owned()],
            selector: Some(LabelSelector {
                match_labels: BTreeMap::new(),
                match_expressions: vec![SelectorRequirement {
                    key: key.to_owned(),
                    operator: operator.to_owned(),
                    values: values.iter().map(|it| (*it).to_owned()).collect(),
                }],
            }),
        })
    };
    // The namespace carries team=a.
    let cases = [
        (selector("team", "In", &["a", "b"]), true),
        (selector("team", "In", &["b"]), false),
        (selector("team", "NotIn", &["b"]), true),
        (selector("other", "NotIn", &["b"]), true),
        (selector("team", "Exists", &[]), true),
        (selector("other", "Exists", &[]), false),
        (selector("other", "DoesNotExist", &[]), true),
        (selector("team", "DoesNotExist", &[]), false),
        (selector("team", "Like", &["a"]), false),
        (selector("team", "In", &[]), false),
        (selector("team", "Exists", &["a"]), false),
    ];
    for (rule, allowed) in cases {
        let found = check(&allowing(rule.clone()));
        assert_eq!(found == IdentityFinding::Allowed, allowed, "{rule:?}");
    }
    let mut unreadable = allowing(selector("team", "Exists", &[]));
    unreadable.identity.namespace_labels = Lookup::Failed("timeout".to_owned());
    assert!(matches!(
        check(&unreadable),
        IdentityFinding::CheckFailed(_)
    ));
    unreadable.identity.namespace_labels = Lookup::Missing;
    assert!(matches!(
        check(&unreadable),
        IdentityFinding::NamespaceNotAllowed(_)
    ));
}

/// Proves: CAPTF-58.
#[test]
fn a_missing_secret_or_key_is_named() {
    let mut gone = world();
    gone.identity.secret = Lookup::Missing;
    let lab = refused(gone, Reason::SecretNotFound);
    assert!(message(&lab.world, ConditionType::IdentityAllowed).contains("captf-system/aws-creds"));
    let incomplete = world().identity(|identity| {
        identity.spec.required_keys = vec![
            "AWS_ACCESS_KEY_ID".to_owned(),
            "AWS_SESSION_TOKEN".to_owned(),
        ];
    });
    let lab = refused(incomplete, Reason::CredentialsIncomplete);
    let text = message(&lab.world, ConditionType::IdentityAllowed);
    assert!(text.contains("AWS_SESSION_TOKEN"), "{text}");
    assert!(!text.contains("AWS_ACCESS_KEY_ID"), "{text}");
}

/// Proves: CAPTF-59.
#[test]
fn a_rotated_secret_is_used_next_and_changes_no_hash() {
    let mut lab = Lab::ready();
    let hash = lab.gate().findings.inputs_hash;
    if let Lookup::Found(secret) = &mut lab.world.identity.secret {
        secret.resource_version = "8".to_owned();
    }
    lab.wait(70);
    let gate = lab.gate();
    assert_eq!(gate.findings.inputs_hash, hash);
    let Next::Go(goal) = gate.next else {
        panic!("a refresh is due")
    };
    assert_eq!(goal.operation, Operation::Refresh, "no apply");
    assert_eq!(goal.credentials.resource_version, "8");
}

#[test]
fn a_failed_read_is_unknown_and_retried() {
    let mut world = world();
    world.identity.object = Lookup::Failed("timeout".to_owned());
    let mut lab = Lab::new(world);
    lab.settle();
    assert_eq!(
        lab.condition(ConditionType::IdentityAllowed),
        Some((Unknown, Reason::IdentityCheckFailed))
    );
    assert!(lab.started.is_empty());
}

#[test]
fn the_order_is_own_then_default_then_the_clusters() {
    let reference = |name: &str| {
        Some(IdentityRef {
            kind: None,
            name: name.to_owned(),
        })
    };
    let name = |world: &World| {
        let cluster = world.infra_cluster.found();
        resolve(&world.pool, cluster, None).map(|found| found.name)
    };
    let mut layered = world().infra(|cluster| {
        cluster.spec.defaults.identity_ref = reference("default");
        cluster.spec.identity_ref = reference("cluster");
    });
    assert_eq!(name(&layered).as_deref(), Some("default"));
    layered.pool.spec.identity_ref = reference("own");
    assert_eq!(name(&layered).as_deref(), Some("own"));
    assert_eq!(name(&world()).as_deref(), Some("aws"));
}

#[test]
fn a_secret_of_the_own_namespace_needs_no_permission() {
    let mut local = world().pool(|pool| {
        pool.spec.identity_ref = Some(IdentityRef {
            kind: Some("Secret".to_owned()),
            name: "mine".to_owned(),
        });
    });
    local.identity.object = Lookup::Missing;
    assert_eq!(check(&local), IdentityFinding::LocalSecret);
    local.identity.secret = Lookup::Missing;
    assert!(matches!(check(&local), IdentityFinding::SecretNotFound(_)));
    assert_eq!(gate(&local, start()).next, Next::Rest);
}

fn cluster_identity() -> IdentityRef {
    IdentityRef {
        kind: Some(CLUSTER_IDENTITY.to_owned()),
        name: "cloud".to_owned(),
    }
}

/// The manager's own identity is used where a Secret asks for it by name, and no Secret of a pool's
/// own namespace may: whoever can write one could otherwise do what the manager can.
#[test]
fn only_a_cluster_identity_may_ask_for_the_managers_own() {
    let secret = CredentialSecret {
        namespace: "team-a".to_owned(),
        name: "own".to_owned(),
        resource_version: "1".to_owned(),
        keys: [AMBIENT_KEY.to_owned()].into(),
    };
    let local = IdentityRef {
        kind: Some(LOCAL_SECRET.to_owned()),
        name: "own".to_owned(),
    };
    for driver in [Driver::Aws, Driver::Azure] {
        assert_eq!(
            credentials_problem(driver, &cluster_identity(), &secret),
            None
        );
        let problem = credentials_problem(driver, &local, &secret).expect("refused");
        assert!(problem.contains("team-a/own"), "{problem}");
        assert!(problem.contains("TerraformClusterIdentity"), "{problem}");
    }
    // Asking in a Secret of the namespace holds the pool before anything is sent.
    let mut asking = world();
    assert_ne!(gate(&asking, start()).next, Next::Rest);
    asking.identity.secret = Lookup::Found(secret);
    assert_ne!(gate(&asking, start()).next, Next::Rest);
    asking.pool.spec.identity_ref = Some(local);
    assert_eq!(check(&asking), IdentityFinding::LocalSecret);
    assert_eq!(gate(&asking, start()).next, Next::Rest);
}

#[test]
fn what_an_azure_identity_lacks_is_named() {
    let secret = |keys: &[&str]| CredentialSecret {
        namespace: "team-a".to_owned(),
        name: "azure".to_owned(),
        resource_version: "1".to_owned(),
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
    };
    let principal = ["ARM_TENANT_ID", "ARM_SUBSCRIPTION_ID", "ARM_CLIENT_ID"];
    for proof in [
        "ARM_CLIENT_SECRET",
        "ARM_CLIENT_CERTIFICATE",
        "ARM_CLIENT_CERTIFICATE_PATH",
    ] {
        let keys: Vec<&str> = principal.into_iter().chain([proof]).collect();
        assert_eq!(
            credentials_problem(Driver::Azure, &cluster_identity(), &secret(&keys)),
            None
        );
    }
    let problem = credentials_problem(Driver::Azure, &cluster_identity(), &secret(&principal))
        .expect("no proof");
    assert!(problem.contains("ARM_CLIENT_SECRET"), "{problem}");
    let aws = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
    let problem = credentials_problem(Driver::Azure, &cluster_identity(), &secret(&aws))
        .expect("of another cloud");
    assert!(
        problem.contains("ARM_TENANT_ID and ARM_SUBSCRIPTION_ID and ARM_CLIENT_ID"),
        "{problem}"
    );
}
