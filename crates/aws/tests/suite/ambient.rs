//! The process's own identity: used where the operator allowed it, and never in place of a Secret.
//!
//! An environment belongs to a process, so each test runs itself again in one of its own.

use std::{io::Write, process::Command};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use remuda_aws::{AwsBackend, Options};
use remuda_cloud::{Credentials, PoolBackend, backend::CredentialSource};
use remuda_plan::{
    driver::Observed,
    error::FailureClass,
    pool::{
        read::{Depth, Freshness},
        secret::Secret,
    },
};
use remuda_sim::aws::DEMO_ACCOUNT;

use crate::harness::World;

/// Set in the second process.
const INSIDE: &str = "REMUDA_TEST_INSIDE";
const ROLE: &str = "arn:aws:iam::111122223333:role/manager";
const SUBJECT: &str = "system:serviceaccount:remuda:manager";

/// Runs a test again with a web identity in its environment; false inside that process.
fn runs_inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return false;
    }
    let claims = URL_SAFE_NO_PAD.encode(format!("{{\"sub\":\"{SUBJECT}\"}}"));
    let mut token = tempfile::NamedTempFile::new().unwrap();
    write!(token, "e30.{claims}.c2ln").unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("ambient::{test}")])
        .env_clear()
        .env(INSIDE, "1")
        .env("AWS_WEB_IDENTITY_TOKEN_FILE", token.path())
        .env("AWS_ROLE_ARN", ROLE)
        .env("AWS_ROLE_SESSION_NAME", "manager")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
    true
}

fn world() -> World {
    let world = World::simulated_with(|options| Options {
        ambient: true,
        ..options
    });
    let hands = world.sim().world();
    assert_eq!(
        hands.add_web_identity_role(DEMO_ACCOUNT, "manager", SUBJECT),
        ROLE
    );
    world
}

#[tokio::test(start_paused = true)]
async fn an_allowed_web_identity_signs_the_calls() {
    if runs_inside("an_allowed_web_identity_signs_the_calls") {
        return;
    }
    let world = world();
    let mut pool = world.demo_pool();
    world.settle(&mut pool).await;
    let backend = AwsBackend::new(world.options().clone());
    let session = backend
        .session(&Credentials {
            cache_key: "ambient".to_owned(),
            source: CredentialSource::Ambient,
        })
        .await
        .unwrap();
    world.sim().journal().clear();
    let handle = world.handle(&pool);
    let Observed::Aws(observed) = session
        .observe(&handle, Depth::Members, Freshness::Fresh)
        .await
        .unwrap()
    else {
        panic!("an AWS pool");
    };
    assert!(
        observed.group.known().unwrap().is_some(),
        "{:?}",
        observed.group
    );
    assert_eq!(
        world
            .sim()
            .journal()
            .count("sts", "AssumeRoleWithWebIdentity"),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn an_unusable_secret_never_falls_back_on_the_process() {
    if runs_inside("an_unusable_secret_never_falls_back_on_the_process") {
        return;
    }
    let world = world();
    let backend = AwsBackend::new(world.options().clone());
    let keys = [("AWS_REGION".to_owned(), Secret::new(b"us-east-1".to_vec()))];
    let Err(error) = backend
        .session(&Credentials {
            cache_key: "TerraformClusterIdentity/team-a@1".to_owned(),
            source: CredentialSource::Keys(keys.into()),
        })
        .await
    else {
        panic!("a Secret without keys opens no session");
    };
    assert_eq!(error.class(), FailureClass::NoCredentials);
    for key in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"] {
        assert!(error.to_string().contains(key), "{error}");
    }
    assert_eq!(world.sim().journal().calls().len(), 0);
}
