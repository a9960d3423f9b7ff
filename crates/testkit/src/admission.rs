//! The manager's admission webhooks in a world: the same router that a manager serves over HTTPS,
//! reached by the API server without a socket, because packets do not travel in virtual time.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use axum::Router;
use kube::{
    Client,
    core::{ApiResource, GroupVersionKind},
};
use remuda_apiserver::{Caller, ServiceResolver};
use remuda_controllers::{
    admission::{Admission, Endpoint, Scope, configurations},
    objects::LiveObjects,
};
use remuda_plan::admission::Gates;

use crate::world::{TEST, World};

/// The service behind which the webhooks are.
const NAMESPACE: &str = "remuda-system";
const SERVICE: &str = "remuda-webhooks";

/// Webhooks of this process, once there are some.
#[derive(Clone, Default)]
pub(crate) struct InProcess(Arc<Mutex<Option<Router>>>);

impl ServiceResolver for InProcess {
    fn resolve(&self, _: &str, _: &str, _: &str, _: u16) -> Option<SocketAddr> {
        None
    }

    fn in_process(&self, instance: &str, namespace: &str, name: &str, _: u16) -> Option<Router> {
        let ours = instance.is_empty() && (namespace, name) == (NAMESPACE, SERVICE);
        let router = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        router.clone().filter(|_| ours)
    }
}

impl InProcess {
    /// Answers with these gates from now on.
    fn answer_with(&self, client: Client, gates: Gates) {
        let router = Admission::new(client, gates).router();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(router);
    }

    /// Opens the webhooks and installs their configurations.
    pub(crate) async fn open(&self, objects: &LiveObjects, manager: Client, gates: Gates) {
        self.answer_with(manager, gates);
        let endpoint = Endpoint::Service {
            namespace: NAMESPACE.to_owned(),
            name: SERVICE.to_owned(),
        };
        for configuration in configurations(&endpoint, Scope::ALL, None) {
            let kind = configuration["kind"].as_str().unwrap();
            let gvk = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
            objects
                .create(&ApiResource::from_gvk(&gvk), None, &configuration, TEST)
                .await
                .unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

impl World {
    /// The webhooks answer with these gates from now on, as after a restart of their manager.
    pub fn set_gates(&self, gates: Gates) {
        self.webhooks.answer_with(self.manager_client(), gates);
    }

    /// The management cluster's objects with the rights of a person.
    pub fn as_person(&self, name: &str) -> LiveObjects {
        let router = self.server.management().router_as(Caller::user(name));
        LiveObjects::new(Client::new(router, "default"))
    }
}
