//! Admission webhooks at work: what the recording of a genuine server (`golden_hooks`) cannot show.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use remuda_apiserver::{ApiServer, Instance, ServiceResolver};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::time::Instant;

use crate::hooks::{Answer, Hooks, configure, define, delete, get, merge, post, send, until};

const WIDGETS: &str = "/apis/hooks.example.com/v1/namespaces/default/widgets";
const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";

fn widget(name: &str) -> Value {
    json!({"apiVersion": "hooks.example.com/v1", "kind": "Widget", "metadata": {"name": name},
           "spec": {"size": 1}})
}

fn denied(message: &str) -> Value {
    json!({"response": {"allowed": false, "status": {"message": message}}})
}

/// A rule about one resource of the core group.
fn core(operation: &str, resource: &str) -> Value {
    json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation],
            "resources": [resource]}])
}

async fn world() -> (ApiServer, Instance, Hooks) {
    let server = ApiServer::builder().seed(1).build().unwrap();
    let instance = server.management();
    define(&instance, "hooks.example.com", None).await;
    (server, instance, Hooks::start().await)
}

#[tokio::test(start_paused = true)]
async fn a_silent_webhook_ends_after_its_time_limit() {
    let (_server, instance, hooks) = world().await;
    hooks.script("/silent", &[json!({"hang": true})]);
    let mut patient = hooks.hook("patient.example.com", "/silent");
    patient["failurePolicy"] = "Ignore".into();
    let mut hasty = hooks.hook("hasty.example.com", "/silent");
    hasty["timeoutSeconds"] = 3.into();
    configure(&instance, "validating", "a", &[patient]).await;
    let start = Instant::now();
    assert_eq!(post(&instance, WIDGETS, &widget("a")).await.code, 201);
    assert_eq!(start.elapsed().as_secs(), 10, "the default limit");
    hooks.hold();
    configure(&instance, "mutating", "b", &[hasty]).await;
    let start = Instant::now();
    let refused = post(&instance, WIDGETS, &widget("b")).await;
    assert_eq!((refused.code, start.elapsed().as_secs()), (500, 3));
    let message = refused.body["message"].as_str().unwrap();
    assert!(
        message.ends_with("/silent?timeout=3s\": context deadline exceeded"),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_webhook_may_call_back() {
    let (_server, instance, hooks) = world().await;
    let inside = instance.clone();
    let answer: Answer = Arc::new(move |review| {
        let instance = inside.clone();
        async move {
            let request = &review["request"];
            let name = request["name"].as_str().unwrap_or("none").to_owned();
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
            let maps = "/api/v1/namespaces/default/configmaps";
            let made = post(&instance, maps, &map).await.code;
            json!({"uid": request["uid"], "allowed": made == 201})
        }
        .boxed()
    });
    hooks.handle("/back", answer);
    let hook = hooks.hook("back.example.com", "/back");
    configure(&instance, "validating", "a", &[hook]).await;
    let made = post(&instance, WIDGETS, &widget("a")).await;
    assert_eq!(made.code, 201, "{}", made.body);
    let map = get(&instance, "/api/v1/namespaces/default/configmaps/a").await;
    assert_eq!(map.code, 200);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_a_webhook_overtakes_is_done_again() {
    let (_server, instance, hooks) = world().await;
    assert_eq!(post(&instance, WIDGETS, &widget("a")).await.code, 201);
    let inside = instance.clone();
    let answer: Answer = Arc::new(move |review| {
        let instance = inside.clone();
        async move {
            let request = &review["request"];
            // Changes the object once, while its update waits for the answer.
            if request["object"]["spec"]["note"].is_null() {
                let change = json!({"metadata": {"labels": {"by": "hook"}}, "spec": {"note": "x"}});
                let path = format!("{WIDGETS}/a");
                assert_eq!(merge(&instance, &path, &change).await.code, 200);
            }
            json!({"uid": request["uid"], "allowed": true})
        }
        .boxed()
    });
    hooks.handle("/overtake", answer);
    let hook = hooks.hook("overtake.example.com", "/overtake");
    configure(&instance, "validating", "a", &[hook]).await;
    let done = merge(
        &instance,
        &format!("{WIDGETS}/a"),
        &json!({"spec": {"size": 7}}),
    )
    .await;
    assert_eq!(done.code, 200, "{}", done.body);
    let spec = json!({"colour": "red", "size": 7, "note": "x"});
    assert_eq!(done.body["spec"], spec, "both changes are there");
    assert_eq!(hooks.calls().len(), 3, "the update was shown again");
}

#[tokio::test(start_paused = true)]
async fn validating_webhooks_are_asked_at_the_same_time() {
    let (_server, instance, hooks) = world().await;
    let barrier = Arc::new(Barrier::new(2));
    let answer: Answer = Arc::new(move |review| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            json!({"uid": review["request"]["uid"], "allowed": true})
        }
        .boxed()
    });
    hooks.handle("/one", answer.clone());
    hooks.handle("/other", answer);
    let list = [
        hooks.hook("one.example.com", "/one"),
        hooks.hook("other.example.com", "/other"),
    ];
    configure(&instance, "validating", "a", &list).await;
    assert_eq!(post(&instance, WIDGETS, &widget("a")).await.code, 201);
}

#[tokio::test(start_paused = true)]
async fn match_conditions_choose_among_requests() {
    let (_server, instance, hooks) = world().await;
    hooks.script("/no", &[denied("no")]);
    let mut hook = hooks.hook("h.example.com", "/no");
    hook["matchConditions"] = json!([
        {"name": "large", "expression": "object != null && object.spec.size > 5"},
        {"name": "not-mine", "expression": "request.userInfo.username == 'kubernetes-admin'"},
        {"name": "grown", "expression": "oldObject == null || oldObject.spec.size < object.spec.size"},
    ]);
    configure(&instance, "validating", "a", &[hook.clone()]).await;
    assert_eq!(post(&instance, WIDGETS, &widget("a")).await.code, 201);
    let path = format!("{WIDGETS}/a");
    let grow = merge(&instance, &path, &json!({"spec": {"size": 6}})).await;
    assert_eq!(grow.code, 400, "{}", grow.body);
    assert_eq!(delete(&instance, &path).await.code, 200);

    hook["matchConditions"] = json!([{"name": "broken", "expression": "object.spec.absent == 1"}]);
    let stored = format!("{ADMISSION}/validatingwebhookconfigurations/a");
    let change = json!({"webhooks": [hook]});
    assert_eq!(merge(&instance, &stored, &change).await.code, 200);
    let refused = post(&instance, WIDGETS, &widget("b")).await;
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.body["message"],
        "widgets.hooks.example.com \"b\" is forbidden: expression 'object.spec.absent == 1' \
         resulted in error: no such key: absent"
    );
    hook["matchConditions"] = json!([{"name": "c", "expression": "object.("}]);
    let invalid = merge(&instance, &stored, &json!({"webhooks": [hook]})).await;
    assert_eq!(invalid.code, 422);
    let cause = &invalid.body["details"]["causes"][0];
    assert_eq!(cause["field"], "webhooks[0].matchConditions[0].expression");
}

#[tokio::test(start_paused = true)]
async fn every_object_of_a_collection_is_shown() {
    let (_server, instance, hooks) = world().await;
    for name in ["a", "b", "c"] {
        assert_eq!(post(&instance, WIDGETS, &widget(name)).await.code, 201);
    }
    hooks.script("/d", &[json!({}), denied("keep")]);
    let hook = hooks.hook("d.example.com", "/d");
    configure(&instance, "validating", "a", &[hook]).await;
    let refused = delete(&instance, WIDGETS).await;
    assert_eq!(refused.code, 400, "{}", refused.body);
    let calls = hooks.calls();
    let shown: Vec<&Value> = calls
        .iter()
        .map(|call| &call["review"]["request"]["oldObject"]["metadata"]["name"])
        .collect();
    assert_eq!(shown, ["a", "b"]);
    assert_eq!(get(&instance, &format!("{WIDGETS}/a")).await.code, 404);
    assert_eq!(get(&instance, &format!("{WIDGETS}/b")).await.code, 200);
}

#[tokio::test(start_paused = true)]
async fn an_eviction_is_a_create_of_its_own() {
    let (_server, instance, hooks) = world().await;
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
                     "spec": {"containers": [{"name": "c", "image": "i"}]}});
    assert_eq!(post(&instance, pods, &pod).await.code, 201);
    hooks.script("/evict", &[denied("stays"), json!({})]);
    let mut evictions = hooks.hook("evict.example.com", "/evict");
    evictions["rules"] = core("CREATE", "pods/eviction");
    let mut deletes = hooks.hook("delete.example.com", "/delete");
    deletes["rules"] = core("DELETE", "pods");
    configure(&instance, "validating", "a", &[evictions, deletes]).await;
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}});
    let path = format!("{pods}/p/eviction");
    let refused = post(&instance, &path, &eviction).await;
    let text = "admission webhook \"evict.example.com\" denied the request: stays";
    assert_eq!(
        (refused.code, refused.body["message"].as_str()),
        (400, Some(text))
    );
    assert_eq!(get(&instance, &format!("{pods}/p")).await.code, 200);
    let request = hooks.calls().remove(0)["review"]["request"].take();
    assert_eq!(
        request["kind"],
        json!({"group": "policy", "version": "v1", "kind": "Eviction"})
    );
    assert_eq!(
        request["resource"],
        json!({"group": "", "version": "v1", "resource": "pods"})
    );
    assert_eq!(
        (&request["subResource"], &request["name"]),
        (&json!("eviction"), &json!("p"))
    );
    assert_eq!(post(&instance, &path, &eviction).await.code, 201);
    assert_eq!(get(&instance, &format!("{pods}/p")).await.code, 404);
    let calls = hooks.calls();
    assert!(
        calls.iter().all(|call| call["path"] == "/evict"),
        "{calls:?}"
    );
}

/// Knows one service.
struct One(u16);

impl ServiceResolver for One {
    fn resolve(&self, _: &str, namespace: &str, name: &str, port: u16) -> Option<SocketAddr> {
        let known = (namespace, name, port) == ("default", "hook", 443);
        known.then(|| SocketAddr::from((Ipv4Addr::LOCALHOST, self.0)))
    }
}

#[tokio::test(start_paused = true)]
async fn services_are_found_by_a_resolver() {
    let hooks = Hooks::start().await;
    let server = ApiServer::builder()
        .seed(1)
        .service_resolver(Arc::new(One(hooks.port)))
        .build()
        .unwrap();
    let instance = server.management();
    define(&instance, "hooks.example.com", None).await;
    let mut hook = hooks.hook("h.example.com", "/h");
    let service = |name: &str| {
        json!({"caBundle": hooks.ca, "service":
        {"namespace": "default", "name": name, "path": "/h"}})
    };
    hook["clientConfig"] = service("hook");
    configure(&instance, "validating", "a", &[hook.clone()]).await;
    assert_eq!(post(&instance, WIDGETS, &widget("a")).await.code, 201);
    assert_eq!(hooks.calls().len(), 1);
    hook["clientConfig"] = service("other");
    configure(&instance, "validating", "b", &[hook]).await;
    let refused = post(&instance, WIDGETS, &widget("b")).await;
    assert_eq!(
        refused.body["message"],
        "Internal error occurred: failed calling webhook \"h.example.com\": failed to call webhook: \
         Post \"https://other.default.svc:443/h?timeout=10s\": service \"other\" not found"
    );
}

#[tokio::test(start_paused = true)]
async fn a_broken_configuration_can_always_be_removed() {
    let (_server, instance, hooks) = world().await;
    let mut hook = hooks.hook("h.example.com", "/h");
    hook["clientConfig"]["url"] = "https://127.0.0.1:1/".into();
    hook["rules"] = json!([{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"],
                            "resources": ["*/*"]}]);
    configure(&instance, "mutating", "a", &[hook.clone()]).await;
    configure(&instance, "validating", "a", &[hook]).await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
    let maps = "/api/v1/namespaces/default/configmaps";
    assert_eq!(post(&instance, maps, &map).await.code, 500);
    for phase in ["mutating", "validating"] {
        let path = format!("{ADMISSION}/{phase}webhookconfigurations/a");
        assert_eq!(delete(&instance, &path).await.code, 200);
    }
    assert_eq!(post(&instance, maps, &map).await.code, 201);
}

#[tokio::test(start_paused = true)]
async fn built_in_kinds_are_completed_after_a_mutation() {
    let (_server, instance, hooks) = world().await;
    let patch = json!([{"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "s"}},
                       {"op": "add", "path": "/spec/frob", "value": 1}]);
    hooks.script("/pod", &[json!({"patch": patch})]);
    let mut hook = hooks.hook("pod.example.com", "/pod");
    hook["rules"] = core("CREATE", "pods");
    hook["namespaceSelector"] = json!({"matchLabels": {"kubernetes.io/metadata.name": "default"}});
    configure(&instance, "mutating", "a", &[hook]).await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
                     "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let made = post(&instance, "/api/v1/namespaces/default/pods", &pod).await;
    assert_eq!(made.code, 201, "{}", made.body);
    let side = &made.body["spec"]["containers"][1];
    assert_eq!(
        (&side["name"], &side["imagePullPolicy"]),
        (&json!("side"), &json!("Always"))
    );
    assert!(made.body["spec"].get("frob").is_none());
    let request = hooks.calls().remove(0)["review"]["request"].take();
    assert!(request["object"]["metadata"].get("uid").is_none());
    assert_eq!(request["object"]["spec"]["restartPolicy"], "Always");
    let elsewhere = post(&instance, "/api/v1/namespaces/kube-system/pods", &pod).await;
    assert_eq!(elsewhere.code, 201);
    assert!(hooks.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_event_of_one_group_is_shown_to_a_webhook_of_the_other() {
    let (_server, instance, hooks) = world().await;
    let patch = json!([{"op": "replace", "path": "/note", "value": "changed"}]);
    hooks.script("/event", &[json!({"patch": patch})]);
    let mut hook = hooks.hook("event.example.com", "/event");
    hook["rules"] = json!([{"apiGroups": ["events.k8s.io"], "apiVersions": ["v1"],
                            "operations": ["CREATE"], "resources": ["events"]}]);
    configure(&instance, "mutating", "a", &[hook]).await;
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "message": "m",
        "reason": "R", "type": "Normal"});
    let made = post(&instance, "/api/v1/namespaces/default/events", &event).await;
    assert_eq!(made.code, 201, "{}", made.body);
    assert_eq!(made.body["message"], "changed");
    let request = hooks.calls().remove(0)["review"]["request"].take();
    assert_eq!(request["object"]["apiVersion"], "events.k8s.io/v1");
    assert_eq!(request["object"]["regarding"]["name"], "p");
    assert_eq!(request["requestKind"]["group"], "");
}

#[tokio::test(start_paused = true)]
async fn what_a_webhook_adds_belongs_to_no_applier() {
    let (_server, instance, hooks) = world().await;
    let patch = json!([{"op": "add", "path": "/spec/note", "value": "x"}]);
    hooks.script("/note", &[json!({"patch": patch})]);
    let hook = hooks.hook("note.example.com", "/note");
    configure(&instance, "mutating", "a", &[hook]).await;
    let kind = "application/apply-patch+yaml";
    let apply = async |manager: &str, note: Option<&str>| {
        let mut config = widget("a");
        if let Some(note) = note {
            config["spec"]["note"] = note.into();
        }
        let path = format!("{WIDGETS}/a?fieldManager={manager}");
        send(&instance, "PATCH", &path, kind, &config).await
    };
    let first = apply("one", None).await;
    assert_eq!(
        (first.code, &first.body["spec"]["note"]),
        (201, &json!("x"))
    );
    let again = apply("one", None).await;
    assert_eq!(
        (again.code, &again.body["spec"]["note"]),
        (200, &json!("x"))
    );
    assert_eq!(
        first.body["metadata"], again.body["metadata"],
        "nothing changed"
    );
    let other = apply("two", Some("y")).await;
    assert_eq!(other.code, 200, "no conflict: {}", other.body);
    assert_eq!(
        other.body["spec"]["note"], "x",
        "the webhook has the last word"
    );
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_namespace_waits_for_a_webhook_that_refuses() {
    let (_server, instance, hooks) = world().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    assert_eq!(
        post(&instance, "/api/v1/namespaces", &namespace).await.code,
        201
    );
    let inside = WIDGETS.replace("default", "n");
    assert_eq!(post(&instance, &inside, &widget("a")).await.code, 201);
    hooks.script("/keep", &[denied("keep"), json!({})]);
    let hook = hooks.hook("keep.example.com", "/keep");
    configure(&instance, "validating", "a", &[hook]).await;
    assert_eq!(delete(&instance, "/api/v1/namespaces/n").await.code, 200);
    until("the first attempt", async || hooks.count() == 1).await;
    assert_eq!(get(&instance, &format!("{inside}/a")).await.code, 200);
    tokio::time::advance(Duration::from_mins(1)).await;
    until("the end", async || {
        get(&instance, "/api/v1/namespaces/n").await.code == 404
    })
    .await;
    let users: Vec<Value> = hooks
        .calls()
        .iter()
        .map(|call| call["review"]["request"]["userInfo"]["username"].clone())
        .collect();
    assert_eq!(users, ["system:apiserver", "system:apiserver"]);
}
