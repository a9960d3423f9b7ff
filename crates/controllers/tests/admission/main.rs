//! Admission through the API: the embedded server asks the manager's own webhooks.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports by panicking"
)]

mod certificates;
mod core;
mod machine_pool;
mod terraform;

use kube::core::{ApiResource, GroupVersionKind};
use remuda_controllers::objects::{ApiError, Target};
use remuda_plan::admission::Gates;
use remuda_testkit::{Demo, NAMESPACE, World};
use serde_json::{Value, json};

/// A world whose API asks the webhooks, with the DEMO objects and no controller.
pub(crate) async fn world(gates: Gates) -> World {
    let world = World::builder().admission(gates).build().await;
    world.apply(&Demo::default()).await;
    world
}

/// The resource of a manifest.
pub(crate) fn resource(object: &Value) -> ApiResource {
    let version = object["apiVersion"].as_str().unwrap();
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let kind = object["kind"].as_str().unwrap();
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

fn namespace(object: &Value) -> Option<&str> {
    object["metadata"]["namespace"].as_str()
}

/// Creates an object; the stored one.
pub(crate) async fn create(world: &World, object: &Value) -> Result<Value, ApiError> {
    let resource = resource(object);
    let objects = &world.objects;
    let created = objects.create(&resource, namespace(object), object, "test");
    created.await?.object()
}

/// Merge-patches an object; the stored one.
pub(crate) async fn patch(world: &World, object: &Value, patch: Value) -> Result<Value, ApiError> {
    let resource = resource(object);
    let target = Target {
        resource: &resource,
        namespace: namespace(object),
        name: object["metadata"]["name"].as_str().unwrap(),
        subresource: None,
    };
    let patched = world.objects.merge_patch(&target, &patch, "test");
    patched.await?.object()
}

/// Deletes an object.
pub(crate) async fn delete(world: &World, object: &Value) -> Result<(), ApiError> {
    let name = object["metadata"]["name"].as_str().unwrap();
    world
        .objects
        .delete(&resource(object), namespace(object), name, None)
        .await
}

/// An object of the core in the DEMO namespace.
pub(crate) fn core_object(kind: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind,
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": spec,
    })
}

/// Checks that a request was refused with all of these words.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(outcome: Result<T, ApiError>, words: &[&str]) {
    let said = outcome.unwrap_err().to_string();
    for word in words {
        assert!(said.contains(word), "{word:?} is not in {said}");
    }
}
