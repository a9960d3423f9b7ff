//! Tokens: secrets, certificates, federated tokens, managed identities.

use axum::body::Body;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::Request;
use remuda_sim::{
    Effect, Fault,
    azure::{
        DEMO_CLIENT_ID, DEMO_CLIENT_SECRET, DEMO_SUBSCRIPTION, DEMO_TENANT, DEMO_WORKER_CLIENT_ID,
    },
};
use ring::{
    digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest},
    rand::SystemRandom,
    signature::{RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair},
};
use serde_json::{Value, json};

use crate::client::{Answer, Client, demo, set_path, token_form};

const CERTIFICATE: &[u8] = include_bytes!("fixtures/client.der");
const KEY: &[u8] = include_bytes!("fixtures/client.pk8");
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Error and first AADSTS number of a refusal.
fn refusal(answer: &Answer) -> (u16, String, u64) {
    let error = answer.body["error"].as_str().unwrap_or_default().to_owned();
    let number = answer.body["error_codes"][0].as_u64().unwrap_or_default();
    assert!(answer.body["trace_id"].is_string(), "{}", answer.body);
    (answer.status.as_u16(), error, number)
}

fn jwt(header: &Value, claims: &Value, how: &'static dyn RsaEncoding) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(header), part(claims));
    let key = RsaKeyPair::from_pkcs8(KEY).unwrap();
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(how, &SystemRandom::new(), signed.as_bytes(), &mut signature)
        .unwrap();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn header() -> Value {
    let thumbprint = URL_SAFE_NO_PAD.encode(digest(&SHA256, CERTIFICATE));
    json!({ "alg": "PS256", "typ": "JWT", "x5t#S256": thumbprint })
}

fn claims(client: &Client) -> Value {
    let now = client.sim.clock().now().as_second();
    json!({
        "aud": format!("https://login.microsoftonline.com/{DEMO_TENANT}/oauth2/v2.0/token"),
        "iss": DEMO_CLIENT_ID, "sub": DEMO_CLIENT_ID, "jti": "1", "nbf": now, "iat": now,
        "exp": now + 300,
    })
}

async fn assert_with(client: &Client, assertion: &str) -> Answer {
    let proof = [
        ("client_assertion_type", JWT_BEARER),
        ("client_assertion", assertion),
    ];
    client
        .login(DEMO_TENANT, &token_form(DEMO_CLIENT_ID, &proof))
        .await
}

#[tokio::test(start_paused = true)]
async fn a_secret_opens_the_subscription_and_wrong_ones_say_why() {
    let client = demo().await;
    let ask = async |tenant: &str, id: &str, secret: &str| {
        let form = token_form(id, &[("client_secret", secret)]);
        client.login(tenant, &form).await
    };
    let good = ask(DEMO_TENANT, DEMO_CLIENT_ID, DEMO_CLIENT_SECRET)
        .await
        .ok();
    assert_eq!(good.body["token_type"], "Bearer");
    assert_eq!(good.body["expires_in"], 3599);
    let wrong = ask(DEMO_TENANT, DEMO_CLIENT_ID, "no").await;
    assert_eq!(refusal(&wrong), (401, "invalid_client".into(), 7_000_215));
    let stranger = ask(DEMO_TENANT, "nobody", "no").await;
    assert_eq!(
        refusal(&stranger),
        (400, "unauthorized_client".into(), 700_016)
    );
    let elsewhere = ask("other-tenant", DEMO_CLIENT_ID, DEMO_CLIENT_SECRET).await;
    assert_eq!(refusal(&elsewhere).2, 700_016);
    let world = client.sim.world();
    world.expire_secret(DEMO_CLIENT_ID, Some(client.sim.clock().now()));
    let expired = ask(DEMO_TENANT, DEMO_CLIENT_ID, DEMO_CLIENT_SECRET).await;
    assert_eq!(refusal(&expired).2, 7_000_222);
    let journal = client.sim.journal();
    assert_eq!(journal.count("login", "Token"), 5);
    assert!(journal.writes().is_empty());
    let kept = serde_json::to_string(&journal.calls()).unwrap();
    assert!(!kept.contains(DEMO_CLIENT_SECRET));
}

#[tokio::test(start_paused = true)]
async fn forms_are_checked() {
    let client = demo().await;
    let form = token_form(DEMO_CLIENT_ID, &[]);
    assert_eq!(
        refusal(&client.login(DEMO_TENANT, &form).await).2,
        7_000_216
    );
    let scope = form.replace("management", "graph");
    assert_eq!(
        refusal(&client.login(DEMO_TENANT, &scope).await).1,
        "invalid_scope"
    );
    let grant = form.replace("client_credentials", "password");
    assert_eq!(
        refusal(&client.login(DEMO_TENANT, &grant).await).1,
        "unsupported_grant_type"
    );
}

#[tokio::test(start_paused = true)]
async fn a_certificate_signs_assertions() {
    let client = demo().await;
    let world = client.sim.world();
    let good = jwt(&header(), &claims(&client), &RSA_PSS_SHA256);
    assert_eq!(refusal(&assert_with(&client, &good).await).2, 700_027);
    world.add_certificate(DEMO_TENANT, DEMO_CLIENT_ID, CERTIFICATE);
    assert_with(&client, &good).await.ok();
    let thumbprint = URL_SAFE_NO_PAD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, CERTIFICATE));
    let older = json!({ "alg": "RS256", "typ": "JWT", "x5t": thumbprint });
    assert_with(&client, &jwt(&older, &claims(&client), &RSA_PKCS1_SHA256))
        .await
        .ok();
    let with = |name: &str, value: Value| {
        let mut claims = claims(&client);
        claims[name] = value;
        jwt(&header(), &claims, &RSA_PSS_SHA256)
    };
    let now = client.sim.clock().now().as_second();
    let wrong = [
        (with("aud", "https://example.com/token".into()), 700_023),
        (with("exp", (now - 1).into()), 700_024),
        (with("exp", (now + 3600).into()), 700_024),
        (with("nbf", (now + 3600).into()), 700_024),
        (with("sub", "somebody".into()), 700_030),
        (with("jti", Value::Null), 50_027),
        (jwt(&header(), &claims(&client), &RSA_PKCS1_SHA256), 700_027),
        ("no.jwt".to_owned(), 50_027),
    ];
    for (assertion, number) in wrong {
        let answer = assert_with(&client, &assertion).await;
        assert_eq!(refusal(&answer), (401, "invalid_client".into(), number));
    }
}

#[tokio::test(start_paused = true)]
async fn a_federated_token_stands_for_the_application() {
    let client = demo().await;
    let trust = (
        "https://issuer",
        "system:serviceaccount:remuda:manager",
        "api://AzureADTokenExchange",
    );
    client
        .sim
        .world()
        .add_federation(DEMO_TENANT, DEMO_CLIENT_ID, trust);
    let now = client.sim.clock().now().as_second();
    let token = |subject: &str, ends: i64| {
        let claims = json!({ "iss": trust.0, "sub": subject, "aud": [trust.2], "exp": now + ends });
        jwt(
            &json!({ "alg": "RS256", "kid": "1" }),
            &claims,
            &RSA_PKCS1_SHA256,
        )
    };
    assert_with(&client, &token(trust.1, 3600)).await.ok();
    let other = assert_with(&client, &token("system:serviceaccount:other:manager", 3600)).await;
    assert_eq!(refusal(&other).2, 700_213);
    let stale = token(trust.1, 3600);
    client.pass(3600).await;
    assert_eq!(refusal(&assert_with(&client, &stale).await).2, 700_024);
}

async fn imds(client: &Client, query: &str, metadata: bool) -> Answer {
    let mut request = Request::get(format!(
        "http://169.254.169.254/metadata/identity/oauth2/token?{query}"
    ));
    if metadata {
        request = request.header("Metadata", "true");
    }
    client.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test(start_paused = true)]
async fn the_metadata_service_hands_out_tokens_of_attached_identities() {
    let client = demo().await;
    let query = format!(
        "api-version=2018-02-01&resource=https://management.azure.com/&client_id={DEMO_WORKER_CLIENT_ID}"
    );
    assert_eq!(
        refusal(&imds(&client, &query, true).await).1,
        "invalid_request"
    );
    let world = client.sim.world();
    world.attach_identity(DEMO_TENANT, DEMO_WORKER_CLIENT_ID, DEMO_SUBSCRIPTION);
    assert_eq!(imds(&client, &query, false).await.status.as_u16(), 400);
    let answer = imds(&client, &query, true).await.ok();
    assert_eq!(answer.body["expires_in"], "3599");
    assert!(answer.body["expires_on"].is_string() && answer.body["not_before"].is_string());
    let token = answer.body["access_token"].as_str().unwrap().to_owned();
    let node = Client {
        token,
        ..client.clone()
    };
    assert_eq!(
        node.get(&set_path("workers")).await.refused(404),
        "ResourceNotFound"
    );
    let calls = client
        .sim
        .journal()
        .named("compute", "VirtualMachineScaleSets_Get");
    assert_eq!(calls[0].access_key_id, DEMO_WORKER_CLIENT_ID);
    let fault = Fault::new(Effect::Answer {
        status: 410,
        headers: vec![],
        body: String::new(),
    });
    client.sim.faults().script(fault.on("imds", "Token").once());
    assert_eq!(imds(&client, &query, true).await.status.as_u16(), 410);
    imds(&client, &query, true).await.ok();
}

#[tokio::test(start_paused = true)]
async fn tokens_and_rights_end() {
    let client = demo().await;
    let world = client.sim.world();
    world.revoke(DEMO_CLIENT_ID, DEMO_SUBSCRIPTION);
    let denied = client.get(&set_path("workers")).await;
    assert_eq!(denied.refused(403), "AuthorizationFailed");
    world.expire_tokens();
    let expired = client.get(&set_path("workers")).await;
    assert_eq!(expired.refused(401), "ExpiredAuthenticationToken");
}

#[tokio::test(start_paused = true)]
async fn scripted_refusals_have_the_shape_of_the_endpoint() {
    let client = demo().await;
    let refuse = Fault::refuse(
        "temporarily_unavailable",
        "AADSTS50196: A loop was detected.",
        400,
    );
    client
        .sim
        .faults()
        .script(refuse.on("login", "Token").once());
    let form = token_form(DEMO_CLIENT_ID, &[("client_secret", DEMO_CLIENT_SECRET)]);
    let refused = client.login(DEMO_TENANT, &form).await;
    assert_eq!(
        refusal(&refused),
        (400, "temporarily_unavailable".into(), 50_196)
    );
    client.login(DEMO_TENANT, &form).await.ok();
}
