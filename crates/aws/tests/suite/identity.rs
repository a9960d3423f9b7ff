//! Credentials against a simulated STS, and refusals of the cloud (AWS document 10.3, captf
//! document 4.2).

use std::{collections::BTreeMap, time::Duration};

use remuda_aws::{AwsBackend, Options};
use remuda_cloud::{Credentials, PoolBackend, backend::CredentialSource};
use remuda_plan::{
    error::FailureClass,
    pool::{
        read::{Depth, Freshness},
        secret::Secret,
    },
};
use remuda_sim::{
    Fault,
    aws::{DEMO_ACCESS_KEY_ID, DEMO_CONTROLLER_ROLE_ARN, DEMO_SECRET_ACCESS_KEY},
};

use crate::harness::{World, demo::GROUP};

fn keys(pairs: &[(&str, String)]) -> Credentials {
    Credentials {
        cache_key: "TerraformClusterIdentity/team-a@1".to_owned(),
        source: CredentialSource::Keys(
            pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), Secret::new(value.clone().into_bytes())))
                .collect::<BTreeMap<_, _>>(),
        ),
    }
}

pub fn assumed_role() -> Credentials {
    keys(&[
        ("AWS_PROFILE", "pools".to_owned()),
        (
            "AWS_CONFIG_FILE",
            "/var/run/captf/credentials/config".to_owned(),
        ),
        (
            "AWS_SHARED_CREDENTIALS_FILE",
            "/var/run/captf/credentials/credentials".to_owned(),
        ),
        (
            "config",
            format!(
                "[profile pools]\nrole_arn = {DEMO_CONTROLLER_ROLE_ARN}\n\
                 source_profile = base\nrole_session_name = captf\n"
            ),
        ),
        (
            "credentials",
            format!(
                "[base]\naws_access_key_id = {DEMO_ACCESS_KEY_ID}\n\
                 aws_secret_access_key = {DEMO_SECRET_ACCESS_KEY}\n"
            ),
        ),
    ])
}

fn backend(world: &World) -> AwsBackend {
    AwsBackend::new(world.options().clone())
}

#[tokio::test(start_paused = true)]
async fn a_profile_assumes_its_role_once_and_again_before_it_ends() {
    let world = World::simulated();
    let mut pool = world.demo_pool();
    world.settle(&mut pool).await;
    let handle = world.handle(&pool);
    let backend = backend(&world);
    let session = backend.session(&assumed_role()).await.unwrap();
    let assumed = || world.sim().journal().count("sts", "AssumeRole");
    for _ in 0..3 {
        session
            .observe(&handle, Depth::Members, Freshness::Fresh)
            .await
            .unwrap();
    }
    assert_eq!(assumed(), 1);
    let call = world.sim().journal().named("sts", "AssumeRole").remove(0);
    assert_eq!(call.param("RoleSessionName"), "captf");
    // An hour is the session's length; it is renewed before.
    tokio::time::sleep(Duration::from_mins(56)).await;
    session
        .observe(&handle, Depth::Members, Freshness::Fresh)
        .await
        .unwrap();
    assert_eq!(assumed(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_expired_credential_is_renewed_once() {
    let world = World::simulated();
    let mut pool = world.demo_pool();
    world.settle(&mut pool).await;
    let handle = world.handle(&pool);
    let backend = backend(&world);
    let session = backend.session(&assumed_role()).await.unwrap();
    session
        .observe(&handle, Depth::Members, Freshness::Fresh)
        .await
        .unwrap();
    world.sim().world().expire_sessions();
    let remuda_plan::driver::Observed::Aws(observed) = session
        .observe(&handle, Depth::Members, Freshness::Fresh)
        .await
        .unwrap()
    else {
        panic!("an AWS pool");
    };
    assert!(observed.group.known().unwrap().is_some());
    assert_eq!(world.sim().journal().count("sts", "AssumeRole"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_is_denied_after_one_renewal() {
    let world = World::simulated();
    let mut pool = world.demo_pool();
    world.settle(&mut pool).await;
    world.sim().world().remove_key(DEMO_ACCESS_KEY_ID);
    world.sim().journal().clear();
    let failure = world
        .refresh_now(&mut pool)
        .await
        .expect_err("the key is gone");
    assert_eq!(failure.class, FailureClass::Denied);
    assert_eq!(
        world
            .sim()
            .journal()
            .count("autoscaling", "DescribeAutoScalingGroups"),
        2
    );
    let printed = format!("{failure:?} {failure}");
    assert!(!printed.contains(DEMO_SECRET_ACCESS_KEY));
}

#[tokio::test(start_paused = true)]
async fn unusable_keys_name_what_is_missing_and_send_nothing() {
    let world = World::simulated();
    let backend = backend(&world);
    let unusable = keys(&[("AWS_ACCESS_KEY_ID", DEMO_ACCESS_KEY_ID.to_owned())]);
    let Err(error) = backend.session(&unusable).await else {
        panic!("half a key opens no session");
    };
    assert_eq!(error.class(), FailureClass::NoCredentials);
    assert!(error.to_string().contains("AWS_SECRET_ACCESS_KEY"));
    let ambient = Credentials {
        cache_key: "ambient".to_owned(),
        source: CredentialSource::Ambient,
    };
    let Err(error) = backend.session(&ambient).await else {
        panic!("ambient credentials were not allowed");
    };
    assert_eq!(error.class(), FailureClass::NoCredentials);
    assert_eq!(world.sim().journal().calls().len(), 0);
}

/// Two identities with equal keys share one sweep, whatever they are called.
#[tokio::test(start_paused = true)]
async fn equal_credentials_share_a_sweep_and_others_do_not() {
    let world = World::simulated();
    let mut pool = world.demo_pool();
    world.settle(&mut pool).await;
    let handle = world.handle(&pool);
    let backend = backend(&world);
    world.sim().journal().clear();
    let pairs = [
        ("AWS_ACCESS_KEY_ID", DEMO_ACCESS_KEY_ID.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", DEMO_SECRET_ACCESS_KEY.to_owned()),
    ];
    let mut other = keys(&pairs);
    other.cache_key = "TerraformClusterIdentity/team-b@7".to_owned();
    for credentials in [keys(&pairs), other, assumed_role()] {
        let session = backend.session(&credentials).await.unwrap();
        session
            .observe(&handle, Depth::Members, Freshness::Steady)
            .await
            .unwrap();
    }
    assert_eq!(
        world
            .sim()
            .journal()
            .count("autoscaling", "DescribeAutoScalingGroups"),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn a_profile_that_is_not_there_yet_is_awaited_for_two_minutes() {
    let world = World::simulated();
    let mut pool = world.demo_pool();
    let text = "Invalid IamInstanceProfile: captf-team-a-demo-1960e37c-worker";
    let fault = Fault::refuse("ValidationError", text, 400);
    world
        .sim()
        .faults()
        .script(fault.on("autoscaling", "CreateAutoScalingGroup"));
    let mut classes = Vec::new();
    for _ in 0..4 {
        let pass = world.pass(&mut pool).await;
        classes.push(pass.failed.expect("the profile is not ready").class);
        world.wait(10).await;
    }
    assert_eq!(classes[0], FailureClass::NotReadyYet);
    assert_eq!(classes[3], FailureClass::Rejected);
    world.sim().faults().clear();
    world.settle(&mut pool).await;
    assert!(world.sim().world().group(GROUP).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_missing_bucket_is_named() {
    let world = World::simulated();
    world
        .sim()
        .world()
        .remove_bucket(crate::harness::demo::BUCKET);
    let mut pool = world.demo_pool();
    let pass = world.pass(&mut pool).await;
    let failure = pass.failed.expect("there is no bucket");
    assert_eq!(failure.class, FailureClass::NotFound);
    assert!(
        failure.message.contains(crate::harness::demo::BUCKET),
        "{failure}"
    );
    assert!(world.sim().world().group(GROUP).is_none());
}

/// Without the right to list a bucket S3 says 403 for an object that is not there.
#[tokio::test(start_paused = true)]
async fn an_identity_that_may_not_list_the_bucket_creates_its_pool() {
    let world = World::simulated();
    let denied = Fault::new(remuda_sim::Effect::Denied).on("s3", "HeadObject");
    world.sim().faults().script(denied);
    let mut pool = world.demo_pool();
    let pass = world.pass(&mut pool).await;
    assert_eq!(pass.failed, None);
    assert!(pass.writes().contains(&"s3:PutObject"));
    assert!(world.sim().world().group(GROUP).is_some());
}

#[tokio::test(start_paused = true)]
async fn the_meter_is_told_of_every_call() {
    #[derive(Debug, Default)]
    struct Meter(std::sync::Mutex<Vec<(String, bool)>>);
    impl remuda_cloud::measured::CallMeter for Meter {
        fn record(&self, call: &remuda_cloud::measured::CallRecord) {
            self.0
                .lock()
                .unwrap()
                .push((call.call.to_owned(), call.mutating));
        }
    }
    let meter = std::sync::Arc::new(Meter::default());
    let told = std::sync::Arc::clone(&meter);
    let world = World::simulated_with(|options| Options {
        meter: Some(told),
        ..options
    });
    let mut pool = world.demo_pool();
    let pass = world.pass(&mut pool).await;
    let mut told: Vec<String> = meter
        .0
        .lock()
        .unwrap()
        .iter()
        .map(|(call, _)| call.clone())
        .collect();
    let mut sent: Vec<String> = pass.calls.iter().map(|call| call.name.clone()).collect();
    told.sort();
    sent.sort();
    assert_eq!(told, sent);
    let writes = meter
        .0
        .lock()
        .unwrap()
        .iter()
        .filter(|(_, mutating)| *mutating)
        .count();
    assert_eq!(writes, pass.writes().len());
}
