//! Who may do what: roles and bindings decide every request, in Kubernetes' words.
//!
//! Texts are those of a genuine server (1.20.2, asked with the same requests).

use http::Method;
use remuda_apiserver::Caller;
use serde_json::json;

use crate::asking::{As, RBAC, grant, instance};

const PODS: &str = "/api/v1/namespaces/default/pods";

#[tokio::test]
async fn a_stranger_is_refused_in_kubernetes_words() {
    let (_server, instance) = instance();
    let alice = As::user(&instance, "alice");
    let scoped = |what: &str, scope: &str| format!("User \"alice\" cannot {what} {scope}");
    let default = "in the namespace \"default\"";
    for (method, path, message, details) in [
        (
            Method::GET,
            PODS,
            format!(
                "pods is forbidden: {}",
                scoped("list resource \"pods\" in API group \"\"", default)
            ),
            json!({"kind": "pods"}),
        ),
        (
            Method::GET,
            "/api/v1/pods?watch=true",
            format!(
                "pods is forbidden: {}",
                scoped(
                    "watch resource \"pods\" in API group \"\"",
                    "at the cluster scope"
                )
            ),
            json!({"kind": "pods"}),
        ),
        (
            Method::GET,
            "/api/v1/namespaces/default",
            format!(
                "namespaces \"default\" is forbidden: {}",
                scoped("get resource \"namespaces\" in API group \"\"", default)
            ),
            json!({"kind": "namespaces", "name": "default"}),
        ),
        (
            Method::GET,
            "/api/v1/namespaces/default/pods/x/status",
            format!(
                "pods \"x\" is forbidden: {}",
                scoped("get resource \"pods/status\" in API group \"\"", default)
            ),
            json!({"kind": "pods", "name": "x"}),
        ),
        (
            Method::DELETE,
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            format!(
                "leases.coordination.k8s.io is forbidden: {}",
                scoped(
                    "deletecollection resource \"leases\" in API group \"coordination.k8s.io\"",
                    default
                )
            ),
            json!({"kind": "leases", "group": "coordination.k8s.io"}),
        ),
        (
            Method::GET,
            "/apis/foo.example.com/v1/widgets",
            format!(
                "widgets.foo.example.com is forbidden: {}",
                scoped(
                    "list resource \"widgets\" in API group \"foo.example.com\"",
                    "at the cluster scope"
                )
            ),
            json!({"kind": "widgets", "group": "foo.example.com"}),
        ),
    ] {
        let (code, status) = alice.send(method, path, &[], None).await;
        assert_eq!(code, 403, "{path}");
        assert_eq!(status["message"], message, "{path}");
        assert_eq!(status["reason"], "Forbidden");
        assert_eq!(status["details"], details, "{path}");
    }
    let (code, status) = alice.get("/foo/bar").await;
    assert_eq!(code, 403);
    assert_eq!(
        status["message"],
        "forbidden: User \"alice\" cannot get path \"/foo/bar\""
    );
}

#[tokio::test]
async fn everybody_may_discover_and_ask_about_themselves() {
    let (_server, instance) = instance();
    let alice = As::user(&instance, "alice");
    for path in [
        "/healthz",
        "/version",
        "/api",
        "/apis",
        "/api/v1",
        "/apis/apps/v1",
        "/openapi/v3",
    ] {
        assert_eq!(alice.get(path).await.0, 200, "{path}");
    }
    assert_eq!(alice.get("/").await.0, 403);
}

#[tokio::test]
async fn rules_decide_by_verb_resource_name_and_namespace() {
    let (_server, instance) = instance();
    let admin = As::admin(&instance);
    let alice = As::user(&instance, "alice");
    admin
        .made("/api/v1/namespaces", json!({"metadata": {"name": "other"}}))
        .await;
    let rules = json!([
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"], "verbs": ["*"]},
    ]);
    grant(&admin, "alice", "default", "r", rules).await;
    let map = |name: &str| json!({"metadata": {"name": name}});
    alice
        .made("/api/v1/namespaces/default/configmaps", map("m"))
        .await;
    assert_eq!(
        alice.get("/api/v1/namespaces/default/configmaps/m").await.0,
        200
    );
    assert_eq!(
        alice.get("/api/v1/namespaces/default/configmaps").await.0,
        403
    );
    assert_eq!(
        alice
            .post("/api/v1/namespaces/other/configmaps", map("m"))
            .await
            .0,
        403
    );
    admin
        .made("/api/v1/namespaces/default/secrets", map("mine"))
        .await;
    let secrets = "/api/v1/namespaces/default/secrets";
    assert_eq!(alice.get(&format!("{secrets}/mine")).await.0, 200);
    assert_eq!(alice.get(&format!("{secrets}/other")).await.0, 403);
    // A name in the field selector makes a list one of that name.
    let named = format!("{secrets}?fieldSelector=metadata.name%3Dmine");
    let (code, list) = alice.get(&named).await;
    assert_eq!(
        (code, list["items"].as_array().map(Vec::len)),
        (200, Some(1))
    );
    assert_eq!(alice.get(secrets).await.0, 403);
    // A binding that goes takes the right with it, at once.
    let binding = format!("{RBAC}/namespaces/default/rolebindings/r");
    assert_eq!(admin.send(Method::DELETE, &binding, &[], None).await.0, 200);
    assert_eq!(alice.get(&format!("{secrets}/mine")).await.0, 403);
}

#[tokio::test]
async fn applying_what_does_not_exist_needs_the_right_to_create() {
    let (_server, instance) = instance();
    let admin = As::admin(&instance);
    let alice = As::user(&instance, "alice");
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]}]);
    grant(&admin, "alice", "default", "r", rules).await;
    let path = "/api/v1/namespaces/default/configmaps/m?fieldManager=t";
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
    let apply = [("content-type", "application/apply-patch+yaml")];
    let (code, status) = alice.send(Method::PATCH, path, &apply, Some(&map)).await;
    assert_eq!(code, 403, "{status}");
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("cannot create resource \"configmaps\"")
    );
    admin
        .made("/api/v1/namespaces/default/configmaps", map.clone())
        .await;
    assert_eq!(
        alice.send(Method::PATCH, path, &apply, Some(&map)).await.0,
        200
    );
}

#[tokio::test(start_paused = true)]
async fn the_built_in_roles_gather_what_is_labelled_for_them() {
    let (_server, instance) = instance();
    let admin = As::admin(&instance);
    let bindings = format!("{RBAC}/namespaces/default/rolebindings");
    let binding = json!({"metadata": {"name": "b"}, "subjects": [{"kind": "User", "name": "eve"}],
                         "roleRef": {"kind": "ClusterRole", "name": "edit"}});
    admin.made(&bindings, binding).await;
    let eve = As::user(&instance, "eve");
    assert_eq!(eve.get(PODS).await.0, 200, "view is part of edit");
    assert_eq!(
        eve.post(
            "/api/v1/namespaces/default/secrets",
            json!({"metadata": {"name": "s"}})
        )
        .await
        .0,
        201
    );
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    assert_eq!(eve.get(roles).await.0, 403, "roles are for admin");
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    assert_eq!(eve.get(widgets).await.0, 403);
    let label = "rbac.authorization.k8s.io/aggregate-to-view";
    let more = json!({"metadata": {"name": "widgets", "labels": {label: "true"}}, "rules": [
        {"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get", "list"]}]});
    admin.made(&format!("{RBAC}/clusterroles"), more).await;
    // Through view into edit; there is no such kind, so the answer is that of one who may.
    while eve.get(widgets).await.0 != 404 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let gone = format!("{RBAC}/clusterroles/widgets");
    admin.send(Method::DELETE, &gone, &[], None).await;
    while eve.get(widgets).await.0 != 403 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_missing_role_is_named() {
    let (_server, instance) = instance();
    let admin = As::admin(&instance);
    let binding = json!({"metadata": {"name": "b"}, "subjects": [{"kind": "User", "name": "carl"}],
                         "roleRef": {"kind": "ClusterRole", "name": "nonesuch"}});
    admin
        .made(&format!("{RBAC}/clusterrolebindings"), binding)
        .await;
    let (_, status) = As::user(&instance, "carl").get("/api/v1/pods").await;
    let message = "pods is forbidden: User \"carl\" cannot list resource \"pods\" in API group \"\" \
        at the cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io \"nonesuch\" not found";
    assert_eq!(status["message"], message);
}

#[tokio::test]
async fn impersonation_needs_the_right_and_then_changes_everything() {
    let (_server, instance) = instance();
    let admin = As::admin(&instance);
    let as_bob = [
        ("impersonate-user", "bob"),
        ("impersonate-group", "dev"),
        ("impersonate-extra-acme%2fscopes", "s1"),
    ];
    let who = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let (code, review) = admin
        .send(Method::POST, who, &as_bob, Some(&json!({})))
        .await;
    assert_eq!(code, 201, "{review}");
    let info = json!({"username": "bob", "groups": ["dev", "system:authenticated"],
                      "extra": {"acme/scopes": ["s1"]}});
    assert_eq!(review["status"]["userInfo"], info);
    let account = [("impersonate-user", "system:serviceaccount:a:b")];
    let (_, review) = admin
        .send(Method::POST, who, &account, Some(&json!({})))
        .await;
    let groups = json!([
        "system:serviceaccounts",
        "system:serviceaccounts:a",
        "system:authenticated"
    ]);
    assert_eq!(review["status"]["userInfo"]["groups"], groups);

    let alice = As::user(&instance, "alice");
    let (code, status) = alice.send(Method::GET, "/api", &as_bob, None).await;
    let message = "users \"bob\" is forbidden: User \"alice\" cannot impersonate resource \"users\" \
                   in API group \"\" at the cluster scope";
    assert_eq!((code, &status["message"]), (403, &json!(message)));
    let (_, status) = alice.send(Method::GET, "/api", &account, None).await;
    let message = "serviceaccounts \"b\" is forbidden: User \"alice\" cannot impersonate resource \
                   \"serviceaccounts\" in API group \"\" in the namespace \"a\"";
    assert_eq!(status["message"], message);
    let rules =
        json!([{"apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"]}]);
    grant(&admin, "alice", "", "imp", rules).await;
    let (_, status) = alice.send(Method::GET, "/api", &as_bob, None).await;
    let message = "userextras.authentication.k8s.io \"s1\" is forbidden: User \"alice\" cannot \
        impersonate resource \"userextras/acme/scopes\" in API group \"authentication.k8s.io\" at \
        the cluster scope";
    assert_eq!(status["message"], message);
    assert_eq!(alice.get("/api/v1/secrets").await.0, 403);
    let master = [
        ("impersonate-user", "x"),
        ("impersonate-group", "system:masters"),
    ];
    assert_eq!(
        alice
            .send(Method::GET, "/api/v1/secrets", &master, None)
            .await
            .0,
        200
    );
    // The administrator in the shape of a stranger is one.
    let stranger = [("impersonate-user", "stranger")];
    assert_eq!(
        admin
            .send(Method::GET, "/api/v1/secrets", &stranger, None)
            .await
            .0,
        403
    );
    let (code, status) = admin
        .send(Method::GET, "/api", &[("impersonate-group", "g")], None)
        .await;
    assert_eq!(code, 500);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("without impersonating a user")
    );
}

#[tokio::test]
async fn system_masters_pass_without_any_role() {
    let (_server, instance) = instance();
    let admin = As::admin(&instance);
    let binding = format!("{RBAC}/clusterrolebindings/cluster-admin");
    assert_eq!(admin.send(Method::DELETE, &binding, &[], None).await.0, 200);
    let master = As(instance.router_as(Caller::user("root").in_group("system:masters")));
    assert_eq!(master.get("/api/v1/secrets").await.0, 200);
}

#[tokio::test]
async fn built_in_roles_come_back_at_a_start_unless_their_owner_keeps_them() {
    use remuda_apiserver::ApiServer;
    let folder = crate::on_disk::folder();
    let open = || {
        ApiServer::builder()
            .data_dir(folder.path())
            .build()
            .expect("a server")
    };
    let roles = format!("{RBAC}/clusterroles");
    let server = open();
    let admin = As::admin(&server.management());
    let (_, monitoring) = admin.get(&format!("{roles}/system:monitoring")).await;
    admin
        .send(
            Method::DELETE,
            &format!("{roles}/system:monitoring"),
            &[],
            None,
        )
        .await;
    let own = json!([{"apiGroups": ["x"], "resources": ["y"], "verbs": ["get"]}]);
    let changed = json!({"rules": own});
    let kept = json!({"rules": own, "metadata": {"annotations":
        {"rbac.authorization.kubernetes.io/autoupdate": "false"}}});
    for (role, change) in [("system:basic-user", &changed), ("system:discovery", &kept)] {
        let path = format!("{roles}/{role}");
        assert_eq!(
            admin.send(Method::PATCH, &path, &[], Some(change)).await.0,
            200
        );
    }
    drop(admin);
    server.close().await;

    let server = open();
    let admin = As::admin(&server.management());
    let (_, back) = admin.get(&format!("{roles}/system:monitoring")).await;
    assert_eq!(back["rules"], monitoring["rules"]);
    let (_, repaired) = admin.get(&format!("{roles}/system:basic-user")).await;
    let rules = repaired["rules"].as_array().unwrap();
    assert!(rules.len() > 1 && rules.contains(&own[0]), "{repaired}");
    let (_, kept) = admin.get(&format!("{roles}/system:discovery")).await;
    assert_eq!(kept["rules"], own);
}
