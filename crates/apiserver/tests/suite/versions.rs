//! Definitions with several versions, and definitions that change while they are in use.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use remuda_apiserver::ApiServer;
use serde_json::{Value, json};

fn version(name: &str, storage: bool, properties: &Value) -> Value {
    json!({
        "name": name, "served": true, "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": properties}}}},
    })
}

fn definition(versions: &[Value]) -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": {"name": "cogs.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
                 "names": {"plural": "cogs", "kind": "Cog"}, "versions": versions},
    }))
    .expect("a definition")
}

fn api(client: &Client, version: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("example.com", version, "Cog");
    Api::namespaced_with(
        client.clone(),
        "default",
        &ApiResource::from_gvk_with_plural(&kind, "cogs"),
    )
}

fn cog(version: &str, name: &str, teeth: u32) -> DynamicObject {
    serde_json::from_value(json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Cog",
        "metadata": {"name": name}, "spec": {"teeth": teeth},
    }))
    .expect("a cog")
}

#[tokio::test(start_paused = true)]
async fn an_object_is_served_at_every_version_and_survives_a_change_of_storage() {
    let server = ApiServer::builder().seed(1).build().unwrap();
    let client = Client::new(server.management().router(), "default");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let teeth = json!({"teeth": {"type": "integer"}});
    let both = definition(&[version("v1", true, &teeth), version("v2", false, &teeth)]);
    definitions
        .create(&PostParams::default(), &both)
        .await
        .unwrap();
    api(&client, "v1")
        .create(&PostParams::default(), &cog("v1", "old", 8))
        .await
        .unwrap();
    api(&client, "v2")
        .create(&PostParams::default(), &cog("v2", "new", 9))
        .await
        .unwrap();
    let moved = json!({"spec": {"versions":
        [version("v1", false, &teeth), version("v2", true, &teeth)]}});
    let after = definitions
        .patch(
            "cogs.example.com",
            &PatchParams::default(),
            &Patch::Merge(moved),
        )
        .await
        .unwrap();
    assert_eq!(after.status.unwrap().stored_versions.unwrap(), ["v1", "v2"]);
    for name in ["v1", "v2"] {
        let list = api(&client, name)
            .list(&ListParams::default())
            .await
            .unwrap();
        let shown: Vec<(String, String)> = list
            .iter()
            .map(|c| (c.name_any(), c.types.as_ref().unwrap().api_version.clone()))
            .collect();
        let version = format!("example.com/{name}");
        assert_eq!(
            shown,
            [("new".into(), version.clone()), ("old".into(), version)]
        );
    }
    let patch = Patch::Merge(json!({"spec": {"teeth": 10}}));
    api(&client, "v1")
        .patch("old", &PatchParams::default(), &patch)
        .await
        .unwrap();
    assert_eq!(
        api(&client, "v2").get("old").await.unwrap().data["spec"]["teeth"],
        10
    );
    let events = watcher(api(&client, "v1"), watcher::Config::default()).applied_objects();
    let seen: Vec<DynamicObject> = events.take(2).try_collect().await.unwrap();
    assert!(
        seen.iter()
            .all(|c| c.types.as_ref().unwrap().api_version == "example.com/v1")
    );
}

#[tokio::test(start_paused = true)]
async fn a_changed_definition_rules_the_next_write() {
    let server = ApiServer::builder().seed(1).build().unwrap();
    let client = Client::new(server.management().router(), "default");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let loose = json!({"teeth": {"type": "integer"}});
    definitions
        .create(
            &PostParams::default(),
            &definition(&[version("v1", true, &loose)]),
        )
        .await
        .unwrap();
    api(&client, "v1")
        .create(&PostParams::default(), &cog("v1", "a", 30))
        .await
        .unwrap();
    let strict = json!({"teeth": {"type": "integer", "maximum": 20},
                        "metal": {"type": "string", "default": "brass"}});
    let patch = json!({"spec": {"versions": [version("v1", true, &strict)]}});
    definitions
        .patch(
            "cogs.example.com",
            &PatchParams::default(),
            &Patch::Merge(patch),
        )
        .await
        .unwrap();
    let refused = api(&client, "v1")
        .create(&PostParams::default(), &cog("v1", "b", 30))
        .await;
    let kube::Error::Api(status) = refused.unwrap_err() else {
        panic!("an API error")
    };
    assert_eq!(
        status.message,
        "Cog.example.com \"b\" is invalid: spec.teeth: Invalid value: 30: spec.teeth in body \
         should be less than or equal to 20"
    );
    // What was valid once stays writable as long as the field is left alone.
    let label = Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
    let kept = api(&client, "v1")
        .patch("a", &PatchParams::default(), &label)
        .await
        .unwrap();
    assert_eq!(
        kept.data["spec"]["metal"], "brass",
        "defaults come with the next write"
    );
}

#[tokio::test(start_paused = true)]
async fn a_second_kind_of_the_same_name_is_not_established() {
    let server = ApiServer::builder().seed(1).build().unwrap();
    let client = Client::new(server.management().router(), "default");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let teeth = json!({"teeth": {"type": "integer"}});
    let first = definition(&[version("v1", true, &teeth)]);
    definitions
        .create(&PostParams::default(), &first)
        .await
        .unwrap();
    let mut second = first;
    second.metadata.name = Some("gears.example.com".into());
    second.spec.names.plural = "gears".into();
    let second = definitions
        .create(&PostParams::default(), &second)
        .await
        .unwrap();
    let conditions = second.status.unwrap().conditions.unwrap();
    let find = |kind: &str| conditions.iter().find(|c| c.type_ == kind).unwrap();
    assert_eq!(
        find("NamesAccepted").reason.as_deref(),
        Some("ListKindConflict")
    );
    assert_eq!(find("Established").status, "False");
}
