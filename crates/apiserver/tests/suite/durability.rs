//! What is on disk: an acknowledged write survives, a second process is kept out, a damaged file is
//! left alone.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use remuda_apiserver::{ApiServer, BuildError, StoreError};
use serde_json::json;

use crate::on_disk::{self, open};
use crate::widget::{Widget, install};

fn maps(server: &ApiServer) -> Api<ConfigMap> {
    Api::namespaced(
        Client::new(server.management().router(), "default"),
        "default",
    )
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"k": "v"}}))
        .expect("a config map")
}

#[tokio::test]
async fn everything_is_there_after_a_restart_and_revisions_go_on() {
    let folder = on_disk::folder();
    let (last, token) = {
        let server = open(folder.path()).unwrap();
        let client = Client::new(server.management().router(), "default");
        install(&client).await;
        let widgets: Api<Widget> = Api::namespaced(client, "default");
        widgets
            .create(&PostParams::default(), &Widget::named("w", 3))
            .await
            .unwrap();
        let workload = server.instance("team-a/demo");
        let inside: Api<ConfigMap> =
            Api::namespaced(Client::new(workload.router(), "default"), "default");
        let made = inside
            .create(&PostParams::default(), &map("inside"))
            .await
            .unwrap();
        let serving = server.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let kubeconfig = serving.kubeconfig(&workload);
        serving.shutdown().await;
        server.close().await;
        (
            made.resource_version().unwrap(),
            kubeconfig.split("token: ").nth(1).unwrap().to_owned(),
        )
    };
    let server = open(folder.path()).unwrap();
    let client = Client::new(server.management().router(), "default");
    let widgets: Api<Widget> = Api::namespaced(client, "default");
    assert_eq!(widgets.get("w").await.unwrap().spec.replicas, 3);
    let workload = server
        .existing_instance("team-a/demo")
        .expect("it was made before");
    let inside: Api<ConfigMap> =
        Api::namespaced(Client::new(workload.router(), "default"), "default");
    assert_eq!(
        inside
            .get("inside")
            .await
            .unwrap()
            .resource_version()
            .unwrap(),
        last
    );
    assert!(
        maps(&server).get_opt("inside").await.unwrap().is_none(),
        "instances are isolated"
    );
    let next = inside
        .create(&PostParams::default(), &map("next"))
        .await
        .unwrap();
    let number = |text: &str| text.parse::<u64>().unwrap();
    assert!(number(&next.resource_version().unwrap()) > number(&last));
    let serving = server.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
    assert!(
        serving.kubeconfig(&workload).ends_with(&token),
        "a kubeconfig stays valid"
    );
}

#[tokio::test]
async fn a_removed_instance_is_gone_for_good() {
    let folder = on_disk::folder();
    let server = open(folder.path()).unwrap();
    let workload = server.instance("team-a/demo");
    let inside: Api<ConfigMap> =
        Api::namespaced(Client::new(workload.router(), "default"), "default");
    inside
        .create(&PostParams::default(), &map("inside"))
        .await
        .unwrap();
    maps(&server)
        .create(&PostParams::default(), &map("outside"))
        .await
        .unwrap();
    server.remove_instance("team-a/demo").await.unwrap();
    assert!(server.existing_instance("team-a/demo").is_none());
    assert!(
        server.remove_instance("").await.is_err(),
        "the management API stays"
    );
    server.close().await;
    let server = open(folder.path()).unwrap();
    assert!(server.existing_instance("team-a/demo").is_none());
    assert!(maps(&server).get_opt("outside").await.unwrap().is_some());
    let again = server.instance("team-a/demo");
    let inside: Api<ConfigMap> = Api::namespaced(Client::new(again.router(), "default"), "default");
    assert!(inside.get_opt("inside").await.unwrap().is_none());
}

#[tokio::test]
async fn a_second_server_is_kept_out() {
    let folder = on_disk::folder();
    let _first = open(folder.path()).unwrap();
    match open(folder.path()).unwrap_err() {
        BuildError::Store(error @ StoreError::InUse { .. }) => {
            assert!(
                error.to_string().contains("is in use by another process"),
                "{error}"
            );
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_damaged_file_is_named_and_left_alone() {
    let whole = on_disk::folder();
    open(whole.path()).unwrap().close().await;
    let good = std::fs::read(whole.path().join("apiserver.redb")).unwrap();
    let mut torn = good.clone();
    for byte in torn.iter_mut().skip(4096) {
        *byte = 0xA5;
    }
    let cases = [
        ("empty", Vec::new()),
        ("text", b"hello".repeat(4000)),
        ("torn", torn),
    ];
    for (case, bytes) in cases {
        let folder = on_disk::folder();
        let file = folder.path().join("apiserver.redb");
        std::fs::write(&file, &bytes).unwrap();
        match open(folder.path()) {
            Err(BuildError::Store(StoreError::Corrupt { .. })) => {}
            other => panic!("{case}: {other:?}"),
        }
        assert_eq!(
            std::fs::read(&file).unwrap(),
            bytes,
            "{case}: the file changed"
        );
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "{case}: files came"
        );
    }
}

#[tokio::test]
async fn a_newer_file_is_named_and_left_alone() {
    const FACTS: redb::TableDefinition<'static, &str, u64> = redb::TableDefinition::new("facts");
    let folder = on_disk::folder();
    open(folder.path()).unwrap().close().await;
    let file = folder.path().join("apiserver.redb");
    {
        let database = redb::Database::open(&file).unwrap();
        let write = database.begin_write().unwrap();
        write
            .open_table(FACTS)
            .unwrap()
            .insert("format", 99)
            .unwrap();
        write.commit().unwrap();
    }
    let error = open(folder.path()).unwrap_err();
    let BuildError::Store(StoreError::Newer { found, .. }) = &error else {
        panic!("{error}")
    };
    assert_eq!(*found, 99);
    assert!(
        error.to_string().contains("use the newer release"),
        "{error}"
    );
}

/// What a kill leaves: the files of a server that still runs, after 60 acknowledged writes.
async fn left_by_a_kill() -> BTreeMap<String, Vec<u8>> {
    let folder = on_disk::folder();
    let server = open(folder.path()).expect("a new store");
    for index in 0..60 {
        let name = format!("m-{}", index % 40);
        on_disk::put_map(&server.management(), &name, &index.to_string().repeat(400)).await;
    }
    on_disk::files(folder.path())
}

/// Opens a folder with these files: whether everything acknowledged is there. A refusal must name
/// the remedy and leave the file alone.
async fn opens_whole(files: &BTreeMap<String, Vec<u8>>, what: &str) -> bool {
    let folder = on_disk::folder();
    for (name, bytes) in files {
        on_disk::write(&folder.path().join(name), bytes);
    }
    let server = match open(folder.path()) {
        Ok(server) => server,
        Err(BuildError::Store(error @ (StoreError::Corrupt { .. } | StoreError::Lost { .. }))) => {
            let text = error.to_string();
            assert!(text.contains("restore it from a backup"), "{what}: {text}");
            let left = std::fs::read(folder.path().join(on_disk::STORE));
            assert!(
                left.ok() == files.get(on_disk::STORE).cloned(),
                "{what}: {text}"
            );
            return false;
        }
        Err(other) => unreachable!("{what}: {other}"),
    };
    for index in 20..60_usize {
        let name = format!("m-{}", index % 40);
        let value = on_disk::map_value(&server.management(), &name).await;
        let wanted = index.to_string().repeat(400);
        assert!(
            value == Some(wanted),
            "{what}: {name} was acknowledged and is gone"
        );
    }
    server.close().await;
    true
}

#[tokio::test]
async fn a_torn_end_loses_nothing_or_is_refused_with_the_remedy() {
    let files = left_by_a_kill().await;
    assert!(opens_whole(&files, "as it was left").await);
    let whole = &files[on_disk::STORE];
    let mut refused = 0;
    let step = whole.len() / 24;
    for at in (1..whole.len()).step_by(step).chain([whole.len() - 1]) {
        let mut zeroed = whole.clone();
        zeroed[at..].fill(0);
        let mut scrambled = whole.clone();
        scrambled[at..].iter_mut().for_each(|byte| *byte ^= 0x5A);
        let mut page = whole.clone();
        let end = page.len().min(at + 512);
        page[at..end].fill(0xFF);
        let cases = [
            ("cut", whole[..at].to_vec()),
            ("zeroed", zeroed),
            ("scrambled", scrambled),
            ("one sector", page),
        ];
        for (case, bytes) in cases {
            let mut files = files.clone();
            files.insert(on_disk::STORE.into(), bytes);
            refused += usize::from(!opens_whole(&files, &format!("{case} at {at}")).await);
        }
    }
    assert!(refused > 30, "{refused}: damage is noticed");
}

/// An older copy of the file is sound in itself, and still not what was acknowledged.
#[tokio::test]
async fn an_older_file_in_place_of_the_newest_is_refused() {
    let folder = on_disk::folder();
    let server = open(folder.path()).unwrap();
    on_disk::put_map(&server.management(), "m", "old").await;
    server.close().await;
    let store = folder.path().join(on_disk::STORE);
    let old = std::fs::read(&store).unwrap();
    let server = open(folder.path()).unwrap();
    on_disk::put_map(&server.management(), "m", "new").await;
    server.close().await;
    std::fs::write(&store, &old).unwrap();
    let error = open(folder.path()).unwrap_err();
    let BuildError::Store(StoreError::Lost { mark, .. }) = &error else {
        panic!("{error}")
    };
    assert!(
        error.to_string().contains(&mark.display().to_string()),
        "{error}"
    );
    assert_eq!(std::fs::read(&store).unwrap(), old);
    std::fs::remove_file(&store).unwrap();
    let error = open(folder.path()).unwrap_err();
    assert!(
        matches!(error, BuildError::Store(StoreError::Lost { .. })),
        "{error}"
    );
    // The remedy that accepts the loss.
    std::fs::remove_file(mark).unwrap();
    open(folder.path()).unwrap();
}

#[tokio::test]
async fn a_compacted_store_is_smaller_and_whole() {
    let folder = on_disk::folder();
    let server = open(folder.path()).unwrap();
    let api = server.management();
    for index in 0..40 {
        on_disk::put_map(&api, &format!("m-{index}"), &"x".repeat(20_000)).await;
    }
    for index in 1..40 {
        let name = format!("m-{index}");
        maps(&server)
            .delete(&name, &DeleteParams::default())
            .await
            .unwrap();
    }
    let size = || {
        std::fs::metadata(folder.path().join(on_disk::STORE))
            .unwrap()
            .len()
    };
    let before = size();
    server.compact().await.unwrap();
    assert!(size() < before / 2, "{} of {before}", size());
    on_disk::put_map(&api, "after", "v").await;
    server.close().await;
    let server = open(folder.path()).unwrap();
    let api = server.management();
    assert_eq!(
        on_disk::map_value(&api, "after").await.as_deref(),
        Some("v")
    );
    assert_eq!(on_disk::map_value(&api, "m-0").await.unwrap().len(), 20_000);
    let left = maps(&server).list(&ListParams::default()).await.unwrap();
    assert_eq!(left.items.len(), 2);
}
