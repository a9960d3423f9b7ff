//! Several instances in one process share the file, the revisions and nothing else.

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client, ResourceExt};
use remuda_apiserver::{ApiServer, Instance};
use serde_json::json;

use crate::on_disk::{self, map_value, maps, open, put_map};
use crate::widget::{Widget, install};

/// The names in the events of a watch until `last` comes.
async fn watched_until(instance: &Instance, from: &str, last: &str) -> Vec<String> {
    let params = WatchParams::default();
    let watch = maps(instance).watch(&params, from).await;
    let mut watch = Box::pin(watch.expect("a watch"));
    let mut names = Vec::new();
    while names.last().map(String::as_str) != Some(last) {
        match watch.next().await.expect("a watch that goes on") {
            Ok(WatchEvent::Added(map) | WatchEvent::Modified(map)) => names.push(map.name_any()),
            other => unreachable!("{other:?}"),
        }
    }
    names
}

#[tokio::test]
async fn instances_share_no_object_no_kind_and_no_event() {
    let server = ApiServer::builder().build().unwrap();
    let all = ["", "team-a/one", "team-a/two", "team-b/one"].map(|name| server.instance(name));
    let start = maps(&all[3]).list(&ListParams::default()).await.unwrap();
    let start = start.metadata.resource_version.unwrap();
    for (index, instance) in all.iter().enumerate() {
        put_map(instance, "same-name", &index.to_string()).await;
        put_map(instance, &format!("only-{index}"), "v").await;
    }
    install(&Client::new(all[1].router(), "default")).await;
    for (index, instance) in all.iter().enumerate() {
        let own = map_value(instance, "same-name").await;
        assert_eq!(own, Some(index.to_string()), "{instance:?}");
        let list = maps(instance).list(&ListParams::default()).await.unwrap();
        let names: Vec<String> = list.iter().map(ResourceExt::name_any).collect();
        let only = format!("only-{index}");
        assert_eq!(names, [only.clone(), "same-name".to_owned()]);
        let events = watched_until(instance, &start, &only).await;
        assert_eq!(events, ["same-name".to_owned(), only], "{instance:?}");
        let widgets: Api<Widget> =
            Api::default_namespaced(Client::new(instance.router(), "default"));
        let known = widgets.list(&ListParams::default()).await;
        assert_eq!(
            known.is_ok(),
            index == 1,
            "{instance:?}: a kind of one instance alone"
        );
    }
}

/// Documented: revisions come from one counter, so a write in one instance shows in another as a
/// gap, never as an object or event.
#[tokio::test]
async fn revisions_are_of_the_server_and_grow_in_every_instance() {
    let server = ApiServer::builder().build().unwrap();
    let (one, other) = (server.instance("a/one"), server.instance("a/other"));
    let mut last = 0;
    for round in 0..5 {
        for instance in [&one, &other] {
            let map = put_map(instance, "m", &round.to_string()).await;
            let revision: u64 = map.resource_version().unwrap().parse().unwrap();
            assert!(revision > last, "{revision} after {last}");
            last = revision;
        }
    }
}

#[tokio::test]
async fn a_namespace_that_ends_ends_in_its_own_instance() {
    let server = ApiServer::builder().build().unwrap();
    let clients =
        ["a/one", "a/other"].map(|name| Client::new(server.instance(name).router(), "staff"));
    let made = clients.each_ref().map(|client| {
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        (namespaces, maps)
    });
    let named = |name| json!({"metadata": {"name": name}});
    for (namespaces, maps) in &made {
        let (namespace, map) = (named("staff"), named("m"));
        let params = PostParams::default();
        let namespace = serde_json::from_value(namespace).unwrap();
        namespaces.create(&params, &namespace).await.unwrap();
        let map = serde_json::from_value(map).unwrap();
        maps.create(&params, &map).await.unwrap();
    }
    let [(namespaces, inside), (_, outside)] = &made;
    let from = inside.list(&ListParams::default()).await.unwrap();
    let from = from.metadata.resource_version.unwrap();
    let params = DeleteParams::default();
    namespaces.delete("staff", &params).await.unwrap();
    let params = WatchParams::default();
    let mut watch = Box::pin(inside.watch(&params, &from).await.unwrap());
    let gone = watch.next().await.unwrap().unwrap();
    assert!(matches!(gone, WatchEvent::Deleted(_)), "{gone:?}");
    assert!(outside.get_opt("m").await.unwrap().is_some());
}

#[tokio::test]
async fn removing_one_instance_leaves_the_others_whole() {
    let folder = on_disk::folder();
    let server = open(folder.path()).unwrap();
    for name in ["", "a/one", "a/other"] {
        put_map(&server.instance(name), "m", name).await;
    }
    server.remove_instance("a/one").await.unwrap();
    let check = async |server: &ApiServer| {
        assert!(server.existing_instance("a/one").is_none());
        for name in ["", "a/other"] {
            let value = map_value(&server.existing_instance(name).unwrap(), "m").await;
            assert_eq!(value.as_deref(), Some(name));
        }
    };
    check(&server).await;
    server.close().await;
    let server = open(folder.path()).unwrap();
    check(&server).await;
    let again = server.instance("a/one");
    assert_eq!(map_value(&again, "m").await, None, "a new one starts empty");
}
