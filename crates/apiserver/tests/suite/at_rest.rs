//! Secrets at rest: sealed in every file that is written, lost to no one who has the key.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::DeleteParams;
use redb::ReadableTable;
use remuda_apiserver::{ApiServer, BuildError, StoreError};

use crate::on_disk::{
    self, STORE, files, holders, holds, map_value, maps, open, put_map, put_secret, secret_value,
    secrets,
};

const KEYS: &str = "store.key";
const OBJECTS: redb::TableDefinition<'static, &str, &[u8]> = redb::TableDefinition::new("objects");

/// A key line that was not made by a server.
fn key_line(seed: u8) -> String {
    format!("{}\n", STANDARD.encode([seed; 32]))
}

fn write_keys(folder: &Path, text: &str) {
    on_disk::write(&folder.join(KEYS), text);
}

fn refused(folder: &Path) -> StoreError {
    let Err(BuildError::Store(error)) = open(folder) else {
        unreachable!("the store is refused")
    };
    error
}

/// A folder with a Secret `s` of this value, closed.
async fn folder_with_secret(value: &str) -> tempfile::TempDir {
    let folder = on_disk::folder();
    let server = open(folder.path()).expect("a new store");
    put_secret(&server.management(), "s", value).await;
    server.close().await;
    folder
}

#[test]
fn the_search_finds_base64_at_every_alignment() {
    for before in ["", "a", "ab", "abc"] {
        let text = STANDARD.encode(format!("{before}needle-in-hay and more"));
        assert!(holds(text.as_bytes(), "needle-in-hay"), "{before:?}");
    }
    assert!(!holds(b"bmVlZGxl", "needle-in-hay"));
}

#[tokio::test]
async fn a_secret_is_in_no_file_in_plain_at_any_time() {
    let folder = on_disk::folder();
    let server = open(folder.path()).unwrap();
    let (api, workload) = (server.management(), server.instance("team-a/demo"));
    let unseen = |what: &str| {
        let found = holders(folder.path(), "correct-horse-battery");
        assert!(found.is_empty(), "{what}: {found:?}");
    };
    put_map(&api, "open", "an-open-configmap-value").await;
    let found = holders(folder.path(), "an-open-configmap-value");
    assert_eq!(found, [STORE], "what is not sealed is found by this search");
    for round in 0..30 {
        let value = format!("correct-horse-battery-{round}");
        put_secret(&api, "s", &value).await;
        put_secret(&workload, "inside", &value).await;
        unseen("created or updated");
    }
    secrets(&api)
        .delete("s", &DeleteParams::default())
        .await
        .unwrap();
    unseen("deleted");
    let backup = folder.path().join("backup");
    server.backup().unwrap().write_new(&backup).unwrap();
    assert!(holds(
        &fs::read(&backup).unwrap(),
        "an-open-configmap-value"
    ));
    unseen("backed up");
    server.compact().await.unwrap();
    unseen("compacted");
    server.remove_instance("team-a/demo").await.unwrap();
    put_secret(&api, "t", "correct-horse-battery-t").await;
    server.close().await;
    unseen("closed");
    let server = open(folder.path()).unwrap();
    unseen("opened again");
    let kept = secret_value(&server.management(), "t").await;
    assert_eq!(kept.as_deref(), Some("correct-horse-battery-t"));
}

#[tokio::test]
async fn which_resources_are_sealed_is_a_setting() {
    let folder = on_disk::folder();
    let server = open(folder.path()).unwrap();
    put_map(&server.management(), "m", "configmap-for-staff").await;
    put_secret(&server.management(), "s", "secret-for-staff").await;
    server.close().await;
    assert_eq!(holders(folder.path(), "configmap-for-staff"), [STORE]);

    let sealing = |resources: &[&str]| {
        let builder = ApiServer::builder().data_dir(folder.path());
        builder.seal(resources.iter().copied()).build().unwrap()
    };
    let server = sealing(&["configmaps", "secrets"]);
    assert!(
        holders(folder.path(), "configmap-for-staff").is_empty(),
        "what was there before is sealed at the start"
    );
    let kept = map_value(&server.management(), "m").await;
    assert_eq!(kept.as_deref(), Some("configmap-for-staff"));
    server.close().await;

    let server = sealing(&[]);
    assert_eq!(holders(folder.path(), "secret-for-staff"), [STORE]);
    server.close().await;
}

#[tokio::test]
async fn without_its_key_a_store_is_refused_and_left_alone() {
    let folder = folder_with_secret("v").await;
    let good = fs::read_to_string(folder.path().join(KEYS)).unwrap();
    let mut without = files(folder.path());
    without.remove(KEYS);

    fs::remove_file(folder.path().join(KEYS)).unwrap();
    let error = refused(folder.path());
    assert!(matches!(error, StoreError::NoKey { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains(KEYS) && text.contains("put it back"),
        "{text}"
    );
    assert_eq!(
        files(folder.path()),
        without,
        "nothing came, nothing changed"
    );

    write_keys(folder.path(), &key_line(1));
    let error = refused(folder.path());
    assert!(matches!(error, StoreError::OtherKey { .. }), "{error}");
    assert!(error.to_string().contains("does not hold"), "{error}");

    write_keys(folder.path(), "hunter2\n");
    let error = refused(folder.path());
    let text = error.to_string();
    assert!(text.contains("line 1 is not a key"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");

    let mut now = files(folder.path());
    now.remove(KEYS);
    assert_eq!(now, without, "nothing changed");
    write_keys(folder.path(), &good);
    let server = open(folder.path()).unwrap();
    let value = secret_value(&server.management(), "s").await;
    assert_eq!(value.as_deref(), Some("v"));
}

#[tokio::test]
async fn a_key_is_changed_by_a_line_above_the_old_one() {
    let folder = folder_with_secret("v").await;
    let old = fs::read_to_string(folder.path().join(KEYS)).unwrap();
    write_keys(folder.path(), &format!("{}{old}", key_line(7)));
    let server = open(folder.path()).unwrap();
    let value = secret_value(&server.management(), "s").await;
    assert_eq!(value.as_deref(), Some("v"), "the old key still opens");
    put_secret(&server.management(), "t", "w").await;
    server.close().await;

    // The start sealed everything again, so the old line can go.
    write_keys(folder.path(), &key_line(7));
    let server = open(folder.path()).unwrap();
    for (name, value) in [("s", "v"), ("t", "w")] {
        let found = secret_value(&server.management(), name).await;
        assert_eq!(found.as_deref(), Some(value), "{name}");
    }
    server.close().await;

    write_keys(folder.path(), &old);
    let error = refused(folder.path());
    assert!(matches!(error, StoreError::OtherKey { .. }), "{error}");
}

#[tokio::test]
async fn a_key_file_elsewhere_is_made_and_used() {
    let home = tempfile::tempdir().unwrap();
    let (data, keys) = (home.path().join("data"), home.path().join("keys"));
    let build = || ApiServer::builder().data_dir(&data).key_file(&keys).build();
    let server = build().unwrap();
    put_secret(&server.management(), "s", "v").await;
    server.close().await;
    assert!(!data.join(KEYS).exists(), "the key is not beside the data");
    let mode = fs::metadata(&keys).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    assert!(matches!(refused(&data), StoreError::NoKey { .. }));
    let server = build().unwrap();
    let value = secret_value(&server.management(), "s").await;
    assert_eq!(value.as_deref(), Some("v"));
}

#[tokio::test]
async fn a_sealed_object_does_not_open_in_another_place() {
    let folder = on_disk::folder();
    let server = open(folder.path()).unwrap();
    put_secret(&server.management(), "mine", "v").await;
    put_secret(&server.management(), "yours", "w").await;
    server.close().await;
    {
        let database = redb::Database::open(folder.path().join(STORE)).unwrap();
        let write = database.begin_write().unwrap();
        let mut objects = write.open_table(OBJECTS).unwrap();
        let (mine, yours) = ("\0secrets\0default\0mine", "\0secrets\0default\0yours");
        let moved = objects.get(mine).unwrap().unwrap().value().to_vec();
        objects.insert(yours, moved.as_slice()).unwrap();
        drop(objects);
        write.commit().unwrap();
    }
    let error = refused(folder.path());
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("yours"), "{error}");
}

#[tokio::test]
async fn a_folder_or_key_file_that_others_can_read_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("a/b");
    open(&data).unwrap().close().await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&data.join(KEYS)), 0o600);
    for bits in [0o755, 0o750, 0o740, 0o704, 0o711] {
        fs::set_permissions(&data, Permissions::from_mode(bits)).unwrap();
        let error = refused(&data);
        assert!(matches!(error, StoreError::Exposed { .. }), "{error}");
        let remedy = format!("chmod 700 {}", data.display());
        assert!(error.to_string().contains(&remedy), "{error}");
    }
    fs::set_permissions(&data, Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(data.join(KEYS), Permissions::from_mode(0o640)).unwrap();
    let error = refused(&data);
    let remedy = format!("chmod 600 {}", data.join(KEYS).display());
    assert!(error.to_string().contains(&remedy), "{error}");
    fs::set_permissions(data.join(KEYS), Permissions::from_mode(0o600)).unwrap();
    open(&data).unwrap();
}

/// The fixture was written by the release that knew format 1.
#[tokio::test]
async fn a_store_of_format_1_opens_and_leaves_no_plain_secret() {
    use std::io::Read as _;
    let packed = include_bytes!("../data/format-1.redb.gz");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&packed[..])
        .read_to_end(&mut bytes)
        .unwrap();
    assert!(holds(&bytes, "plaintext-of-format-1"));
    let folder = on_disk::folder();
    fs::write(folder.path().join(STORE), bytes).unwrap();
    for round in ["migrated", "opened-again"] {
        let server = open(folder.path()).unwrap();
        let api = server.management();
        let secret = secrets(&api).get("old").await.unwrap();
        let uid = secret.metadata.uid.as_deref();
        assert_eq!(uid, Some("a6eefc07-15f7-45f9-99c7-9c1de45dd675"), "{round}");
        assert_eq!(secret.metadata.resource_version.as_deref(), Some("6"));
        let password = secret.data.unwrap().remove("password").unwrap().0;
        assert_eq!(password, b"plaintext-of-format-1");
        let map = maps(&api).get("kept").await.unwrap();
        assert_eq!(map.data.unwrap()["k"], "v");
        let made = put_map(&api, round, "v").await;
        let revision: u64 = made.metadata.resource_version.unwrap().parse().unwrap();
        assert!(revision > 8, "{round}: {revision}");
        server.close().await;
        let plain = holders(folder.path(), "plaintext-of-format-1");
        assert!(plain.is_empty(), "{round}: {plain:?}");
    }
}
