//! Identities: which one, and whether it may be used from the pool's namespace (captf document
//! 4.1). Only key names are looked at here, never credential values.

use std::collections::BTreeMap;

use super::{
    findings::IdentityFinding,
    objects::{
        AllowedNamespaces, IdentityObject, IdentityRef, InfraClusterObject, LabelSelector,
        PoolObject,
    },
    record::Record,
    selector::selects,
    world::{CredentialSecret, Lookup, World},
};
use crate::driver::Driver;

/// Kind of a cluster-scoped identity.
pub const CLUSTER_IDENTITY: &str = "TerraformClusterIdentity";

/// Kind of an identity that is a Secret of the pool's namespace.
pub const LOCAL_SECRET: &str = "Secret";

/// The identity a pool uses: its own, else the cluster's default, else the cluster's, else (the
/// cluster is gone) the one of the last operation. `kind` is always filled.
pub fn resolve(
    pool: &PoolObject,
    infra_cluster: Option<&InfraClusterObject>,
    record: Option<&Record>,
) -> Option<IdentityRef> {
    let named = pool.spec.identity_ref.clone().or_else(|| {
        let cluster = infra_cluster?;
        cluster
            .spec
            .defaults
            .identity_ref
            .clone()
            .or_else(|| cluster.spec.identity_ref.clone())
    });
    let remembered = || {
        let (kind, name) = record?.identity.as_deref()?.split_once('/')?;
        Some(IdentityRef {
            kind: Some(kind.to_owned()),
            name: name.to_owned(),
        })
    };
    let named = match named {
        Some(named) => named,
        // A cluster that is there and names none has taken the identity away.
        None if infra_cluster.is_none() => remembered()?,
        None => return None,
    };
    Some(IdentityRef {
        kind: Some(named.kind.unwrap_or_else(|| CLUSTER_IDENTITY.to_owned())),
        name: named.name,
    })
}

/// `TerraformClusterIdentity/aws`: how an identity is shown and remembered.
pub fn display(reference: &IdentityRef) -> String {
    let kind = reference.kind.as_deref().unwrap_or(CLUSTER_IDENTITY);
    format!("{kind}/{}", reference.name)
}

/// Key of an identity Secret that asks for the manager's own cloud identity by name; its value is
/// `true`. The manager's operator must allow it too.
pub const AMBIENT_KEY: &str = "REMUDA_AMBIENT_CREDENTIALS";

/// Keys that together are static credentials of AWS (captf document 4.2).
const AWS_STATIC_KEYS: [&str; 2] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];

/// Keys that point at shared config files of AWS, which only the backend can judge.
const AWS_PROFILE_KEYS: [&str; 3] = [
    "AWS_PROFILE",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
];

/// Keys that name a service principal of Azure (captf document 4.2).
const AZURE_PRINCIPAL_KEYS: [&str; 3] = ["ARM_TENANT_ID", "ARM_SUBSCRIPTION_ID", "ARM_CLIENT_ID"];

/// Keys one of which proves that it is the service principal.
const AZURE_PROOF_KEYS: [&str; 3] = [
    "ARM_CLIENT_CERTIFICATE",
    "ARM_CLIENT_CERTIFICATE_PATH",
    "ARM_CLIENT_SECRET",
];

/// What a driver lacks in a credential Secret, told from key names alone; `None`: try them. There
/// is no fallback on the manager's own cloud identity: a Secret that means it says so. `reference`
/// is what led to the Secret.
pub fn credentials_problem(
    driver: Driver,
    reference: &IdentityRef,
    secret: &CredentialSecret,
) -> Option<String> {
    if secret.keys.contains(AMBIENT_KEY) {
        // Whoever may write a Secret in a namespace would have all that the manager may do.
        return (reference.kind.as_deref() == Some(LOCAL_SECRET)).then(|| {
            format!(
                "Secret {}/{} asks for the manager's own cloud identity ({AMBIENT_KEY}): only the \
                 Secret of a {CLUSTER_IDENTITY} may",
                secret.namespace, secret.name
            )
        });
    }
    match driver {
        Driver::Aws => aws_problem(secret),
        Driver::Azure => azure_problem(secret),
    }
}

fn aws_problem(secret: &CredentialSecret) -> Option<String> {
    if holds_any(secret, &AWS_PROFILE_KEYS) {
        return None;
    }
    let missing = missing(secret, &AWS_STATIC_KEYS);
    (!missing.is_empty()).then(|| {
        format!(
            "Secret {}/{} holds no usable AWS credentials: it lacks {} (or a profile: {})",
            secret.namespace,
            secret.name,
            missing.join(" and "),
            AWS_PROFILE_KEYS.join(", ")
        )
    })
}

fn azure_problem(secret: &CredentialSecret) -> Option<String> {
    let mut missing: Vec<String> = missing(secret, &AZURE_PRINCIPAL_KEYS)
        .into_iter()
        .map(str::to_owned)
        .collect();
    if !holds_any(secret, &AZURE_PROOF_KEYS) {
        missing.push(AZURE_PROOF_KEYS.join(" or "));
    }
    (!missing.is_empty()).then(|| {
        format!(
            "Secret {}/{} holds no usable Azure credentials: it lacks {}",
            secret.namespace,
            secret.name,
            missing.join(" and "),
        )
    })
}

fn holds_any(secret: &CredentialSecret, keys: &[&str]) -> bool {
    keys.iter().any(|key| secret.keys.contains(*key))
}

fn missing<'a>(secret: &CredentialSecret, keys: &[&'a str]) -> Vec<&'a str> {
    let keys = keys.iter().copied();
    keys.filter(|key| !secret.keys.contains(*key)).collect()
}

/// Whether the resolved identity may be used.
pub fn check(world: &World) -> IdentityFinding {
    if let Lookup::Failed(why) = &world.infra_cluster
        && world.pool.spec.identity_ref.is_none()
    {
        return IdentityFinding::CheckFailed(format!("the TerraformCluster: {why}"));
    }
    let Some(reference) = resolve(
        &world.pool,
        world.infra_cluster.found(),
        world.record.found(),
    ) else {
        return IdentityFinding::NotFound(
            "no identity: set spec.identityRef on the pool or on its TerraformCluster".to_owned(),
        );
    };
    if reference.kind.as_deref() == Some(LOCAL_SECRET) {
        return match &world.identity.secret {
            Lookup::Found(_) => IdentityFinding::LocalSecret,
            Lookup::Missing => IdentityFinding::SecretNotFound(format!(
                "Secret {}/{} does not exist",
                world.pool.metadata.namespace, reference.name
            )),
            Lookup::Failed(why) => IdentityFinding::CheckFailed(why.clone()),
        };
    }
    check_cluster_identity(world, &display(&reference))
}

fn check_cluster_identity(world: &World, name: &str) -> IdentityFinding {
    let identity = match &world.identity.object {
        Lookup::Found(identity) => identity,
        Lookup::Missing => return IdentityFinding::NotFound(format!("{name} does not exist")),
        Lookup::Failed(why) => return IdentityFinding::CheckFailed(why.clone()),
    };
    let namespace = &world.pool.metadata.namespace;
    match allowed(
        identity.spec.allowed_namespaces.as_ref(),
        namespace,
        &world.identity.namespace_labels,
    ) {
        Ok(true) => {}
        Ok(false) => {
            return IdentityFinding::NamespaceNotAllowed(format!(
                "{name} does not allow namespace {namespace}: see its spec.allowedNamespaces"
            ));
        }
        Err(why) => return IdentityFinding::CheckFailed(why),
    }
    let source = identity.spec.secret_ref.clone().unwrap_or_default();
    let secret = match &world.identity.secret {
        Lookup::Found(secret) => secret,
        Lookup::Missing => {
            return IdentityFinding::SecretNotFound(format!(
                "Secret {}/{} of {name} does not exist",
                source.namespace, source.name
            ));
        }
        Lookup::Failed(why) => return IdentityFinding::CheckFailed(why.clone()),
    };
    let mut missing: Vec<&str> = identity
        .spec
        .required_keys
        .iter()
        .filter(|key| !secret.keys.contains(*key))
        .map(String::as_str)
        .collect();
    missing.sort_unstable();
    if missing.is_empty() {
        return IdentityFinding::Allowed;
    }
    IdentityFinding::CredentialsIncomplete(format!(
        "Secret {}/{} of {name} lacks {}",
        secret.namespace,
        secret.name,
        missing.join(", ")
    ))
}

/// Whether a namespace's labels decide if it is allowed: list and an empty selector do without.
pub fn asks_for_labels(identity: &IdentityObject, namespace: &str) -> bool {
    let rule = identity.spec.allowed_namespaces.as_ref();
    rule.is_some_and(|rule| {
        let is_listed = rule.list.iter().any(|listed| listed == namespace);
        !is_listed && rule.selector.as_ref().is_some_and(|it| !selects_all(it))
    })
}

fn selects_all(selector: &LabelSelector) -> bool {
    selector.match_labels.is_empty() && selector.match_expressions.is_empty()
}

/// Whether a namespace is allowed: the union of list and selector.
fn allowed(
    rule: Option<&AllowedNamespaces>,
    namespace: &str,
    labels: &Lookup<BTreeMap<String, String>>,
) -> Result<bool, String> {
    let Some(rule) = rule else { return Ok(false) };
    if rule.list.iter().any(|listed| listed == namespace) {
        return Ok(true);
    }
    let Some(selector) = &rule.selector else {
        return Ok(false);
    };
    if selects_all(selector) {
        return Ok(true);
    }
    match labels {
        Lookup::Found(labels) => Ok(selects(selector, labels)),
        Lookup::Missing => Ok(false),
        Lookup::Failed(why) => Err(why.clone()),
    }
}
