//! What the server does on its own: garbage collection, the end of namespaces and definitions,
//! budgets, events that age.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, EvictParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use remuda_apiserver::{ApiServer, TokioClock};
use serde_json::{Value, json};

use crate::widget::{Widget, install};

fn server() -> ApiServer {
    let epoch = "2026-01-01T00:00:00Z".parse().expect("a time");
    let clock = Arc::new(TokioClock::starting_at(epoch));
    ApiServer::builder()
        .clock(clock)
        .seed(11)
        .build()
        .expect("a server")
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "default")
}

/// Makes a config map that others own.
async fn owned(client: &Client, name: &str, owners: &[(&ConfigMap, bool)]) -> ConfigMap {
    let references: Vec<Value> = owners
        .iter()
        .map(|(owner, block)| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner.name_any(),
                   "uid": owner.uid(), "blockOwnerDeletion": block})
        })
        .collect();
    let map = json!({"metadata": {"name": name, "ownerReferences": references}});
    let map = serde_json::from_value(map).expect("a config map");
    maps(client)
        .create(&PostParams::default(), &map)
        .await
        .expect("it is made")
}

/// Lets the loops of the server run until they wait.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

async fn names(client: &Client) -> Vec<String> {
    let list = maps(client)
        .list(&ListParams::default())
        .await
        .expect("a list");
    list.iter().map(ResourceExt::name_any).collect()
}

#[tokio::test(start_paused = true)]
async fn background_deletion_follows_owners_down_the_tree() {
    let server = server();
    let client = Client::new(server.management().router(), "default");
    let root = owned(&client, "root", &[]).await;
    let other = owned(&client, "other", &[]).await;
    let child = owned(&client, "child", &[(&root, false)]).await;
    owned(&client, "grandchild", &[(&child, false)]).await;
    owned(&client, "shared", &[(&root, false), (&other, false)]).await;
    maps(&client)
        .delete("root", &DeleteParams::background())
        .await
        .unwrap();
    settle().await;
    assert_eq!(names(&client).await, ["other", "shared"]);
    let shared = maps(&client).get("shared").await.unwrap();
    assert_eq!(
        shared.owner_references().len(),
        1,
        "the reference to the lost owner is dropped"
    );
    maps(&client)
        .delete("other", &DeleteParams::background())
        .await
        .unwrap();
    settle().await;
    assert!(names(&client).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn foreground_deletion_waits_for_dependents_that_block() {
    let server = server();
    let client = Client::new(server.management().router(), "default");
    let root = owned(&client, "root", &[]).await;
    owned(&client, "held", &[(&root, true)]).await;
    let hold = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/hold"]}}));
    maps(&client)
        .patch("held", &PatchParams::default(), &hold)
        .await
        .unwrap();
    let deleted = maps(&client)
        .delete("root", &DeleteParams::foreground())
        .await
        .unwrap();
    let root = deleted.left().expect("the object is still there");
    assert_eq!(root.finalizers(), ["foregroundDeletion"]);
    settle().await;
    assert_eq!(names(&client).await, ["held", "root"]);
    let held = maps(&client).get("held").await.unwrap();
    assert!(
        held.metadata.deletion_timestamp.is_some(),
        "its dependents are deleted first"
    );
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    maps(&client)
        .patch("held", &PatchParams::default(), &free)
        .await
        .unwrap();
    settle().await;
    assert!(names(&client).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn orphans_stay_without_their_owner() {
    let server = server();
    let client = Client::new(server.management().router(), "default");
    let root = owned(&client, "root", &[]).await;
    owned(&client, "child", &[(&root, true)]).await;
    maps(&client)
        .delete("root", &DeleteParams::orphan())
        .await
        .unwrap();
    settle().await;
    assert_eq!(names(&client).await, ["child"]);
    assert!(
        maps(&client)
            .get("child")
            .await
            .unwrap()
            .owner_references()
            .is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_with_an_owner_that_never_was_goes() {
    let server = server();
    let client = Client::new(server.management().router(), "default");
    let mut ghost = owned(&client, "ghost", &[]).await;
    maps(&client)
        .delete("ghost", &DeleteParams::default())
        .await
        .unwrap();
    owned(&client, "late", &[(&ghost, false)]).await;
    ghost.metadata.uid = Some("11111111-1111-4111-8111-111111111111".into());
    owned(&client, "stranger", &[(&ghost, false)]).await;
    settle().await;
    assert!(names(&client).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn garbage_is_collected_after_a_restart() {
    let folder = crate::on_disk::folder();
    let build = || {
        ApiServer::builder()
            .data_dir(folder.path())
            .build()
            .unwrap()
    };
    {
        let server = build();
        let client = Client::new(server.management().router(), "default");
        let root = owned(&client, "root", &[]).await;
        owned(&client, "child", &[(&root, true)]).await;
        maps(&client)
            .delete("root", &DeleteParams::background())
            .await
            .unwrap();
        // Closed before its loop could follow.
        server.close().await;
    }
    let server = build();
    let client = Client::new(server.management().router(), "default");
    for _ in 0..1_000 {
        if names(&client).await.is_empty() {
            return;
        }
        tokio::task::yield_now().await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(names(&client).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn nothing_new_is_made_in_a_namespace_that_ends() {
    let server = server();
    let client = Client::new(server.management().router(), "default");
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let team = serde_json::from_value(json!({"metadata": {"name": "team"}})).unwrap();
    namespaces
        .create(&PostParams::default(), &team)
        .await
        .unwrap();
    let inside: Api<ConfigMap> = Api::namespaced(client, "team");
    let held = json!({"metadata": {"name": "held", "finalizers": ["example.com/hold"]}});
    let held = serde_json::from_value(held).unwrap();
    inside.create(&PostParams::default(), &held).await.unwrap();
    namespaces
        .delete("team", &DeleteParams::default())
        .await
        .unwrap();
    settle().await;
    let ending = namespaces.get("team").await.unwrap();
    assert_eq!(ending.status.unwrap().phase.as_deref(), Some("Terminating"));
    let late = serde_json::from_value(json!({"metadata": {"name": "late"}})).unwrap();
    let kube::Error::Api(status) = inside
        .create(&PostParams::default(), &late)
        .await
        .unwrap_err()
    else {
        panic!("an API error")
    };
    assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
    assert_eq!(
        status.message,
        "configmaps \"late\" is forbidden: unable to create new content in namespace team \
         because it is being terminated"
    );
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    inside
        .patch("held", &PatchParams::default(), &free)
        .await
        .unwrap();
    settle().await;
    assert!(namespaces.get_opt("team").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_definition_takes_its_objects_along_and_can_come_again() {
    let server = server();
    let client = Client::new(server.management().router(), "default");
    install(&client).await;
    let widgets: Api<Widget> = Api::namespaced(client.clone(), "default");
    widgets
        .create(&PostParams::default(), &Widget::named("w", 1))
        .await
        .unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions
        .delete("widgets.example.com", &DeleteParams::default())
        .await
        .unwrap();
    settle().await;
    assert!(
        definitions
            .get_opt("widgets.example.com")
            .await
            .unwrap()
            .is_none()
    );
    install(&client).await;
    assert!(
        widgets
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn a_budget_counts_its_pods_and_refuses_the_last() {
    let server = server();
    let client = Client::new(server.management().router(), "default");
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(client, "default");
    let budget = json!({"metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
    let budget = serde_json::from_value(budget).unwrap();
    budgets
        .create(&PostParams::default(), &budget)
        .await
        .unwrap();
    let ready = Patch::Merge(json!({"status": {"phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}]}}));
    for name in ["p-0", "p-1"] {
        let pod = json!({"metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]}});
        let pod = serde_json::from_value(pod).unwrap();
        pods.create(&PostParams::default(), &pod).await.unwrap();
        pods.patch_status(name, &PatchParams::default(), &ready)
            .await
            .unwrap();
    }
    settle().await;
    let status = budgets.get("b").await.unwrap().status.unwrap();
    assert_eq!((status.current_healthy, status.disruptions_allowed), (2, 1));
    pods.evict("p-0", &EvictParams::default()).await.unwrap();
    let kube::Error::Api(refused) = pods
        .evict("p-1", &EvictParams::default())
        .await
        .unwrap_err()
    else {
        panic!("an API error")
    };
    assert_eq!(
        (refused.code, refused.reason.as_str()),
        (429, "TooManyRequests")
    );
    assert!(pods.get_opt("p-1").await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn events_go_after_an_hour() {
    let server = server();
    let client = Client::new(server.management().router(), "default");
    let events: Api<Event> = Api::namespaced(client, "default");
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {}, "reason": "R"});
    let event = serde_json::from_value(event).unwrap();
    events.create(&PostParams::default(), &event).await.unwrap();
    tokio::time::sleep(Duration::from_mins(59)).await;
    assert!(events.get_opt("e").await.unwrap().is_some());
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert!(events.get_opt("e").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn an_approved_certificate_request_is_signed_and_a_bad_one_fails() {
    use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
    let server = server();
    let client = Client::new(server.management().router(), "default");
    let requests: Api<CertificateSigningRequest> = Api::all(client);
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "system:node:n");
    params
        .distinguished_name
        .push(rcgen::DnType::OrganizationName, "system:nodes");
    let pem = params.serialize_request(&key).unwrap().pem().unwrap();
    let approval = Patch::Merge(json!({"status": {"conditions": [
        {"type": "Approved", "status": "True", "reason": "Test", "message": "fine"}]}}));
    let bad = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n";
    for (name, text) in [("good", pem.as_str()), ("bad", bad)] {
        let request = json!({"metadata": {"name": name}, "spec": {
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "request": k8s_openapi::ByteString(text.as_bytes().to_vec()),
            "usages": ["digital signature", "client auth"], "expirationSeconds": 3600}});
        let request = serde_json::from_value(request).unwrap();
        let made = requests
            .create(&PostParams::default(), &request)
            .await
            .unwrap();
        assert_eq!(made.spec.username.as_deref(), Some("kubernetes-admin"));
        settle().await;
        let waiting = requests.get(name).await.unwrap().status.unwrap_or_default();
        assert!(
            waiting.certificate.is_none(),
            "nothing is signed before it is approved"
        );
        requests
            .patch_approval(name, &PatchParams::default(), &approval)
            .await
            .unwrap();
    }
    settle().await;
    let status = requests.get("good").await.unwrap().status.unwrap();
    let certificate = String::from_utf8(status.certificate.unwrap().0).unwrap();
    assert!(
        certificate.starts_with("-----BEGIN CERTIFICATE-----"),
        "{certificate}"
    );
    let status = requests.get("bad").await.unwrap().status.unwrap();
    assert!(status.certificate.is_none());
    assert!(
        status
            .conditions
            .unwrap()
            .iter()
            .any(|condition| condition.type_ == "Failed")
    );
}
