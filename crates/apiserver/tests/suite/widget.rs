//! A kind for tests.
#![allow(
    unreachable_pub,
    reason = "the derive makes a public type next to a public spec"
)]

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::{Api, Client, CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Widget",
    namespaced,
    status = "WidgetStatus",
    shortname = "wd",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas"
    ),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas")
)]
pub struct WidgetSpec {
    #[schemars(range(min = 0, max = 10))]
    pub replicas: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub struct WidgetStatus {
    #[serde(default)]
    pub replicas: i32,
}

impl Widget {
    pub(crate) fn named(name: &str, replicas: i32) -> Self {
        Self::new(
            name,
            WidgetSpec {
                replicas,
                size: None,
            },
        )
    }
}

pub(crate) async fn install(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions
        .create(&PostParams::default(), &Widget::crd())
        .await
        .expect("the definition is taken");
}
