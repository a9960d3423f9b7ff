//! Who gets in over the socket: client certificates, tokens of ServiceAccounts and Secrets,
//! bootstrap tokens; and who does not.

use std::time::Duration;

use http::Method;
use remuda_apiserver::{ApiServer, Instance, Serving};
use serde_json::{Value, json};

use crate::asking::{As, RBAC};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const WHO: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// A kube-rs client whose kubeconfig has this user.
pub(crate) async fn client(serving: &Serving, instance: &Instance, user: Value) -> kube::Client {
    let text = serving.kubeconfig(instance);
    let mut file = kube::config::Kubeconfig::from_yaml(&text).expect("a kubeconfig");
    let user = serde_json::from_value(user).expect("a user");
    file.auth_infos.first_mut().expect("a user").auth_info = Some(user);
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(file, &options)
        .await
        .expect("a config");
    kube::Client::try_from(config).expect("a client")
}

/// The code and body of an answer over the socket.
async fn over(client: &kube::Client, method: Method, path: &str, body: Value) -> (u16, Value) {
    let body = if method == Method::GET {
        Vec::new()
    } else {
        body.to_string().into_bytes()
    };
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(kube::client::Body::from(body))
        .expect("a valid request");
    let answer = client.send(request).await.expect("an answer");
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect_bytes().await.expect("a body");
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn serving() -> (ApiServer, Instance, Serving) {
    let server = ApiServer::builder().build().expect("a server");
    let instance = server.management();
    let serving = server
        .serve("127.0.0.1:0".parse().expect("an address"))
        .await
        .expect("a listener");
    (server, instance, serving)
}

/// Who the server takes a client for.
async fn whoami(client: &kube::Client) -> Value {
    let (code, review) = over(client, Method::POST, WHO, json!({})).await;
    assert_eq!(code, 201, "{review}");
    review["status"]["userInfo"].clone()
}

/// A key and a certificate request for a name in groups.
fn request(name: &str, groups: &[&str]) -> (String, String) {
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut params = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, name);
    // A name of rcgen holds one value of each type: the second group comes in by its number.
    let types = [
        rcgen::DnType::OrganizationName,
        rcgen::DnType::CustomDnType(vec![2, 5, 4, 10]),
    ];
    assert!(groups.len() <= types.len());
    for (group, kind) in groups.iter().zip(types) {
        params.distinguished_name.push(kind, *group);
    }
    let pem = params
        .serialize_request(&key)
        .and_then(|request| request.pem());
    let pem = pem.expect("a request");
    (key.serialize_pem(), pem)
}

/// Asks for a certificate, approves it and waits until it is signed.
pub(crate) async fn certified(
    admin: &As,
    name: &str,
    signer: &str,
    subject: (&str, &[&str]),
) -> Value {
    use base64::Engine as _;
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let (key, pem) = request(subject.0, subject.1);
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let body = json!({"metadata": {"name": name}, "spec": {
        "signerName": format!("kubernetes.io/{signer}"), "request": encode(&pem),
        "usages": ["digital signature", "client auth"]}});
    admin.made(path, body).await;
    let approval = json!({"status": {"conditions": [
        {"type": "Approved", "status": "True", "reason": "Test", "message": "fine"}]}});
    let path = format!("{path}/{name}");
    let approve = format!("{path}/approval");
    let (code, answer) = admin
        .send(Method::PATCH, &approve, &[], Some(&approval))
        .await;
    assert_eq!(code, 200, "{answer}");
    loop {
        let (_, signed) = admin.get(&path).await;
        let conditions = signed["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        if let Some(failed) = conditions.find(|condition| condition["type"] == "Failed") {
            return failed.clone();
        }
        if let Some(certificate) = signed["status"]["certificate"].as_str() {
            return json!({"client-certificate-data": certificate, "client-key-data": encode(&key)});
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_signed_certificate_is_its_holders_identity_in_its_own_instance_alone() {
    let (server, management, serving) = serving().await;
    let workload = server.instance("team-a/demo");
    for (own, other) in [(&management, &workload), (&workload, &management)] {
        let admin = As::admin(own);
        let user = certified(&admin, "c", "kube-apiserver-client", ("alice", &["dev"])).await;
        let alice = client(&serving, own, user.clone()).await;
        let info = whoami(&alice).await;
        assert_eq!(info["username"], "alice");
        assert_eq!(info["groups"], json!(["dev", "system:authenticated"]));
        let id = "authentication.kubernetes.io/credential-id";
        assert!(
            info["extra"][id][0]
                .as_str()
                .unwrap()
                .starts_with("X509SHA256=")
        );
        assert_eq!(over(&alice, Method::GET, SECRETS, Value::Null).await.0, 403);
        let binding = json!({"metadata": {"name": "b"}, "subjects": [{"kind": "Group", "name": "dev"}],
                             "roleRef": {"kind": "ClusterRole", "name": "edit"}});
        admin
            .made(&format!("{RBAC}/clusterrolebindings"), binding)
            .await;
        assert_eq!(over(&alice, Method::GET, SECRETS, Value::Null).await.0, 200);
        let stranger = client(&serving, other, user).await;
        assert_eq!(
            over(&stranger, Method::GET, "/version", Value::Null)
                .await
                .0,
            401
        );
    }
}

#[tokio::test]
async fn a_kubelets_certificate_makes_it_a_node_and_other_names_are_not_signed() {
    let (_server, instance, serving) = serving().await;
    let admin = As::admin(&instance);
    let signer = "kube-apiserver-client-kubelet";
    let user = certified(&admin, "n", signer, ("system:node:n1", &["system:nodes"])).await;
    let node = client(&serving, &instance, user).await;
    assert_eq!(
        whoami(&node).await["groups"],
        json!(["system:nodes", "system:authenticated"])
    );
    for (name, subject) in [
        ("a", ("alice", ["system:nodes"])),
        ("b", ("system:node:n1", ["system:masters"])),
    ] {
        let refused = certified(&admin, name, signer, (subject.0, &subject.1)).await;
        assert_eq!(refused["reason"], "SignerValidationFailure", "{refused}");
    }
}

#[tokio::test]
async fn nobody_asks_for_the_administrators_group_and_verdicts_need_a_right_on_the_signer() {
    use base64::Engine as _;
    let (_server, instance) = crate::asking::instance();
    let admin = As::admin(&instance);
    let (_, pem) = request("x", &["system:masters"]);
    let encoded = base64::engine::general_purpose::STANDARD.encode(pem);
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let body = |name: &str, request: &str| {
        json!({"metadata": {"name": name}, "spec": {"request": request,
            "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}})
    };
    let (code, status) = admin.post(path, body("m", &encoded)).await;
    let message = "certificatesigningrequests.certificates.k8s.io \"m\" is forbidden: use of \
        kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
    assert_eq!((code, &status["message"]), (403, &json!(message)));

    let rules = json!([{"apiGroups": ["certificates.k8s.io"], "verbs": ["create", "patch"], "resources": [
        "certificatesigningrequests", "certificatesigningrequests/approval",
        "certificatesigningrequests/status"]}]);
    crate::asking::grant(&admin, "alice", "", "csr", rules).await;
    let alice = As::user(&instance, "alice");
    let (_, pem) = request("x", &["dev"]);
    let made = alice
        .made(
            path,
            body("d", &base64::engine::general_purpose::STANDARD.encode(pem)),
        )
        .await;
    assert_eq!(made["spec"]["username"], "alice");
    assert_eq!(made["spec"]["groups"], json!(["system:authenticated"]));
    let approval = json!({"status": {"conditions": [{"type": "Approved", "status": "True"}]}});
    let certificate = json!({"status": {"certificate": "LS0t"}});
    for (part, verb, change) in [
        ("approval", "approve", &approval),
        ("status", "sign", &certificate),
    ] {
        let place = format!("{path}/d/{part}");
        let (code, status) = alice.send(Method::PATCH, &place, &[], Some(change)).await;
        let message = format!(
            "certificatesigningrequests.certificates.k8s.io \"d\" is forbidden: user not permitted \
             to {verb} requests with signerName \"kubernetes.io/kube-apiserver-client\""
        );
        assert_eq!((code, &status["message"]), (403, &json!(message)));
    }
    let rules = json!([{"apiGroups": ["certificates.k8s.io"], "verbs": ["approve"],
        "resources": ["signers"], "resourceNames": ["kubernetes.io/*"]}]);
    crate::asking::grant(&admin, "alice", "", "approver", rules).await;
    let (code, status) = alice
        .send(
            Method::PATCH,
            &format!("{path}/d/approval"),
            &[],
            Some(&approval),
        )
        .await;
    assert_eq!(code, 200, "{status}");
}

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

/// The administrator's requests to an instance, and the data folder of its server.
fn stored(folder: &std::path::Path) -> (ApiServer, As, As) {
    let server = ApiServer::builder()
        .data_dir(folder)
        .build()
        .expect("a server");
    let (management, workload) = (server.management(), server.instance("team-a/demo"));
    let clients = (As::admin(&management), As::admin(&workload));
    (server, clients.0, clients.1)
}

#[tokio::test]
async fn tokens_open_their_own_instance_alone_and_outlive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
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

#[tokio::test]
async fn certificates_outlive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _, workload) = stored(folder.path());
    let user = certified(&workload, "c", "kube-apiserver-client", ("alice", &[])).await;
    drop(workload);
    server.close().await;
    let (server, ..) = stored(folder.path());
    let serving = server.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let alice = client(&serving, &server.instance("team-a/demo"), user).await;
    assert_eq!(whoami(&alice).await["username"], "alice");
}
