//! What emptying a Node asks of a workload cluster: the Pods on it, what controls them, evictions,
//! and the volumes attached to it.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::{
    ApiResource, GroupVersionKind, Request,
    params::{ListParams, PostParams},
    response::Status,
};
use remuda_plan::machines::{
    drain::{Found, Labels},
    node::NodeView,
    pod::{Pod, PodName},
    progress::Eviction,
    volumes::{Attachment, Volume},
};
use serde_json::{Value, json};

use crate::{
    context::FIELD_MANAGER,
    kinds::Kind,
    objects::{ApiError, LiveObjects, Objects, Target},
};

/// Objects of one page (Cluster API document, DR4 and V2).
const PAGE: u32 = 100;

/// One workload cluster.
pub struct Workload<'a> {
    /// Its objects.
    pub objects: &'a LiveObjects,
}

fn resource(group: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural)
}

impl Workload<'_> {
    /// The Pods that are bound to a Node.
    ///
    /// # Errors
    /// The request failed.
    pub async fn pods(&self, node: &str) -> Result<Vec<Pod>, ApiError> {
        let pods = resource("", "Pod", "pods");
        let params = ListParams::default()
            .fields(&format!("spec.nodeName={node}"))
            .limit(PAGE);
        let pods = self.objects.list_where(&pods, None, params).await?;
        Ok(pods.iter().map(Pod::read).collect())
    }

    /// Whether the DaemonSets exist that Pods name as their controller.
    pub async fn daemon_sets(&self, pods: &[Pod]) -> BTreeMap<(String, String), Found> {
        let daemon_sets = resource("apps", "DaemonSet", "daemonsets");
        let named: BTreeSet<(String, String)> = pods
            .iter()
            .filter_map(|pod| {
                let (kind, name) = pod.controller.as_ref()?;
                let id = (pod.name.namespace.clone(), name.clone());
                (kind == "DaemonSet").then_some(id)
            })
            .collect();
        let mut found = BTreeMap::new();
        for (namespace, name) in named {
            let read = self
                .objects
                .get_of(&daemon_sets, Some(&namespace), &name)
                .await;
            let state = match read {
                Ok(Some(_)) => Found::Yes,
                Ok(None) => Found::No,
                Err(error) => Found::Unknown(error.to_string()),
            };
            found.insert((namespace, name), state);
        }
        found
    }

    /// Labels of the namespaces of Pods. One that cannot be read is left out.
    pub async fn namespaces(&self, pods: &[Pod]) -> BTreeMap<String, Labels> {
        let named: BTreeSet<&str> = pods.iter().map(|pod| pod.name.namespace.as_str()).collect();
        let mut labels = BTreeMap::new();
        for name in named {
            if let Ok(Some(namespace)) = self.objects.get(Kind::Namespace, "", name).await {
                let found = namespace.pointer("/metadata/labels").cloned();
                let found = found.and_then(|labels| serde_json::from_value(labels).ok());
                labels.insert(name.to_owned(), found.unwrap_or_default());
            }
        }
        labels
    }

    /// Keeps new Pods off a Node. A successor of the same name is left alone.
    ///
    /// # Errors
    /// The request failed.
    pub async fn cordon(&self, node: &NodeView) -> Result<(), ApiError> {
        if node.cordoned {
            return Ok(());
        }
        let patch = json!({
            "metadata": { "uid": node.uid },
            "spec": { "unschedulable": true },
        });
        self.patch_node(&node.name, &patch).await
    }

    /// Patches a Node.
    ///
    /// # Errors
    /// The request failed.
    pub async fn patch_node(&self, name: &str, patch: &Value) -> Result<(), ApiError> {
        let resource = Kind::Node.resource();
        let target = Target {
            resource: &resource,
            namespace: None,
            name,
            subresource: None,
        };
        self.objects
            .merge_patch(&target, patch, FIELD_MANAGER)
            .await?;
        Ok(())
    }

    /// Asks for the eviction of one Pod; disruption budgets answer for themselves.
    pub async fn evict(&self, pod: &PodName, uid: &str, grace: Option<u32>) -> Eviction {
        let mut options = json!({ "preconditions": { "uid": uid } });
        if let Some(seconds) = grace {
            options["gracePeriodSeconds"] = Value::from(seconds);
        }
        let body = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": { "namespace": pod.namespace, "name": pod.name },
            "deleteOptions": options,
        });
        let place = Request::new(format!("/api/v1/namespaces/{}/pods", pod.namespace));
        let request = serde_json::to_vec(&body)
            .map_err(|error| error.to_string())
            .and_then(|body| {
                place
                    .create_subresource("eviction", &pod.name, &PostParams::default(), body)
                    .map_err(|error| error.to_string())
            });
        let request = match request {
            Ok(request) => request,
            Err(why) => return Eviction::Failed(why),
        };
        match self.objects.client().request::<Value>(request).await {
            Ok(_) => Eviction::Accepted,
            Err(kube::Error::Api(status)) => refused(&status),
            Err(error) => Eviction::Failed(error.to_string()),
        }
    }

    /// VolumeAttachments that attach something to a Node.
    ///
    /// # Errors
    /// The request failed.
    pub async fn attachments(&self, node: &str) -> Result<Vec<Attachment>, ApiError> {
        let kind = resource("storage.k8s.io", "VolumeAttachment", "volumeattachments");
        let params = ListParams::default().limit(PAGE);
        let all = self.objects.list_where(&kind, None, params).await?;
        let here = all.iter().filter_map(|one| Attachment::read(one, node));
        Ok(here.collect())
    }

    /// All PersistentVolumes.
    ///
    /// # Errors
    /// The request failed.
    pub async fn volumes(&self) -> Result<Vec<Volume>, ApiError> {
        let kind = resource("", "PersistentVolume", "persistentvolumes");
        let params = ListParams::default().limit(PAGE);
        let all = self.objects.list_where(&kind, None, params).await?;
        Ok(all.iter().map(Volume::read).collect())
    }
}

/// What a refusal means (Cluster API document, DR10).
fn refused(status: &Status) -> Eviction {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let causes: Vec<&str> = causes
        .map(|cause| cause.message.as_str())
        .filter(|message| !message.is_empty())
        .collect();
    match status.code {
        404 => Eviction::Gone,
        429 => {
            let mut message = status.message.clone();
            for cause in causes {
                message.push(' ');
                message.push_str(cause);
            }
            Eviction::Blocked(message)
        }
        409 => Eviction::Failed("another Pod has taken the name".to_owned()),
        _ => Eviction::Failed(status.message.clone()),
    }
}
