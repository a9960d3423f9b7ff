//! Tokens of all four kinds (Azure document 12).

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use remuda_azure::{Ambient, Endpoints};
use remuda_cloud::backend::CredentialSource;
use remuda_plan::{
    error::FailureClass,
    pool::read::{Depth, Freshness},
};
use remuda_sim::{
    Effect, Fault,
    azure::{AzureSim, DEMO_CLIENT_ID, DEMO_CLIENT_SECRET, DEMO_SUBSCRIPTION, DEMO_TENANT},
};
use ring::signature::{RSA_PSS_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::harness::{
    World,
    demo::Pool,
    keys, secret_keys,
    wire::{Recorded, answer},
};

const CERTIFICATE: &[u8] = include_bytes!("fixtures/client.p12");
const LEGACY: &[u8] = include_bytes!("fixtures/client-legacy.p12");
const PUBLIC: &[u8] = include_bytes!("fixtures/client.der");
const PASSWORD: &str = "hunter2";

/// Requests that one look at F sends.
async fn look(world: &World) -> Vec<Recorded> {
    let mark = world.recorder.mark();
    let handle = world.handle(&Pool::demo());
    let observed = world
        .observe(&handle, Depth::Members, Freshness::Fresh)
        .await;
    assert!(observed.sets.known().is_some(), "{:?}", observed.sets);
    world.recorder.since(mark)
}

/// Why a look at F fails.
async fn failure(world: &World) -> remuda_plan::error::CloudFailure {
    let handle = world.handle(&Pool::demo());
    let observed = world
        .observe(&handle, Depth::Members, Freshness::Fresh)
        .await;
    match observed.sets {
        remuda_plan::pool::read::Read::Unknown(failure) => failure,
        other => panic!("the look succeeds: {other:?}"),
    }
}

fn tokens(calls: &[Recorded]) -> Vec<&Recorded> {
    calls
        .iter()
        .filter(|call| call.path.ends_with("/token"))
        .collect()
}

/// Proves: AZURE-94.
#[tokio::test(start_paused = true)]
async fn a_secret_is_sent_with_the_five_fields() {
    let world = World::new();
    let calls = look(&world).await;
    let token = tokens(&calls)[0];
    assert_eq!(token.path, format!("/{DEMO_TENANT}/oauth2/v2.0/token"));
    assert_eq!(
        token.headers["content-type"],
        "application/x-www-form-urlencoded"
    );
    let form = token.form();
    assert_eq!(form.len(), 4);
    assert_eq!(form["grant_type"], "client_credentials");
    assert_eq!(form["client_id"], DEMO_CLIENT_ID);
    assert_eq!(form["scope"], "https://management.azure.com/.default");
    assert_eq!(form["client_secret"], DEMO_CLIENT_SECRET);
}

fn certificate_keys(packed: &[u8], more: &[(&str, &str)]) -> CredentialSource {
    let base64 = STANDARD.encode(packed);
    let mut pairs = vec![
        ("ARM_TENANT_ID", DEMO_TENANT),
        ("ARM_CLIENT_ID", DEMO_CLIENT_ID),
        ("ARM_CLIENT_CERTIFICATE", base64.as_str()),
        ("ARM_CLIENT_CERTIFICATE_PASSWORD", PASSWORD),
    ];
    pairs.extend(more);
    keys(&pairs)
}

/// Proves: AZURE-94.
#[tokio::test(start_paused = true)]
async fn a_certificate_signs_an_assertion_and_wins_over_a_secret() {
    for packed in [CERTIFICATE, LEGACY] {
        let both = certificate_keys(packed, &[("ARM_CLIENT_SECRET", "unused")]);
        let world = World::new().signed_in_with(both);
        world
            .sim
            .world()
            .add_certificate(DEMO_TENANT, DEMO_CLIENT_ID, PUBLIC);
        let calls = look(&world).await;
        let form = tokens(&calls)[0].form();
        assert!(!form.contains_key("client_secret"));
        assert_eq!(
            form["client_assertion_type"],
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        );
        let parts: Vec<&str> = form["client_assertion"].split('.').collect();
        let read = |part: &str| -> Value {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
        };
        let thumbprint = URL_SAFE_NO_PAD.encode(Sha256::digest(PUBLIC));
        assert_eq!(
            read(parts[0]),
            json!({ "alg": "PS256", "typ": "JWT", "x5t#S256": thumbprint })
        );
        let claims = read(parts[1]);
        let url = format!("https://login.microsoftonline.com/{DEMO_TENANT}/oauth2/v2.0/token");
        assert_eq!(claims["aud"], url);
        assert_eq!(
            (&claims["iss"], &claims["sub"]),
            (&json!(DEMO_CLIENT_ID), &json!(DEMO_CLIENT_ID))
        );
        assert_eq!(claims["jti"].as_str().unwrap().len(), 36);
        let life = claims["exp"].as_i64().unwrap() - claims["nbf"].as_i64().unwrap();
        assert!((1..=600).contains(&life), "{life}");
        let signed = format!("{}.{}", parts[0], parts[1]);
        let signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
        UnparsedPublicKey::new(&RSA_PSS_2048_8192_SHA256, public_key())
            .verify(signed.as_bytes(), &signature)
            .expect("the certificate verifies the signature");
    }
}

/// The RSA key inside the certificate: the contents of its only bit string that holds a sequence
/// of two integers begin with this header, a modulus of 2048 bits with its sign.
fn public_key() -> &'static [u8] {
    let header = [0x30, 0x82, 0x01, 0x0a, 0x02, 0x82, 0x01, 0x01, 0x00];
    let start = PUBLIC
        .windows(header.len())
        .position(|window| window == header)
        .unwrap();
    &PUBLIC[start..start + 4 + 0x010a]
}

#[tokio::test(start_paused = true)]
async fn a_wrong_password_is_an_identity_error_and_sends_nothing() {
    let base64 = STANDARD.encode(CERTIFICATE);
    let world = World::new().signed_in_with(keys(&[
        ("ARM_TENANT_ID", DEMO_TENANT),
        ("ARM_CLIENT_ID", DEMO_CLIENT_ID),
        ("ARM_CLIENT_CERTIFICATE", &base64),
    ]));
    let failure = world.try_session().await.err().unwrap();
    assert_eq!(failure.class, FailureClass::NoCredentials);
    assert!(failure.message.contains("password"), "{failure}");
    assert_eq!(world.recorder.mark(), 0);
}

fn ambient(own: Ambient) -> World {
    World::with(
        |sim| sim,
        |options| remuda_azure::Options {
            ambient: Some(own),
            ..options
        },
    )
    .signed_in_with(CredentialSource::Ambient)
}

/// A projected service account token; the simulator reads its claims and not its signature.
fn projected(world: &AzureSim, subject: &str) -> String {
    let now = world.clock().now().as_second();
    let part = |json: Value| URL_SAFE_NO_PAD.encode(json.to_string());
    let header = part(json!({ "alg": "RS256", "typ": "JWT" }));
    let claims = part(json!({
        "iss": "https://issuer.example", "sub": subject, "aud": ["api://AzureADTokenExchange"],
        "iat": now, "nbf": now, "exp": now + 3600,
    }));
    format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode("signature"))
}

/// Proves: AZURE-93.
#[tokio::test(start_paused = true)]
async fn a_federated_token_file_is_read_for_every_token() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let world = ambient(Ambient::Federation {
        tenant_id: DEMO_TENANT.to_owned(),
        client_id: DEMO_CLIENT_ID.to_owned(),
        token_file: file.clone(),
    });
    let subject = "system:serviceaccount:remuda:manager";
    world.sim.world().add_federation(
        DEMO_TENANT,
        DEMO_CLIENT_ID,
        (
            "https://issuer.example",
            subject,
            "api://AzureADTokenExchange",
        ),
    );
    let first = projected(&world.sim, subject);
    std::fs::write(&file, format!("{first}\n")).unwrap();
    let calls = look(&world).await;
    assert_eq!(tokens(&calls)[0].form()["client_assertion"], first);
    assert!(!tokens(&calls)[0].form().contains_key("client_secret"));
    world.wait(3600).await;
    let second = projected(&world.sim, subject);
    assert_ne!(first, second);
    std::fs::write(&file, &second).unwrap();
    let calls = look(&world).await;
    assert_eq!(tokens(&calls)[0].form()["client_assertion"], second);
    std::fs::remove_file(&file).unwrap();
    world.wait(3600).await;
    let failure = failure(&world).await;
    assert_eq!(failure.class, FailureClass::NoCredentials);
    assert!(failure.message.contains("token"), "{failure}");
}

/// Proves: AZURE-95.
#[tokio::test(start_paused = true)]
async fn the_metadata_service_is_asked_again_while_it_is_away() {
    const CLIENT: &str = "9b1d2c3e-4f50-4a61-8b72-9c83ad94be05";
    let world = ambient(Ambient::ManagedIdentity {
        client_id: CLIENT.to_owned(),
    });
    world
        .sim
        .world()
        .attach_identity(DEMO_TENANT, CLIENT, DEMO_SUBSCRIPTION);
    let asked = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&asked);
    world.recorder.answer_with(move |call| {
        let is_metadata = call.path.starts_with("/metadata/");
        let is_away = is_metadata && counter.fetch_add(1, Ordering::Relaxed) < 2;
        is_away.then(|| answer(404, &[], &json!({ "error": "not_found" })))
    });
    let calls = look(&world).await;
    let tokens = tokens(&calls);
    assert_eq!(tokens.len(), 3);
    for token in &tokens {
        assert_eq!(token.origin, "http://169.254.169.254");
        assert_eq!(token.headers["metadata"], "true");
        assert!(
            token.query.contains("api-version=2018-02-01"),
            "{}",
            token.query
        );
        let query: Vec<(String, String)> = form_urlencoded::parse(token.query.as_bytes())
            .into_owned()
            .collect();
        let has = |name: &str, value: &str| query.contains(&(name.to_owned(), value.to_owned()));
        assert!(has("resource", "https://management.azure.com/"));
        assert!(has("client_id", CLIENT));
    }
    let waits: Vec<u64> = tokens
        .windows(2)
        .map(|pair| (pair[1].at - pair[0].at).as_secs())
        .collect();
    assert_eq!(waits, [2, 6]);
}

#[tokio::test(start_paused = true)]
async fn an_identity_that_is_not_attached_is_final() {
    let world = ambient(Ambient::ManagedIdentity {
        client_id: "absent".to_owned(),
    });
    let failure = failure(&world).await;
    assert_eq!(failure.class, FailureClass::NoCredentials, "{failure}");
    let calls = world.recorder.since(0);
    assert_eq!(tokens(&calls).len(), 1);
}

/// Proves: AZURE-92.
#[tokio::test(start_paused = true)]
async fn a_refused_token_is_renewed_once_and_the_call_repeated() {
    let world = World::new();
    look(&world).await;
    world.wait(1).await;
    world.sim.world().expire_tokens();
    let calls = look(&world).await;
    let names: Vec<(&str, u16)> = calls
        .iter()
        .map(|call| (call.name.as_str(), call.status))
        .collect();
    assert_eq!(
        names,
        [
            ("GET virtualMachineScaleSets", 401),
            ("POST token", 200),
            ("GET virtualMachineScaleSets", 200)
        ]
    );
    // A token that is refused however fresh it is is the identity's fault.
    world
        .sim
        .faults()
        .script(Fault::new(Effect::ExpiredToken).service("compute"));
    world.wait(1).await;
    let mark = world.recorder.mark();
    let failure = failure(&world).await;
    assert_eq!(failure.class, FailureClass::Denied);
    let calls = world.recorder.since(mark);
    assert_eq!(tokens(&calls).len(), 1);
    assert_eq!(calls.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_renewed_twenty_minutes_before_it_ends_or_at_half_life() {
    for (life, renewed_after) in [(3599, 2399), (1200, 600)] {
        let world = World::new();
        let life = Duration::from_secs(life);
        world
            .sim
            .world()
            .set_behaviour(|behaviour| behaviour.token_life = life);
        let started = Instant::now();
        look(&world).await;
        loop {
            world.wait(10).await;
            if !tokens(&look(&world).await).is_empty() {
                break;
            }
        }
        let after = started.elapsed().as_secs();
        assert!(
            (renewed_after..renewed_after + 15).contains(&after),
            "{after}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_old_token_serves_while_renewal_fails() {
    let world = World::new();
    look(&world).await;
    world
        .sim
        .faults()
        .script(Fault::new(Effect::Unavailable).on("login", "Token"));
    for _ in 0..5 {
        world.wait(600).await;
        assert!(look(&world).await.iter().any(|call| call.status == 200));
    }
    world.wait(600).await;
    assert_eq!(failure(&world).await.class, FailureClass::Transient);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_secret_is_not_tried_again_until_it_changes() {
    let wrong = keys(&[
        ("ARM_TENANT_ID", DEMO_TENANT),
        ("ARM_CLIENT_ID", DEMO_CLIENT_ID),
        ("ARM_CLIENT_SECRET", "sesame-open-7391"),
    ]);
    let world = World::new().signed_in_with(wrong);
    let failure = failure(&world).await;
    assert_eq!(failure.class, FailureClass::NoCredentials);
    assert_eq!(failure.code, "AADSTS7000215");
    assert!(!format!("{failure:?}").contains("sesame"));
    world.wait(900).await;
    self::failure(&world).await;
    assert_eq!(tokens(&world.recorder.since(0)).len(), 1);
    let world = world.signed_in_with(secret_keys());
    look(&world).await;
}

#[tokio::test(start_paused = true)]
async fn another_authority_is_asked_without_its_trailing_slash() {
    let world = World::with(
        |sim| sim,
        |options| remuda_azure::Options {
            endpoints: Endpoints::default().with_authority("https://login.example/"),
            ..options
        },
    );
    let calls = look(&world).await;
    assert_eq!(tokens(&calls)[0].origin, "https://login.example");
    assert_eq!(
        tokens(&calls)[0].path,
        format!("/{DEMO_TENANT}/oauth2/v2.0/token")
    );
}
