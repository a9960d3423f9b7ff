//! What is on disk: an acknowledged write survives, a second process is kept out, a damaged file is
//! left alone.

use std::path::Path;
use std::process::{Command, Stdio};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use remuda_apiserver::{ApiServer, BuildError, StoreError};
use serde_json::json;

use crate::widget::{Widget, install};

/// Tells the child of a test what to do.
const FOLDER: &str = "APISERVER_CRASH_FOLDER";

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

fn open(folder: &Path) -> Result<ApiServer, BuildError> {
    ApiServer::builder().data_dir(folder).build()
}

#[tokio::test]
async fn everything_is_there_after_a_restart_and_revisions_go_on() {
    let folder = tempfile::tempdir().unwrap();
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
    let folder = tempfile::tempdir().unwrap();
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
    let folder = tempfile::tempdir().unwrap();
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
    let whole = tempfile::tempdir().unwrap();
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
        let folder = tempfile::tempdir().unwrap();
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
    let folder = tempfile::tempdir().unwrap();
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

/// Not a test of its own: the process that `acknowledged_writes_survive_kill_9` kills.
#[tokio::test]
async fn crash_child() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let server = open(Path::new(&folder)).unwrap();
    let maps = maps(&server);
    for index in 0.. {
        let name = format!("m-{index}");
        maps.create(&PostParams::default(), &map(&name))
            .await
            .unwrap();
        println!("acknowledged {name}");
    }
}

#[tokio::test]
async fn acknowledged_writes_survive_kill_9() {
    use std::io::{BufRead as _, BufReader};
    let folder = tempfile::tempdir().unwrap();
    let mut known = 0;
    for round in 0..5_usize {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["durability::crash_child", "--exact", "--nocapture"])
            .env(FOLDER, folder.path().join(round.to_string()))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let enough = 20 + round * 17;
        let mut acknowledged: Vec<String> = Vec::new();
        while acknowledged.len() < enough {
            let line = lines.next().expect("the child writes on").unwrap();
            acknowledged.extend(line.split("acknowledged ").nth(1).map(str::to_owned));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let rest = lines.map_while(Result::ok);
        acknowledged
            .extend(rest.filter_map(|l| l.split("acknowledged ").nth(1).map(str::to_owned)));
        let server = open(&folder.path().join(round.to_string())).unwrap();
        let stored = maps(&server).list(&ListParams::default()).await.unwrap();
        let stored: Vec<String> = stored.iter().map(ResourceExt::name_any).collect();
        for name in &acknowledged {
            assert!(
                stored.contains(name),
                "round {round}: {name} was acknowledged and is gone"
            );
        }
        assert!(
            stored.len() <= acknowledged.len() + 1,
            "at most the write under way is extra"
        );
        known += acknowledged.len();
    }
    assert!(known >= 5 * 20);
}
