//! Certificates that renew themselves, in virtual time: real handshakes without a socket.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use kube::core::{ApiResource, GroupVersionKind};
use remuda_controllers::{
    admission::{Admission, Certificates, Endpoint, Keeper, Listener, Rotating, Scope},
    clock::RuntimeClock,
    kinds::Kind,
    objects::{Objects, Target},
};
use remuda_plan::admission::Gates;
use remuda_testkit::World;
use rustls::{ClientConfig, RootCertStore, time_provider::TimeProvider};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject};
use serde_json::{Value, json};
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

const SYSTEM: &str = "remuda-system";
const NAME: &str = "webhooks";
const SECRET: &str = "certificates";

/// One replica's keeper and listener.
struct Replica {
    keeper: Keeper,
    listener: Listener,
}

impl Replica {
    fn new(world: &World, certificates: Certificates) -> Self {
        let rotating = Arc::<Rotating>::default();
        let router = Admission::new(world.objects.client(), Gates::default()).router();
        let keeper = Keeper {
            objects: world.objects.clone(),
            clock: Arc::new(RuntimeClock::starting_at(world.now())),
            certificates,
            endpoint: Endpoint::Service {
                namespace: SYSTEM.to_owned(),
                name: NAME.to_owned(),
            },
            scope: Some(Scope::ALL),
            rotating: rotating.clone(),
        };
        Self {
            keeper,
            listener: Listener::new(router, rotating).unwrap(),
        }
    }

    fn own(world: &World) -> Self {
        let certificates = Certificates::Own {
            namespace: SYSTEM.to_owned(),
            secret: SECRET.to_owned(),
        };
        Self::new(world, certificates)
    }

    /// Whether a client that trusts this bundle can call now.
    async fn can_be_called(&self, bundle: &str) -> Result<(), String> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let now = At(self.keeper.clock.now());
        let config = ClientConfig::builder_with_details(provider, Arc::new(now))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let (client, server) = tokio::io::duplex(64 * 1024);
        let served = tokio::spawn(
            self.listener
                .clone()
                .connection(server, CancellationToken::new()),
        );
        let name = ServerName::try_from(format!("{NAME}.{SYSTEM}.svc")).unwrap();
        let outcome = TlsConnector::from(Arc::new(config))
            .connect(name, client)
            .await;
        served.abort();
        outcome.map(drop).map_err(|error| error.to_string())
    }
}

#[derive(Debug)]
struct At(Timestamp);

impl TimeProvider for At {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.0.as_second()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

async fn world() -> World {
    let world = World::new().await;
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": SYSTEM },
    });
    world.create(&namespace).await;
    world
}

fn validating() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
    ))
}

const VALIDATING: &str = "remuda-validating-webhook-configuration";

async fn configuration(world: &World) -> Value {
    let found = world.objects.get_of(&validating(), None, VALIDATING).await;
    found.unwrap().unwrap()
}

/// Whom the API server trusts.
async fn bundle(world: &World) -> String {
    let configuration = configuration(world).await;
    let bundle = configuration["webhooks"][0]["clientConfig"]["caBundle"].as_str();
    String::from_utf8(STANDARD.decode(bundle.unwrap()).unwrap()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn for_three_years_the_webhooks_can_be_called_at_any_time() {
    // A replica may sleep: both lives are much longer than this.
    const STEP: Duration = Duration::from_hours(3 * 24);
    let world = world().await;
    let (one, two) = (Replica::own(&world), Replica::own(&world));
    one.keeper.pass().await.unwrap();
    two.keeper.pass().await.unwrap();
    let mut bundles = vec![bundle(&world).await];
    let mut shown = vec![secret(&world).await["data"]["tls.crt"].clone()];
    for _ in 0..365 {
        world.pass(STEP).await;
        // An API server that has not heard of the newest bundle yet must get through, too.
        let before = bundle(&world).await;
        one.keeper.pass().await.unwrap();
        one.can_be_called(&before).await.unwrap();
        two.can_be_called(&before).await.unwrap();
        two.keeper.pass().await.unwrap();
        let now = bundle(&world).await;
        one.can_be_called(&now).await.unwrap();
        two.can_be_called(&now).await.unwrap();
        if bundles.last() != Some(&now) {
            bundles.push(now);
        }
        let certificate = secret(&world).await["data"]["tls.crt"].clone();
        if shown.last() != Some(&certificate) {
            shown.push(certificate);
        }
    }
    assert_eq!(
        bundles.len(),
        5,
        "an authority lives a year and is followed after 8 months"
    );
    assert!(
        (15..=25).contains(&shown.len()),
        "{} certificates",
        shown.len()
    );
    let first = one.can_be_called(&bundles[0]).await;
    assert!(
        first.unwrap_err().contains("UnknownIssuer"),
        "the first authority is over"
    );
}

async fn secret(world: &World) -> Value {
    let found = world.objects.get(Kind::Secret, SYSTEM, SECRET).await;
    found.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_someone_changes_is_put_right_and_what_is_right_is_left_alone() {
    let world = world().await;
    let replica = Replica::own(&world);
    replica.keeper.pass().await.unwrap();
    let mark = world.mark();
    replica.keeper.pass().await.unwrap();
    assert_eq!(world.kubernetes_writes(mark), [""; 0]);

    let good = configuration(&world).await;
    let resource = validating();
    let target = Target {
        resource: &resource,
        namespace: None,
        name: VALIDATING,
        subresource: None,
    };
    let mut fewer = good["webhooks"].clone();
    fewer[0]["failurePolicy"] = json!("Ignore");
    let patch = json!({ "webhooks": fewer });
    world
        .objects
        .merge_patch(&target, &patch, "someone")
        .await
        .unwrap();
    let shutdown = CancellationToken::new();
    let kept = tokio::spawn(replica.keeper.run(shutdown.clone()));
    world.pass(Duration::from_mins(2)).await;
    assert_eq!(configuration(&world).await["webhooks"], good["webhooks"]);
    world
        .objects
        .delete(&resource, None, VALIDATING, None)
        .await
        .unwrap();
    world.pass(Duration::from_mins(2)).await;
    assert_eq!(configuration(&world).await["webhooks"], good["webhooks"]);
    shutdown.cancel();
    kept.await.unwrap();
}

/// Writes what cert-manager would mount: certificates of another installation.
async fn mount(folder: &Path, with_authority: bool) -> String {
    let elsewhere = world().await;
    Replica::own(&elsewhere).keeper.pass().await.unwrap();
    let data = secret(&elsewhere).await["data"].clone();
    let text = |key: &str| STANDARD.decode(data[key].as_str().unwrap()).unwrap();
    std::fs::create_dir_all(folder).unwrap();
    let _ = std::fs::remove_file(folder.join("ca.crt"));
    std::fs::write(folder.join("tls.crt"), text("tls.crt")).unwrap();
    std::fs::write(folder.join("tls.key"), text("tls.key")).unwrap();
    if with_authority {
        std::fs::write(folder.join("ca.crt"), text("ca.crt")).unwrap();
    }
    String::from_utf8(text("ca.crt")).unwrap()
}

#[tokio::test(start_paused = true)]
async fn mounted_certificates_are_read_again_whenever_they_change() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mounted-certificates");
    let world = world().await;
    let first = mount(&folder, true).await;
    let replica = Replica::new(&world, Certificates::Mounted(folder.clone()));
    replica.keeper.pass().await.unwrap();
    assert_eq!(bundle(&world).await, first);
    replica.can_be_called(&first).await.unwrap();

    // Without an authority in the folder someone else keeps the bundle: it stays.
    let second = mount(&folder, false).await;
    replica.keeper.pass().await.unwrap();
    assert_eq!(bundle(&world).await, first);
    replica.can_be_called(&second).await.unwrap();
    assert!(replica.can_be_called(&first).await.is_err());

    // The certificate is the next one already, its key not yet.
    let key = std::fs::read_to_string(folder.join("tls.key")).unwrap();
    mount(&folder, true).await;
    std::fs::write(folder.join("tls.key"), key).unwrap();
    let torn = replica.keeper.pass().await.unwrap_err().to_string();
    assert!(torn.contains("the pair of certificate and key"), "{torn}");
    assert_eq!(
        bundle(&world).await,
        first,
        "nobody trusts what is not shown"
    );
    replica.can_be_called(&second).await.unwrap();

    std::fs::remove_file(folder.join("tls.key")).unwrap();
    let broken = replica.keeper.pass().await.unwrap_err().to_string();
    assert!(broken.contains("tls.key"), "{broken}");
    replica.can_be_called(&second).await.unwrap();
}
