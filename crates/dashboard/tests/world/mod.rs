//! An embedded API server with a pool, and a dashboard over it. Tokens are the names of callers.

use std::sync::Arc;

use axum::body::Body;
use http::{HeaderMap, Request, Response, StatusCode, header, request};
use http_body_util::BodyExt;
use jiff::Timestamp;
use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use remuda_apiserver::{ApiServer, Caller, Instance};
use remuda_dashboard::{Dashboard, History, Options};
use serde_json::{Value, json};
use tower::ServiceExt;

const NAMESPACE: &str = "team-a";
const HOST: &str = "127.0.0.1:8080";

pub(crate) struct World {
    pub(crate) dashboard: Dashboard,
    admin: Client,
    _server: ApiServer,
}

/// Somebody's cookie, and the secret of their forms.
pub(crate) struct Session {
    cookie: String,
    pub(crate) csrf: String,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    /// A header; empty when it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

/// Lets a request in as the caller whose name its token is.
fn api(instance: Instance) -> Client {
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let token = request.headers().get(header::AUTHORIZATION);
        let token = token
            .and_then(|token| token.to_str().ok())
            .unwrap_or_default();
        let router = match token.strip_prefix("Bearer ") {
            Some("admin") => Some(instance.router()),
            Some(name @ ("viewer" | "nobody")) => Some(instance.router_as(Caller::user(name))),
            _ => None,
        };
        async move {
            if let Some(router) = router {
                return router.oneshot(request).await;
            }
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 401,
                "reason": "Unauthorized", "message": "Unauthorized",
            });
            let mut answer = Response::new(Body::from(status.to_string()));
            *answer.status_mut() = StatusCode::UNAUTHORIZED;
            Ok(answer)
        }
    });
    Client::new(service, "default")
}

fn resource(kind: &str) -> ApiResource {
    let (group, version) = match kind {
        "MachinePool" => ("cluster.x-k8s.io", "v1beta2"),
        "TerraformMachinePool" => ("infrastructure.cluster.x-k8s.io", "v1alpha1"),
        "Event" => ("events.k8s.io", "v1"),
        "Role" | "RoleBinding" => ("rbac.authorization.k8s.io", "v1"),
        "CustomResourceDefinition" => ("apiextensions.k8s.io", "v1"),
        _ => ("", "v1"),
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

impl World {
    pub(crate) async fn new() -> Self {
        let server = ApiServer::builder().build().unwrap();
        let admin = Client::new(server.management().router(), "default");
        let dashboard = Dashboard::new(Options {
            kubernetes: api(server.management()),
            clock: Arc::new(Timestamp::now),
            history: Arc::new(History::default()),
            calls: None,
            hosts: vec!["127.0.0.1".to_owned()],
            secure: false,
            cookie: "remuda".to_owned(),
        })
        .unwrap();
        let world = Self {
            dashboard,
            admin,
            _server: server,
        };
        for definition in remuda_api::crds() {
            world
                .create(
                    "CustomResourceDefinition",
                    None,
                    serde_json::to_value(&definition).unwrap(),
                )
                .await;
        }
        world
            .create(
                "Namespace",
                None,
                json!({ "metadata": { "name": NAMESPACE } }),
            )
            .await;
        world.pool("web").await;
        world.roles().await;
        world
    }

    async fn create(&self, kind: &str, namespace: Option<&str>, mut object: Value) {
        let resource = resource(kind);
        object["apiVersion"] = resource.api_version.as_str().into();
        object["kind"] = kind.into();
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(self.admin.clone(), namespace, &resource),
            None => Api::all_with(self.admin.clone(), &resource),
        };
        let object = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.admin.clone(), NAMESPACE, &resource(kind))
    }

    async fn pool(&self, name: &str) {
        let reference = json!({
            "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "TerraformMachinePool", "name": name,
        });
        self.create(
            "MachinePool",
            Some(NAMESPACE),
            json!({
                "metadata": { "name": name },
                "spec": { "clusterName": "demo", "replicas": 3, "template": { "spec": {
                    "clusterName": "demo", "version": "v1.34.1",
                    "bootstrap": { "dataSecretName": "none" }, "infrastructureRef": reference,
                } } },
            }),
        )
        .await;
        self.create(
            "TerraformMachinePool",
            Some(NAMESPACE),
            json!({
                "metadata": { "name": name },
                "spec": { "source": { "image": "ghcr.io/captf-io/aws-machinepool:v0.1.0" } },
            }),
        )
        .await;
    }

    /// The viewer may read MachinePools of the namespace, and nothing else.
    async fn roles(&self) {
        self.create("Role", Some(NAMESPACE), json!({
            "metadata": { "name": "viewer" },
            "rules": [{ "apiGroups": ["cluster.x-k8s.io"], "resources": ["*"], "verbs": ["get", "list", "watch"] }],
        })).await;
        self.create("RoleBinding", Some(NAMESPACE), json!({
            "metadata": { "name": "viewer" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "viewer" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "viewer" }],
        })).await;
    }

    pub(crate) async fn object(&self, kind: &str, name: &str) -> Value {
        serde_json::to_value(self.api(kind).get(name).await.unwrap()).unwrap()
    }

    pub(crate) async fn replicas(&self, pool: &str) -> i64 {
        self.object("MachinePool", pool).await["spec"]["replicas"]
            .as_i64()
            .unwrap()
    }

    async fn patch(&self, kind: &str, name: &str, patch: Value) {
        let params = PatchParams::default();
        self.api(kind)
            .patch(name, &params, &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// Writes a status.
    pub(crate) async fn status(&self, kind: &str, name: &str, status: Value) {
        let params = PatchParams::default();
        let patch = Patch::Merge(json!({ "status": status }));
        self.api(kind)
            .patch_status(name, &params, &patch)
            .await
            .unwrap();
    }

    /// Gives a pool this many running members.
    pub(crate) async fn members(&self, pool: &str, count: usize) {
        let zone = |number: usize| ["us-east-1a", "us-east-1b", "us-east-1c"][number % 3];
        let id = |number: usize| format!("aws:///{}/i-{number}", zone(number));
        let ids: Vec<String> = (0..count).map(id).collect();
        self.patch(
            "TerraformMachinePool",
            pool,
            json!({ "spec": { "providerIDList": ids } }),
        )
        .await;
        let instances: Vec<Value> = (0..count)
            .map(|number| {
                json!({
                    "providerID": id(number), "instanceID": format!("i-{number}"),
                    "failureDomain": zone(number), "state": "running",
                })
            })
            .collect();
        self.status(
            "TerraformMachinePool",
            pool,
            json!({ "instances": instances }),
        )
        .await;
    }

    /// Changes the count without the dashboard.
    pub(crate) async fn scale_behind(&self, pool: &str, replicas: i64) {
        self.patch(
            "MachinePool",
            pool,
            json!({ "spec": { "replicas": replicas } }),
        )
        .await;
    }

    /// Writes an event about a pool.
    pub(crate) async fn event(&self, pool: &str, note: &str) {
        let uid = self.object("MachinePool", pool).await["metadata"]["uid"].clone();
        self.create("Event", Some(NAMESPACE), json!({
            "metadata": { "name": "an-event" },
            "eventTime": "2026-10-01T08:00:00.000000Z", "type": "Warning", "reason": "JobFailed",
            "note": note, "action": "Reconcile",
            "reportingController": "remuda.dev/manager", "reportingInstance": "remuda.dev/manager",
            "regarding": { "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool", "namespace": NAMESPACE, "name": pool, "uid": uid },
        })).await;
    }

    #[allow(
        clippy::unused_self,
        reason = "reads as what it is: a request to this world"
    )]
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        session: Option<&Session>,
    ) -> request::Builder {
        let mut request = Request::builder().method(method).uri(path);
        let headers = request.headers_mut().unwrap();
        headers.insert(header::HOST, HOST.parse().unwrap());
        headers.insert(header::ORIGIN, format!("http://{HOST}").parse().unwrap());
        if let Some(session) = session {
            headers.insert(header::COOKIE, session.cookie.parse().unwrap());
        }
        request
    }

    pub(crate) async fn send(&self, mut request: request::Builder, body: String) -> Answer {
        // A test that names another host means that one.
        if let Some(headers) = request.headers_mut() {
            let last = headers
                .get_all(header::HOST)
                .iter()
                .next_back()
                .cloned()
                .unwrap();
            headers.insert(header::HOST, last);
        }
        let request = request.body(Body::from(body)).unwrap();
        let response = self.dashboard.router().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    pub(crate) async fn get(&self, path: &str, session: Option<&Session>) -> Answer {
        self.send(self.request("GET", path, session), String::new())
            .await
    }

    pub(crate) async fn post(
        &self,
        path: &str,
        session: Option<&Session>,
        fields: &[(&str, &str)],
    ) -> Answer {
        let form = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        self.send(self.request("POST", path, session), form).await
    }

    /// Sends a form as the page would.
    pub(crate) async fn act(
        &self,
        path: &str,
        session: &Session,
        fields: &[(&str, &str)],
    ) -> Answer {
        let mut all = vec![("csrf", session.csrf.as_str())];
        all.extend(fields);
        self.post(path, Some(session), &all).await
    }

    pub(crate) async fn sign_in(&self, token: &str) -> Session {
        let answer = self
            .post("/sign-in", None, &[("token", token), ("next", "/")])
            .await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
        let (cookie, _) = answer.header("set-cookie").split_once(';').unwrap();
        let mut session = Session {
            cookie: cookie.to_owned(),
            csrf: String::new(),
        };
        let page = self.get("/calls", Some(&session)).await;
        let (_, after) = page.body.split_once("name=\"csrf\" value=\"").unwrap();
        after
            .split('"')
            .next()
            .unwrap()
            .clone_into(&mut session.csrf);
        session
    }

    pub(crate) async fn stream(&self, path: &str, session: &Session) -> Stream {
        let request = self
            .request("GET", path, Some(session))
            .body(Body::empty())
            .unwrap();
        let response = self.dashboard.router().oneshot(request).await.unwrap();
        assert_eq!(
            response.headers()[header::CONTENT_TYPE],
            "text/event-stream"
        );
        Stream {
            body: response.into_body(),
            read: String::new(),
        }
    }
}

/// Server-sent events, one by one.
pub(crate) struct Stream {
    body: Body,
    read: String,
}

impl Stream {
    /// The next event: its name and its data.
    pub(crate) async fn named(&mut self) -> (String, String) {
        loop {
            if let Some((event, rest)) = self.read.split_once("\n\n") {
                let line = |name: &str| {
                    let mut lines = event.lines();
                    lines
                        .find_map(|line| line.strip_prefix(name))
                        .map(|text| text.trim().to_owned())
                };
                let (name, data) = (line("event:"), line("data:").unwrap_or_default());
                let rest = rest.to_owned();
                self.read = rest;
                match name {
                    Some(name) => return (name, data),
                    None => continue,
                }
            }
            let frame = self
                .body
                .frame()
                .await
                .expect("the stream goes on")
                .unwrap();
            if let Ok(data) = frame.into_data() {
                self.read.push_str(std::str::from_utf8(&data).unwrap());
            }
        }
    }

    /// The next change.
    pub(crate) async fn event(&mut self) -> Value {
        let (name, data) = self.named().await;
        assert_eq!(name, "change");
        serde_json::from_str(&data).unwrap()
    }
}
