//! Backups: one moment of a server that goes on working, and the way back.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::ResourceExt;
use kube::api::ListParams;
use remuda_apiserver::{ApiServer, DataDir, Instance, StoreError, verify_backup};

use crate::on_disk::{
    self, STORE, files, holds, map_value, maps, open, put_map, put_secret, secret_value, secrets,
};

const KEYS: &str = "store.key";

/// A closed data directory with a Secret `s` and a backup of it beside.
async fn backed_up() -> tempfile::TempDir {
    let home = on_disk::folder();
    let server = open(&home.path().join("data")).expect("a new store");
    put_secret(&server.management(), "s", "sealed-in-backups").await;
    put_map(&server.instance("team-a/demo"), "m", "inside").await;
    let backup = server.backup().expect("a durable server");
    let written = backup.write_new(&home.path().join("backup"));
    written.expect("a new file");
    server.close().await;
    home
}

fn number(text: Option<String>) -> u64 {
    let number = text.and_then(|text| text.parse().ok());
    number.unwrap_or(0)
}

async fn newest_revision(instance: &Instance) -> u64 {
    let list = maps(instance).list(&ListParams::default()).await;
    number(list.expect("a list").metadata.resource_version)
}

/// Pairs are written one after the other, in two instances: at any moment the first is equal to the
/// second or one ahead. A copy of several moments would show others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_of_one_moment_while_writes_go_on() {
    let home = on_disk::folder();
    let server = open(&home.path().join("data")).unwrap();
    let (one, other) = (server.management(), server.instance("team-a/demo"));
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    let writing = tokio::spawn({
        let (one, other) = (one.clone(), other.clone());
        async move {
            let mut count = 0_u64;
            while stopped.try_recv().is_err() {
                count += 1;
                put_map(&one, "pair", &count.to_string()).await;
                put_map(&other, "pair", &count.to_string()).await;
            }
            count
        }
    });
    let mut seen = Vec::new();
    for round in 0..12 {
        let before = number(map_value(&other, "pair").await);
        let file = home.path().join(format!("backup-{round}"));
        let backup = server.backup().unwrap();
        let revision = backup.revision();
        // Slowly: writes overtake the stream.
        let mut chunks = Vec::new();
        for chunk in backup {
            chunks.push(chunk);
            put_map(&one, "meanwhile", &round.to_string()).await;
        }
        fs::write(&file, chunks.concat()).unwrap();
        let copy = home.path().join(format!("copy-{round}"));
        let keys = home.path().join("data").join(KEYS);
        let summary = DataDir::new(&copy).restore(&file, Some(&keys)).unwrap();
        assert_eq!(summary.revision, revision);
        let restored = open(&copy).unwrap();
        let workload = restored.existing_instance("team-a/demo");
        let first = number(map_value(&restored.management(), "pair").await);
        let second = number(map_value(&workload.unwrap(), "pair").await);
        assert!(
            first == second || first == second + 1,
            "round {round}: {first} and {second} are of two moments"
        );
        assert!(
            second >= before,
            "round {round}: what was acknowledged is in it"
        );
        for map in maps(&restored.management())
            .list(&ListParams::default())
            .await
            .unwrap()
        {
            assert!(number(map.resource_version()) <= revision, "round {round}");
        }
        seen.push(first);
        restored.close().await;
    }
    stop.send(()).unwrap();
    let written = writing.await.unwrap();
    assert!(written > *seen.first().unwrap(), "writes went on");
}

#[tokio::test]
async fn a_restored_server_has_every_object_and_goes_on_far_behind() {
    let home = backed_up().await;
    let (data, copy) = (home.path().join("data"), home.path().join("copy"));
    let server = open(&data).unwrap();
    let original = secrets(&server.management()).get("s").await.unwrap();
    // What came after the backup is not in it, but its revisions were seen.
    put_map(&server.management(), "later", "v").await;
    let last = newest_revision(&server.management()).await;
    server.close().await;

    let backup = home.path().join("backup");
    let restored = DataDir::new(&copy).restore(&backup, Some(&data.join(KEYS)));
    let summary = restored.unwrap();
    assert_eq!(verify_backup(&backup).unwrap(), summary);
    assert!(
        summary.objects >= 10,
        "namespaces of two instances, and ours"
    );
    let server = open(&copy).unwrap();
    let api = server.management();
    assert_eq!(secrets(&api).get("s").await.unwrap(), original);
    let workload = server.existing_instance("team-a/demo").unwrap();
    assert_eq!(map_value(&workload, "m").await.as_deref(), Some("inside"));
    assert_eq!(map_value(&api, "later").await, None);
    let made = put_map(&api, "new", "v").await;
    assert!(number(made.resource_version()) > last + 1000);
    // A client that saw the lost revisions has to list again.
    let params = kube::api::WatchParams::default();
    let mut watch = Box::pin(maps(&api).watch(&params, &last.to_string()).await.unwrap());
    let event = futures::StreamExt::next(&mut watch).await.unwrap().unwrap();
    match event {
        kube::api::WatchEvent::Error(status) => assert_eq!(status.code, 410),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_restore_overwrites_nothing() {
    let home = backed_up().await;
    let data = home.path().join("data");
    let before = files(&data);
    let backup = home.path().join("backup");
    let error = DataDir::new(&data).restore(&backup, None).unwrap_err();
    assert!(matches!(error, StoreError::Occupied { .. }), "{error}");
    assert!(error.to_string().contains("never overwrites"), "{error}");
    assert_eq!(files(&data), before);

    let server = open(&data).unwrap();
    let error = server.backup().unwrap().write_new(&backup).unwrap_err();
    assert!(error.to_string().contains("backup"), "{error}");
}

#[tokio::test]
async fn a_backup_needs_its_key_and_says_so() {
    let home = backed_up().await;
    let (backup, copy) = (home.path().join("backup"), home.path().join("copy"));
    let keys = home.path().join("data").join(KEYS);
    let bytes = fs::read(&backup).unwrap();
    assert!(!holds(&bytes, "sealed-in-backups"));
    assert!(holds(&bytes, "inside"), "what is not sealed is found");
    let mode = fs::metadata(&backup).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);

    let target = DataDir::new(&copy);
    let error = target.restore(&backup, None).unwrap_err();
    assert!(matches!(error, StoreError::NoKey { .. }), "{error}");
    let wrong = home.path().join("wrong");
    on_disk::write(&wrong, STANDARD.encode([1; 32]));
    let error = target.restore(&backup, Some(&wrong)).unwrap_err();
    assert!(error.to_string().contains("does not hold key"), "{error}");
    let missing = home.path().join("missing");
    let error = target.restore(&backup, Some(&missing)).unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");
    assert!(files(&copy).is_empty(), "a failure leaves nothing behind");

    target.restore(&backup, Some(&keys)).unwrap();
    let server = open(&copy).unwrap();
    let value = secret_value(&server.management(), "s").await;
    assert_eq!(value.as_deref(), Some("sealed-in-backups"));
}

#[tokio::test]
async fn a_cut_or_altered_backup_is_refused() {
    let home = backed_up().await;
    let backup = home.path().join("backup");
    let good = fs::read(&backup).unwrap();
    let keys = home.path().join("data").join(KEYS);
    let bad = home.path().join("bad");
    let refused = |what: String, bytes: &[u8]| {
        fs::write(&bad, bytes).unwrap();
        let copy = home.path().join("copy");
        let error = DataDir::new(&copy).restore(&bad, Some(&keys)).unwrap_err();
        assert!(
            matches!(error, StoreError::Backup { .. }),
            "{what}: {error}"
        );
        assert!(error.to_string().contains("use another one"), "{error}");
        assert!(!copy.join(STORE).exists(), "{what}");
    };
    for at in (0..good.len()).step_by(1_999) {
        refused(format!("cut at {at}"), &good[..at]);
        let mut altered = good.clone();
        altered[at] ^= 0x20;
        refused(format!("altered at {at}"), &altered);
    }
    refused("longer".into(), &[&good[..], b"x"].concat());
}

#[tokio::test]
async fn a_directory_at_rest_is_backed_up_without_a_change() {
    let home = backed_up().await;
    let data = home.path().join("data");
    let before = files(&data);
    let summaries = ["one", "another"].map(|name| {
        let file = home.path().join(name);
        let backup = DataDir::new(&data).backup().unwrap();
        backup.write_new(&file).unwrap();
        verify_backup(&file).unwrap()
    });
    assert_eq!(files(&data), before);
    assert_eq!(summaries[0], summaries[1]);
    let online = verify_backup(&home.path().join("backup")).unwrap();
    assert!(summaries[0].objects >= online.objects);

    let _server = open(&data).unwrap();
    let error = DataDir::new(&data).backup().unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    let nothing = DataDir::new(home.path().join("none")).backup();
    assert!(nothing.unwrap_err().to_string().contains("none"));
    assert!(!home.path().join("none").exists());
}

/// The body of an answer to `GET /backup`.
async fn asked(instance: &Instance) -> (u16, Vec<u8>) {
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;
    let request = http::Request::get("/backup").body(axum::body::Body::empty());
    let answer = instance.router().oneshot(request.unwrap()).await.unwrap();
    let status = answer.status().as_u16();
    (
        status,
        answer
            .into_body()
            .collect()
            .await
            .unwrap()
            .to_bytes()
            .to_vec(),
    )
}

#[tokio::test]
async fn a_running_server_gives_its_backup_to_the_management_api_alone() {
    let home = on_disk::folder();
    let server = open(&home.path().join("data")).unwrap();
    let workload = server.instance("team-a/demo");
    put_secret(&workload, "s", "v").await;
    let (status, body) = asked(&server.management()).await;
    assert_eq!(status, 200);
    let file = home.path().join("backup");
    fs::write(&file, body).unwrap();
    let copy = home.path().join("copy");
    let keys = home.path().join("data").join(KEYS);
    let restored = DataDir::new(&copy).restore(&file, Some(&keys));
    restored.unwrap();
    let restored = open(&copy).unwrap().instance("team-a/demo");
    let value = secret_value(&restored, "s").await;
    assert_eq!(value.as_deref(), Some("v"));
    assert_eq!(
        asked(&workload).await.0,
        404,
        "it would show other instances"
    );
    let memory = ApiServer::builder().build().unwrap();
    assert_eq!(asked(&memory.management()).await.0, 404);
    assert!(memory.backup().is_none(), "there is no key to seal with");
}

#[test]
fn what_is_no_backup_is_told_apart() {
    let home = on_disk::folder();
    let file = home.path().join("file");
    fs::write(&file, "kind: List\nitems: [] # long enough to look at\n").unwrap();
    let error = verify_backup(&file).unwrap_err();
    assert!(error.to_string().contains("not a backup"), "{error}");
    let error = verify_backup(Path::new("/does/not/exist")).unwrap_err();
    assert!(error.to_string().contains("/does/not/exist"), "{error}");
}
