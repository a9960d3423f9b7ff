//! Real `kube` clients, watchers and controllers over the router, in virtual time.
#![allow(clippy::panic, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use remuda_apiserver::{ApiServer, TokioClock};
use serde_json::json;

use crate::widget::{Widget, install};

fn server() -> ApiServer {
    let epoch = "2026-01-01T00:00:00Z"
        .parse()
        .expect("valid by construction");
    ApiServer::builder()
        .clock(Arc::new(TokioClock::starting_at(epoch)))
        .seed(7)
        .build()
        .expect("valid by construction")
}

fn client(server: &ApiServer) -> Client {
    Client::new(server.management().router(), "default")
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"a": "1"}}))
        .expect("valid by construction")
}

#[tokio::test(start_paused = true)]
async fn a_controller_reconciles_every_object_and_its_requeues_run_in_virtual_time() {
    let server = server();
    let client = client(&server);
    install(&client).await;
    let widgets: Api<Widget> = Api::namespaced(client.clone(), "default");
    for index in 0..20 {
        let widget = Widget::named(&format!("w-{index}"), 1);
        widgets
            .create(&PostParams::default(), &widget)
            .await
            .unwrap();
    }
    let passes = Arc::new(AtomicUsize::new(0));
    let reconcile = |_: Arc<Widget>, passes: Arc<AtomicUsize>| async move {
        passes.fetch_add(1, Ordering::SeqCst);
        Ok::<_, std::io::Error>(Action::requeue(Duration::from_mins(10)))
    };
    let run = Controller::new(widgets, watcher::Config::default())
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_secs(5)),
            passes.clone(),
        )
        .for_each(|outcome| async move { assert!(outcome.is_ok()) });
    let day = Duration::from_secs(24 * 3600 - 1);
    assert!(
        tokio::time::timeout(day, run).await.is_err(),
        "a controller does not end by itself"
    );
    assert_eq!(passes.load(Ordering::SeqCst), 20 * 144);
}

#[tokio::test(start_paused = true)]
async fn both_watch_strategies_see_each_change_once() {
    let server = server();
    let client = client(&server);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    maps.create(&PostParams::default(), &config_map("early"))
        .await
        .unwrap();
    for config in [
        watcher::Config::default(),
        watcher::Config::default().streaming_lists(),
    ] {
        let mut seen = watcher(maps.clone(), config).applied_objects().boxed();
        let first = seen.try_next().await.unwrap().unwrap();
        assert_eq!(first.name_any(), "early");
        maps.create(&PostParams::default(), &config_map("late"))
            .await
            .unwrap();
        assert_eq!(seen.try_next().await.unwrap().unwrap().name_any(), "late");
        maps.delete("late", &DeleteParams::default()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_stale_update_is_refused_and_an_empty_one_writes_nothing() {
    let server = server();
    let client = client(&server);
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let first = maps
        .create(&PostParams::default(), &config_map("m"))
        .await
        .unwrap();
    let same = maps
        .replace("m", &PostParams::default(), &first)
        .await
        .unwrap();
    assert_eq!(same.resource_version(), first.resource_version());
    let patch = Patch::Merge(json!({"data": {"a": "2"}}));
    let second = maps
        .patch("m", &PatchParams::default(), &patch)
        .await
        .unwrap();
    assert_ne!(second.resource_version(), first.resource_version());
    let error = maps
        .replace("m", &PostParams::default(), &first)
        .await
        .unwrap_err();
    let kube::Error::Api(status) = error else {
        panic!("{error}")
    };
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    assert_eq!(
        status.message,
        "Operation cannot be fulfilled on configmaps \"m\": the object has been modified; please \
         apply your changes to the latest version and try again"
    );
}

#[tokio::test(start_paused = true)]
async fn spec_and_status_are_written_apart_and_only_spec_counts_generations() {
    let server = server();
    let client = client(&server);
    install(&client).await;
    let widgets: Api<Widget> = Api::namespaced(client, "default");
    let made = widgets
        .create(&PostParams::default(), &Widget::named("w", 1))
        .await
        .unwrap();
    assert_eq!(made.metadata.generation, Some(1));
    let status = Patch::Merge(json!({"spec": {"replicas": 9}, "status": {"replicas": 1}}));
    let after = widgets
        .patch_status("w", &PatchParams::default(), &status)
        .await
        .unwrap();
    assert_eq!(
        (after.spec.replicas, after.metadata.generation),
        (1, Some(1))
    );
    assert_eq!(after.status.as_ref().map(|s| s.replicas), Some(1));
    let spec = Patch::Merge(json!({"spec": {"replicas": 2}, "status": {"replicas": 7}}));
    let after = widgets
        .patch("w", &PatchParams::default(), &spec)
        .await
        .unwrap();
    assert_eq!(
        (after.spec.replicas, after.metadata.generation),
        (2, Some(2))
    );
    assert_eq!(after.status.map(|s| s.replicas), Some(1));
}

#[tokio::test(start_paused = true)]
async fn pages_show_one_moment() {
    let server = server();
    let client = client(&server);
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    for index in 0..5 {
        maps.create(&PostParams::default(), &config_map(&format!("m-{index}")))
            .await
            .unwrap();
    }
    let first = maps.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(first.metadata.remaining_item_count, Some(3));
    maps.delete("m-3", &DeleteParams::default()).await.unwrap();
    maps.create(&PostParams::default(), &config_map("m-9"))
        .await
        .unwrap();
    let token = first.metadata.continue_.unwrap();
    let rest = maps
        .list(&ListParams::default().continue_token(&token))
        .await
        .unwrap();
    let names: Vec<String> = rest.items.iter().map(ResourceExt::name_any).collect();
    assert_eq!(names, ["m-2", "m-3", "m-4"]);
}

#[tokio::test(start_paused = true)]
async fn an_owner_takes_its_dependents_along_and_a_namespace_its_content() {
    let server = server();
    let client = client(&server);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let owner = maps
        .create(&PostParams::default(), &config_map("owner"))
        .await
        .unwrap();
    let mut dependent = config_map("dependent");
    dependent.metadata.owner_references = Some(vec![
        serde_json::from_value(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "name": "owner", "uid": owner.uid().unwrap()}))
        .unwrap(),
    ]);
    maps.create(&PostParams::default(), &dependent)
        .await
        .unwrap();
    maps.delete("owner", &DeleteParams::background())
        .await
        .unwrap();
    settle(|| async { maps.get_opt("dependent").await.unwrap().is_none() }).await;

    let namespaces: Api<Namespace> = Api::all(client.clone());
    let team: Namespace = serde_json::from_value(json!({"metadata": {"name": "team"}})).unwrap();
    namespaces
        .create(&PostParams::default(), &team)
        .await
        .unwrap();
    let secrets: Api<Secret> = Api::namespaced(client, "team");
    let secret: Secret =
        serde_json::from_value(json!({"metadata": {"name": "s"}, "stringData": {"k": "v"}}))
            .unwrap();
    let made = secrets
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
    assert_eq!(made.data.unwrap()["k"].0, b"v");
    namespaces
        .delete("team", &DeleteParams::default())
        .await
        .unwrap();
    settle(|| async { namespaces.get_opt("team").await.unwrap().is_none() }).await;
    assert!(secrets.get_opt("s").await.unwrap().is_none());
}

/// Waits in virtual time until a condition holds.
async fn settle<F: Future<Output = bool>>(condition: impl Fn() -> F) {
    for _ in 0..100 {
        if condition().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the condition never held");
}
