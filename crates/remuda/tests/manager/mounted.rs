//! A certificate of the webhooks that something else keeps in a mounted Secret, as cert-manager does:
//! the manager that runs shows whatever is there now.

use std::{os::unix::fs::symlink, path::Path};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use remuda_controllers::kinds::Kind;
use serde_json::{Value, json};

use crate::place::{PATIENCE, Place, TEAM, free_port, status_of, until};

/// Makes an authority and a certificate of it, and mounts them as kubelet does: the files are links
/// through `..data`, which is swapped in one step. The authority is returned.
fn mount(folder: &Path, version: &str) -> String {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let leaf_key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&leaf_key, &issuer).unwrap();

    let data = folder.join(version);
    std::fs::create_dir_all(&data).unwrap();
    for (name, text) in [
        ("ca.crt", authority.pem()),
        ("tls.crt", leaf.pem()),
        ("tls.key", leaf_key.serialize_pem()),
    ] {
        std::fs::write(data.join(name), text).unwrap();
        let link = folder.join(name);
        if !link.is_symlink() {
            symlink(Path::new("..data").join(name), link).unwrap();
        }
    }
    let next = folder.join("..data_tmp");
    symlink(version, &next).unwrap();
    std::fs::rename(next, folder.join("..data")).unwrap();
    authority.pem()
}

/// Whether the API server got the webhook's word: the feature gate of what it creates is off.
async fn is_judged(place: &Place) -> bool {
    let pool = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool",
        "metadata": { "name": "new", "namespace": TEAM },
        "spec": { "clusterName": "demo", "template": { "spec": {
            "clusterName": "demo",
            "bootstrap": { "dataSecretName": "data" },
            "infrastructureRef": {
                "apiGroup": "infrastructure.cluster.x-k8s.io",
                "kind": "TerraformMachinePool", "name": "new",
            },
        } } },
    });
    let kind = Kind::MachinePool.resource();
    let created = place.objects.create(&kind, Some(TEAM), &pool, "test");
    let said = created.await.unwrap_err().to_string();
    said.contains("the feature gate MachinePool is off")
}

/// Whom the API server trusts to be the webhooks.
async fn trusted(place: &Place) -> String {
    let kind = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
    });
    let name = "remuda-validating-webhook-configuration";
    let found: Value = place.get_any(&kind, name).await;
    let bundle = found["webhooks"][0]["clientConfig"]["caBundle"].as_str();
    let bytes = base64::Engine::decode(
        &base64::engine::general_purpose::STANDARD,
        bundle.unwrap_or_default(),
    );
    String::from_utf8(bytes.unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mounted_certificate_that_rotates_is_shown_without_a_restart() {
    let place = Place::filled().await;
    let folder = tempfile::tempdir().unwrap();
    let first = mount(folder.path(), "..1");
    let health = free_port();
    let (address, mounted) = (format!("127.0.0.1:{health}"), folder.path());
    let mut manager = place.manager(&[
        "--health-addr",
        &address,
        "--webhook-port",
        "0",
        "--webhook-host",
        "127.0.0.1",
        "--webhook-cert-dir",
        mounted.to_str().unwrap(),
        "--feature-gates",
        "MachinePool=false",
    ]);
    until("it is ready", PATIENCE, async || {
        status_of(health, "/readyz").await == Some(200)
    })
    .await;
    assert_eq!(trusted(&place).await, first);
    assert!(is_judged(&place).await);

    // Another authority altogether: what was shown before is trusted no longer.
    let second = mount(folder.path(), "..2");
    until(
        "the API server trusts the new authority",
        PATIENCE,
        async || trusted(&place).await == second,
    )
    .await;
    until("the new certificate is shown", PATIENCE, async || {
        is_judged(&place).await
    })
    .await;
    assert!(manager.terminate(), "it is the process of the beginning");
}
