//! The manager of a world is its ServiceAccount, with the rules of
//! `remuda_controllers::permissions` and no others.

use kube::{
    Client,
    core::{ApiResource, GroupVersionKind},
};
use remuda_apiserver::Caller;
use remuda_controllers::permissions::{Duties, Roles, SERVICE_ACCOUNT};
use serde_json::{Value, json};

use crate::{
    requests::Noted,
    world::{TEST, World},
};

/// Namespace of the manager.
const SYSTEM: &str = "remuda-system";

impl World {
    /// The management API with the manager's rights.
    pub(crate) fn manager_service(&self) -> Noted<axum::Router> {
        let manager = Caller::service_account(SYSTEM, SERVICE_ACCOUNT);
        let manager = self.server.management().router_as(manager);
        Noted::new(manager, self.requests.clone())
    }

    /// A client with the manager's rights.
    pub fn manager_client(&self) -> Client {
        Client::new(self.manager_service(), "default")
    }

    /// Gives the manager its rights, but for those in its own namespace.
    pub(crate) async fn give_rights(&self) {
        for role in self.roles() {
            if role["metadata"]["namespace"].is_null() {
                self.create_role(&role).await;
            }
        }
    }

    /// The manager's ServiceAccount, roles and bindings.
    fn roles(&self) -> Vec<Value> {
        let roles = Roles {
            namespace: SYSTEM,
            watched: None,
            duties: Duties {
                core: self.builder.options.core,
                own_certificates: true,
            },
            beside_core: false,
        };
        serde_saphyr::from_multiple(&roles.yaml()).expect("the roles are YAML")
    }

    async fn create_role(&self, role: &Value) {
        let kind = role["kind"].as_str().unwrap();
        let group = match role["apiVersion"].as_str().unwrap().split_once('/') {
            Some((group, _)) => group,
            None => "",
        };
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        let namespace = role["metadata"]["namespace"].as_str();
        self.objects
            .create(&resource, namespace, role, TEST)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
    }

    /// Gives the manager its rights in its own namespace, which must exist.
    pub async fn let_manager_in(&self) {
        for role in self.roles() {
            if role["metadata"]["namespace"] == SYSTEM {
                self.create_role(&role).await;
            }
        }
    }

    /// What a provider's package brings beside a definition: rights for the core's manager.
    pub(crate) async fn let_core_use(&self, definition: &Value) {
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {
                "name": definition["metadata"]["name"],
                "labels": { "cluster.x-k8s.io/aggregate-to-manager": "true" },
            },
            "rules": [{
                "apiGroups": [definition["spec"]["group"]],
                "resources": [definition["spec"]["names"]["plural"]],
                "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
            }],
        });
        self.create_role(&role).await;
    }
}

impl Drop for World {
    /// A manager that asked for more than its rules allow is a failure, whatever else the test saw.
    fn drop(&mut self) {
        let refused = self.requests.refused();
        assert!(
            refused.is_empty() || std::thread::panicking(),
            "the manager's rules do not allow what it asked: {refused:#?}"
        );
    }
}
