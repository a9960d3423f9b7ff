//! Client certificates: who gets one signed, and whom it makes its holder.

use std::time::Duration;

use http::Method;
use remuda_apiserver::{ApiServer, Instance, Serving};
use serde_json::{Value, json};

use crate::asking::{As, RBAC};

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
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
pub(crate) async fn over(
    client: &kube::Client,
    method: Method,
    path: &str,
    body: Value,
) -> (u16, Value) {
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

pub(crate) async fn serving() -> (ApiServer, Instance, Serving) {
    let server = ApiServer::builder().build().expect("a server");
    let instance = server.management();
    let serving = server
        .serve("127.0.0.1:0".parse().expect("an address"))
        .await
        .expect("a listener");
    (server, instance, serving)
}

/// Who the server takes a client for.
pub(crate) async fn whoami(client: &kube::Client) -> Value {
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

/// The administrator's requests to an instance, and the data folder of its server.
pub(crate) fn stored(folder: &std::path::Path) -> (ApiServer, As, As) {
    let server = ApiServer::builder()
        .data_dir(folder)
        .build()
        .expect("a server");
    let (management, workload) = (server.management(), server.instance("team-a/demo"));
    let clients = (As::admin(&management), As::admin(&workload));
    (server, clients.0, clients.1)
}

#[tokio::test]
async fn certificates_outlive_a_restart() {
    let folder = crate::on_disk::folder();
    let (server, _, workload) = stored(folder.path());
    let user = certified(&workload, "c", "kube-apiserver-client", ("alice", &[])).await;
    drop(workload);
    server.close().await;
    let (server, ..) = stored(folder.path());
    let serving = server.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let alice = client(&serving, &server.instance("team-a/demo"), user).await;
    assert_eq!(whoami(&alice).await["username"], "alice");
}
