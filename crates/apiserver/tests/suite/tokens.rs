//! Bearer tokens: of ServiceAccounts, of Secrets, bootstrap tokens; what they open, and when they
//! end.

use std::time::Duration;

use http::Method;
use remuda_apiserver::ApiServer;
use serde_json::{Value, json};

use crate::asking::As;
use crate::authentication::{client, over, serving, stored, whoami};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

async fn token(admin: &As, account: &str, spec: Value) -> Value {
    let path = format!("{ACCOUNTS}/{account}/token");
    let body =
        json!({"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": spec});
    admin.post(&path, body).await.1
}

#[tokio::test]
async fn a_token_lives_as_long_as_its_account() {
    let (_server, instance, serving) = serving().await;
    let admin = As::admin(&instance);
    let account = json!({"metadata": {"name": "robot"}});
    admin.made(ACCOUNTS, account.clone()).await;
    let made = token(&admin, "robot", json!({})).await;
    assert_eq!(made["spec"]["expirationSeconds"], 3600);
    assert_eq!(
        made["spec"]["audiences"],
        json!(["https://kubernetes.default.svc"])
    );
    let robot = json!({"token": made["status"]["token"]});
    let client = client(&serving, &instance, robot).await;
    let info = whoami(&client).await;
    assert_eq!(info["username"], "system:serviceaccount:default:robot");
    let groups = json!([
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated"
    ]);
    assert_eq!(info["groups"], groups);
    assert_eq!(
        over(&client, Method::GET, SECRETS, Value::Null).await.0,
        403
    );
    // A new account of the same name is another one.
    admin
        .send(Method::DELETE, &format!("{ACCOUNTS}/robot"), &[], None)
        .await;
    assert_eq!(
        over(&client, Method::GET, "/api/v1", Value::Null).await.0,
        401
    );
    admin.made(ACCOUNTS, account).await;
    assert_eq!(
        over(&client, Method::GET, "/api/v1", Value::Null).await.0,
        401
    );
}

#[tokio::test]
async fn token_requests_are_bounded_and_bound() {
    let (_server, instance) = crate::asking::instance();
    let admin = As::admin(&instance);
    admin
        .made(ACCOUNTS, json!({"metadata": {"name": "robot"}}))
        .await;
    for (spec, code, message) in [
        (
            json!({"expirationSeconds": 10}),
            422,
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: \
          10: may not specify a duration less than 10 minutes",
        ),
        (
            json!({"expirationSeconds": 99_999_999_999_u64}),
            422,
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: \
          99999999999: may not specify a duration larger than 2^32 seconds",
        ),
        (
            json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "nopod"}}),
            404,
            "pods \"nopod\" not found",
        ),
        (
            json!({"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}}),
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
    ] {
        let status = token(&admin, "robot", spec).await;
        assert_eq!(
            (&status["code"], &status["message"]),
            (&json!(code), &json!(message))
        );
    }
    let status = token(&admin, "none", json!({})).await;
    assert_eq!(status["message"], "serviceaccounts \"none\" not found");

    admin
        .made(SECRETS, json!({"metadata": {"name": "s1"}}))
        .await;
    let bond = |uid: &str| json!({"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s1", "uid": uid}});
    let status = token(&admin, "robot", bond("zz")).await;
    let message = "Operation cannot be fulfilled on Secret \"s1\": the UID in the bound object \
        reference (zz) does not match the UID in record. The object might have been deleted and \
        then recreated";
    assert_eq!(status["message"], message);
    let bound = token(&admin, "robot", bond("")).await["status"]["token"].clone();
    let review = json!({"spec": {"token": bound}});
    assert_eq!(
        admin.made(REVIEWS, review.clone()).await["status"]["authenticated"],
        true
    );
    admin
        .send(Method::DELETE, &format!("{SECRETS}/s1"), &[], None)
        .await;
    let gone = admin.made(REVIEWS, review).await;
    assert_eq!(
        gone["status"],
        json!({"user": {}, "error": "invalid bearer token"})
    );

    let pod = json!({"metadata": {"name": "p"}, "spec": {"serviceAccountName": "other",
        "containers": [{"name": "c", "image": "i"}]}});
    admin.made("/api/v1/namespaces/default/pods", pod).await;
    let spec = json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}});
    let status = token(&admin, "robot", spec).await;
    let message = "cannot bind token for serviceaccount \"robot\" to pod running with different \
                   serviceaccount name.";
    assert_eq!(status["message"], message);
}

#[tokio::test(start_paused = true)]
async fn a_token_ends_on_the_servers_clock() {
    let base = "2030-01-01T00:00:00Z".parse().unwrap();
    let clock = std::sync::Arc::new(remuda_apiserver::TokioClock::starting_at(base));
    let server = ApiServer::builder().clock(clock).build().unwrap();
    let admin = As::admin(&server.management());
    admin
        .made(ACCOUNTS, json!({"metadata": {"name": "robot"}}))
        .await;
    let made = token(&admin, "robot", json!({"expirationSeconds": 600})).await;
    assert_eq!(
        made["status"]["expirationTimestamp"],
        "2030-01-01T00:10:00Z"
    );
    let review = json!({"spec": {"token": made["status"]["token"]}});
    let holds =
        async || admin.made(REVIEWS, review.clone()).await["status"]["authenticated"].clone();
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(holds().await, true);
    tokio::time::sleep(Duration::from_secs(62)).await;
    assert_eq!(holds().await, Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_secret_made_to_carry_a_token_gets_one_and_goes_with_its_account() {
    use base64::Engine as _;
    let (_server, instance) = crate::asking::instance();
    let admin = As::admin(&instance);
    let secret = |name: &str, account: Value| {
        json!({"metadata": {"name": name, "annotations": account},
               "type": "kubernetes.io/service-account-token"})
    };
    let (code, status) = admin.post(SECRETS, secret("s", json!({}))).await;
    let message = "Secret \"s\" is invalid: metadata.annotations[kubernetes.io/service-account.name]: \
                   Required value";
    assert_eq!((code, &status["message"]), (422, &json!(message)));
    admin
        .made(ACCOUNTS, json!({"metadata": {"name": "robot"}}))
        .await;
    let named = json!({"kubernetes.io/service-account.name": "robot"});
    admin.made(SECRETS, secret("s", named)).await;
    let place = format!("{SECRETS}/s");
    let filled = loop {
        let (_, secret) = admin.get(&place).await;
        if secret["data"]["token"].is_string() {
            break secret;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    let data = |field: &str| {
        let text = filled["data"][field].as_str().unwrap();
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(text)
            .unwrap();
        String::from_utf8(bytes).unwrap()
    };
    assert!(data("ca.crt").starts_with("-----BEGIN CERTIFICATE-----"));
    assert_eq!(data("namespace"), "default");
    let review = json!({"spec": {"token": data("token")}});
    let answer = admin.made(REVIEWS, review.clone()).await;
    assert_eq!(
        answer["status"]["user"]["username"],
        "system:serviceaccount:default:robot"
    );
    admin
        .send(Method::DELETE, &format!("{ACCOUNTS}/robot"), &[], None)
        .await;
    let answer = admin.made(REVIEWS, review).await;
    assert_eq!(answer["status"]["error"], "invalid bearer token");
    while admin.get(&place).await.0 != 404 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_bootstrap_token_is_a_machine_that_introduces_itself() {
    let (_server, instance) = crate::asking::instance();
    let admin = As::admin(&instance);
    let secret = json!({
        "metadata": {"name": "bootstrap-token-abcdef", "namespace": "kube-system"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": "abcdef", "token-secret": "0123456789abcdef",
            "usage-bootstrap-authentication": "true", "auth-extra-groups": "system:bootstrappers:aws",
        },
    });
    admin
        .made("/api/v1/namespaces/kube-system/secrets", secret)
        .await;
    let review = |token: &str| json!({"spec": {"token": token}});
    let answer = admin.made(REVIEWS, review("abcdef.0123456789abcdef")).await;
    let user = json!({"username": "system:bootstrap:abcdef", "groups": [
        "system:bootstrappers", "system:bootstrappers:aws", "system:authenticated"]});
    assert_eq!(answer["status"]["user"], user);
    for wrong in [
        "abcdef.0123456789abcdee",
        "abcdeg.0123456789abcdef",
        "abcdef.",
    ] {
        let answer = admin.made(REVIEWS, review(wrong)).await;
        assert_eq!(answer["status"]["error"], "invalid bearer token", "{wrong}");
    }
    let ended = json!({"stringData": {"expiration": "2020-01-01T00:00:00Z"}});
    let place = "/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef";
    admin.send(Method::PATCH, place, &[], Some(&ended)).await;
    let answer = admin.made(REVIEWS, review("abcdef.0123456789abcdef")).await;
    assert_eq!(answer["status"]["error"], "invalid bearer token");
}

#[tokio::test]
async fn the_issuer_publishes_its_keys_to_accounts() {
    let (_server, instance) = crate::asking::instance();
    let account = As(instance.router_as(remuda_apiserver::Caller::service_account("a", "b")));
    let (_, document) = account.get("/.well-known/openid-configuration").await;
    assert_eq!(document["issuer"], "https://kubernetes.default.svc");
    let (_, keys) = account.get("/openid/v1/jwks").await;
    assert_eq!(
        (&keys["keys"][0]["kty"], &keys["keys"][0]["alg"]),
        (&json!("EC"), &json!("ES256"))
    );
    assert_eq!(
        As::user(&instance, "alice").get("/openid/v1/jwks").await.0,
        403
    );
}

#[tokio::test(start_paused = true)]
async fn every_namespace_has_an_account_of_its_own() {
    let (_server, instance) = crate::asking::instance();
    let admin = As::admin(&instance);
    admin
        .made("/api/v1/namespaces", json!({"metadata": {"name": "a"}}))
        .await;
    for path in [
        "/api/v1/namespaces/a/serviceaccounts/default",
        "/api/v1/namespaces/kube-system/serviceaccounts/default",
    ] {
        for _ in 0..2 {
            while admin.get(path).await.0 != 200 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // What is deleted comes back.
            admin.send(Method::DELETE, path, &[], None).await;
        }
    }
    admin
        .send(Method::DELETE, "/api/v1/namespaces/a", &[], None)
        .await;
    while admin.get("/api/v1/namespaces/a").await.0 != 404 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn tokens_open_their_own_instance_alone_and_outlive_a_restart() {
    let folder = crate::on_disk::folder();
    let (server, management, workload) = stored(folder.path());
    workload
        .made(ACCOUNTS, json!({"metadata": {"name": "robot"}}))
        .await;
    let made = token(&workload, "robot", json!({})).await;
    let issuer = "https://kubernetes.default.svc/clusters/team-a/demo";
    assert_eq!(made["spec"]["audiences"], json!([issuer]));
    let review = json!({"spec": {"token": made["status"]["token"], "audiences": [issuer]}});
    assert_eq!(
        workload.made(REVIEWS, review.clone()).await["status"]["authenticated"],
        true
    );
    let elsewhere = management.made(REVIEWS, review.clone()).await;
    assert_eq!(elsewhere["status"]["error"], "invalid bearer token");
    drop((management, workload));
    server.close().await;

    let (server, _, workload) = stored(folder.path());
    assert_eq!(
        workload.made(REVIEWS, review.clone()).await["status"]["authenticated"],
        true
    );
    drop(workload);
    server.close().await;
    // Without the key no token of it holds, and a new key is made.
    std::fs::remove_file(folder.path().join("sa.key")).unwrap();
    let (_server, _, workload) = stored(folder.path());
    let answer = workload.made(REVIEWS, review).await;
    assert_eq!(answer["status"]["error"], "invalid bearer token");
    let made = token(&workload, "robot", json!({})).await;
    let review = json!({"spec": {"token": made["status"]["token"]}});
    assert_eq!(
        workload.made(REVIEWS, review).await["status"]["authenticated"],
        true
    );
}
