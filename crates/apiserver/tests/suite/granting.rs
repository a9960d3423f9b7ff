//! Roles and bindings as objects: nobody grants what they lack, and what a valid one is.
//!
//! Texts are those of a genuine server (1.20.2, asked with the same requests).

use http::Method;
use serde_json::{Value, json};

use crate::asking::{As, RBAC, grant, instance};

#[tokio::test]
async fn nobody_grants_what_they_lack() {
    let (_server, instance) = instance();
    let admin = As::admin(&instance);
    let alice = As::user(&instance, "alice");
    let all = [
        "roles",
        "rolebindings",
        "clusterroles",
        "clusterrolebindings",
    ];
    let rules = json!([{
        "apiGroups": ["rbac.authorization.k8s.io"], "resources": all,
        "verbs": ["create", "update", "patch", "get"],
    }]);
    grant(&admin, "alice", "", "writer", rules).await;
    let role = json!({"metadata": {"name": "r1"}, "rules": [
        {"apiGroups": ["", "apps"], "resources": ["pods", "secrets"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"], "verbs": ["delete"]},
    ]});
    let roles = format!("{RBAC}/namespaces/default/roles");
    let (code, status) = alice.post(&roles, role).await;
    assert_eq!(code, 403);
    let lacks = "user \"alice\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC \
                 permissions not currently held:\n";
    let listed = "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}\n\
        {APIGroups:[\"\"], Resources:[\"secrets\"], ResourceNames:[\"a\"], Verbs:[\"delete\"]}\n\
        {APIGroups:[\"\"], Resources:[\"secrets\"], ResourceNames:[\"b\"], Verbs:[\"delete\"]}\n\
        {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}\n\
        {APIGroups:[\"apps\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}\n\
        {APIGroups:[\"apps\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}";
    let message = format!("roles.rbac.authorization.k8s.io \"r1\" is forbidden: {lacks}{listed}");
    assert_eq!(status["message"], message);

    let binding = |name: &str, role: &str| {
        json!({"metadata": {"name": name}, "subjects": [{"kind": "User", "name": "bob"}],
               "roleRef": {"kind": "ClusterRole", "name": role}})
    };
    let bindings = format!("{RBAC}/clusterrolebindings");
    let (code, status) = alice
        .post(&bindings, binding("b", "system:monitoring"))
        .await;
    assert_eq!(code, 403);
    let listed = ["/healthz/*", "/livez/*", "/metrics", "/readyz/*"]
        .map(|path| format!("{{NonResourceURLs:[{path:?}], Verbs:[\"get\"]}}"))
        .join("\n");
    let message = format!(
        "clusterrolebindings.rbac.authorization.k8s.io \"b\" is forbidden: {lacks}{listed}"
    );
    assert_eq!(status["message"], message);
    let (code, status) = alice.post(&bindings, binding("b", "nonesuch")).await;
    let message = "clusterroles.rbac.authorization.k8s.io \"nonesuch\" not found";
    assert_eq!((code, &status["message"]), (404, &json!(message)));
    // What alice holds she may hand on.
    alice
        .made(&bindings, binding("b", "system:basic-user"))
        .await;
    alice.made(&bindings, binding("c", "writer")).await;
    // A role that gathers could come to hold anything.
    let gathers = json!({"metadata": {"name": "g"}, "aggregationRule":
        {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}});
    let (code, status) = alice.post(&format!("{RBAC}/clusterroles"), gathers).await;
    let message = "clusterroles.rbac.authorization.k8s.io \"g\" is forbidden: must have \
                   cluster-admin privileges to use the aggregationRule";
    assert_eq!((code, &status["message"]), (403, &json!(message)));
}

#[tokio::test]
async fn escalate_and_bind_lift_the_check() {
    let (_server, instance) = instance();
    let admin = As::admin(&instance);
    let alice = As::user(&instance, "alice");
    let rules = json!([
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create", "escalate"]},
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["rolebindings"], "verbs": ["create"]},
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"],
         "resourceNames": ["view"], "verbs": ["bind"]},
    ]);
    grant(&admin, "alice", "default", "r", rules).await;
    let place = format!("{RBAC}/namespaces/default");
    let secrets = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]);
    let role = json!({"metadata": {"name": "secrets"}, "rules": secrets});
    alice.made(&format!("{place}/roles"), role).await;
    let binding = |role: &str| {
        json!({"metadata": {"name": role}, "subjects": [{"kind": "User", "name": "bob"}],
               "roleRef": {"kind": "ClusterRole", "name": role}})
    };
    alice
        .made(&format!("{place}/rolebindings"), binding("view"))
        .await;
    assert_eq!(
        alice
            .post(&format!("{place}/rolebindings"), binding("edit"))
            .await
            .0,
        403
    );
}

#[tokio::test]
async fn roles_and_bindings_are_checked_as_objects() {
    let (_server, instance) = instance();
    let admin = As::admin(&instance);
    let causes = |status: &Value| -> Vec<String> {
        let list = status["details"]["causes"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let text =
            |cause: &Value, field: &str| cause[field].as_str().unwrap_or_default().to_owned();
        list.iter()
            .map(|c| format!("{}: {}", text(c, "field"), text(c, "message")))
            .collect()
    };
    let role = json!({"metadata": {"name": "r"}, "rules": [
        {"apiGroups": [""], "resources": ["pods"], "verbs": []}, {"verbs": ["get"]},
        {"verbs": ["get"], "nonResourceURLs": ["/a"]}]});
    let (code, status) = admin
        .post(&format!("{RBAC}/namespaces/default/roles"), role)
        .await;
    assert_eq!(code, 422);
    assert_eq!(
        causes(&status),
        [
            "rules[0].verbs: Required value: verbs must contain at least one value",
            "rules[1].apiGroups: Required value: resource rules must supply at least one api group",
            "rules[1].resources: Required value: resource rules must supply at least one resource",
            "rules[2].nonResourceURLs: Invalid value: []string{\"/a\"}: namespaced rules cannot apply \
         to non-resource URLs",
        ]
    );
    let binding = json!({"metadata": {"name": "b"},
        "subjects": [{"kind": "Bob", "name": ""}, {"kind": "ServiceAccount", "name": "a"}],
        "roleRef": {"kind": "Role", "name": "v%w"}});
    let bindings = format!("{RBAC}/clusterrolebindings");
    let (code, status) = admin.post(&bindings, binding).await;
    assert_eq!(code, 422);
    assert_eq!(
        causes(&status),
        [
            "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\"",
            "roleRef.name: Invalid value: \"v%w\": may not contain '%'",
            "subjects[0].name: Required value",
            "subjects[0].kind: Unsupported value: \"Bob\": supported values: \"ServiceAccount\", \
         \"User\", \"Group\"",
            "subjects[1].namespace: Required value",
        ]
    );
    // The role of a binding is for ever; the group of subjects and role is filled in.
    let binding = json!({"metadata": {"name": "b"}, "subjects": [{"kind": "User", "name": "bob"}],
                         "roleRef": {"kind": "ClusterRole", "name": "view"}});
    let made = admin.made(&bindings, binding).await;
    assert_eq!(made["subjects"][0]["apiGroup"], "rbac.authorization.k8s.io");
    let other = json!({"roleRef": {"name": "edit"}});
    let path = format!("{bindings}/b");
    let (code, status) = admin.send(Method::PATCH, &path, &[], Some(&other)).await;
    let message = "ClusterRoleBinding.rbac.authorization.k8s.io \"b\" is invalid: roleRef: Invalid \
        value: rbac.RoleRef{APIGroup:\"rbac.authorization.k8s.io\", Kind:\"ClusterRole\", \
        Name:\"edit\"}: cannot change roleRef";
    assert_eq!((code, &status["message"]), (422, &json!(message)));
}
