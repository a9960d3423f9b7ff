//! Reviews: what the server answers to questions about identities and rights.
//!
//! Texts are those of a genuine server (1.20.2, asked with the same requests).

use remuda_apiserver::Caller;
use serde_json::{Value, json};

use crate::asking::{As, grant, instance};

const AUTHORIZATION: &str = "/apis/authorization.k8s.io/v1";

fn path(review: &str) -> String {
    format!("{AUTHORIZATION}/{review}")
}

#[tokio::test]
async fn access_reviews_tell_what_the_authorizer_would() {
    let (_server, instance) = instance();
    let admin = As::admin(&instance);
    let alice = As::user(&instance, "alice");
    let may = json!({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let own = path("selfsubjectaccessreviews");
    assert_eq!(
        alice.made(&own, may.clone()).await["status"],
        json!({"allowed": false})
    );
    assert_eq!(
        admin.made(&own, may).await["status"],
        json!({"allowed": true})
    );
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    grant(&admin, "alice", "default", "r", rules).await;
    let here = |namespace: &str| {
        json!({"spec": {"user": "alice", "resourceAttributes":
            {"verb": "get", "resource": "pods", "namespace": namespace}}})
    };
    let reason = "RBAC: allowed by RoleBinding \"r/default\" of Role \"r\" to User \"alice\"";
    let allowed = json!({"allowed": true, "reason": reason});
    for (review, namespace, status) in [
        (path("subjectaccessreviews"), "default", allowed.clone()),
        (
            path("subjectaccessreviews"),
            "other",
            json!({"allowed": false}),
        ),
        (
            path("namespaces/default/localsubjectaccessreviews"),
            "default",
            allowed,
        ),
    ] {
        assert_eq!(
            admin.made(&review, here(namespace)).await["status"],
            status,
            "{review}"
        );
    }
    // Asking about others is a right of its own.
    let (code, status) = alice
        .post(&path("subjectaccessreviews"), here("default"))
        .await;
    let message = "subjectaccessreviews.authorization.k8s.io is forbidden: User \"alice\" cannot \
        create resource \"subjectaccessreviews\" in API group \"authorization.k8s.io\" at the \
        cluster scope";
    assert_eq!((code, &status["message"]), (403, &json!(message)));
    let group = json!({"spec": {"groups": ["system:authenticated"],
                                "nonResourceAttributes": {"verb": "get", "path": "/api"}}});
    let reason = "RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \
                  \"system:discovery\" to Group \"system:authenticated\"";
    let status = &admin.made(&path("subjectaccessreviews"), group).await["status"];
    assert_eq!(*status, json!({"allowed": true, "reason": reason}));
}

#[tokio::test]
async fn malformed_reviews_are_refused_in_kubernetes_words() {
    let (_server, instance) = instance();
    let admin = As::admin(&instance);
    let local = "namespaces/default/localsubjectaccessreviews";
    let resource = json!({"verb": "get", "resource": "pods"});
    let other = json!({"verb": "get", "resource": "pods", "namespace": "other"});
    let url = json!({"verb": "get", "path": "/x"});
    for (review, spec, message) in [
        (
            "selfsubjectaccessreviews",
            json!({}),
            "spec.resourceAttributes: Invalid value: \"null\": exactly one of nonResourceAttributes or \
          resourceAttributes must be specified",
        ),
        (
            "subjectaccessreviews",
            json!({"resourceAttributes": resource}),
            "spec.user: Invalid value: \"\": at least one of user or group must be specified",
        ),
        (
            "subjectaccessreviews",
            json!({"user": "bob", "resourceAttributes": resource, "nonResourceAttributes": url}),
            "spec.nonResourceAttributes: Invalid value: authorization.NonResourceAttributes{Path:\"/x\", \
          Verb:\"get\"}: cannot be specified in combination with resourceAttributes",
        ),
        (
            local,
            json!({"user": "bob", "resourceAttributes": other}),
            "spec.resourceAttributes.namespace: Invalid value: \"other\": must match metadata.namespace",
        ),
        (
            local,
            json!({"user": "bob", "nonResourceAttributes": url}),
            "spec.nonResourceAttributes: Invalid value: authorization.NonResourceAttributes{Path:\"/x\", \
          Verb:\"get\"}: disallowed on this kind of request",
        ),
    ] {
        let (code, status) = admin.post(&path(review), json!({"spec": spec})).await;
        let message = format!(".authorization.k8s.io \"\" is invalid: {message}");
        assert_eq!(
            (code, &status["message"]),
            (422, &json!(message)),
            "{review}"
        );
    }
    let (code, status) = admin
        .post(&path("selfsubjectrulesreviews"), json!({"spec": {}}))
        .await;
    assert_eq!(
        (code, &status["message"]),
        (400, &json!("no namespace on request"))
    );
    let (code, status) = admin
        .post(
            "/apis/authentication.k8s.io/v1/tokenreviews",
            json!({"spec": {}}),
        )
        .await;
    let message = "token is required for TokenReview in authentication";
    assert_eq!((code, &status["message"]), (400, &json!(message)));
    assert_eq!(admin.get(&path("selfsubjectrulesreviews")).await.0, 405);
}

#[tokio::test]
async fn a_rules_review_lists_what_the_caller_holds() {
    let (_server, instance) = instance();
    let admin = As::admin(&instance);
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    grant(&admin, "alice", "default", "r", rules.clone()).await;
    let review = |namespace: &str| json!({"spec": {"namespace": namespace}});
    let alice = As::user(&instance, "alice");
    let answer = alice
        .made(&path("selfsubjectrulesreviews"), review("default"))
        .await;
    let listed = answer["status"]["resourceRules"].as_array().unwrap();
    assert!(listed.contains(&rules[0]), "{answer}");
    assert_eq!(answer["status"]["incomplete"], false);
    let answer = alice
        .made(&path("selfsubjectrulesreviews"), review("other"))
        .await;
    let listed = answer["status"]["resourceRules"].as_array().unwrap();
    assert!(!listed.contains(&rules[0]), "{answer}");
    let paths = answer["status"]["nonResourceRules"].as_array().unwrap();
    assert!(paths.iter().any(|rule| {
        rule["nonResourceURLs"]
            .as_array()
            .unwrap()
            .contains(&json!("/api/*"))
    }));
}

#[tokio::test]
async fn a_token_is_shown_only_to_its_audience() {
    let (_server, instance) = instance();
    let admin = As::admin(&instance);
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    admin
        .made(accounts, json!({"metadata": {"name": "robot"}}))
        .await;
    let request = json!({"spec": {"audiences": ["vault"]}});
    let made = admin
        .made(&format!("{accounts}/robot/token"), request)
        .await;
    let token = made["status"]["token"].clone();
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let shown = |audiences: Value| json!({"spec": {"token": token, "audiences": audiences}});
    let answer = admin.made(reviews, shown(json!(["vault", "other"]))).await;
    assert_eq!(answer["status"]["authenticated"], true);
    assert_eq!(answer["status"]["audiences"], json!(["vault"]));
    let answer = admin.made(reviews, shown(json!([]))).await;
    let error = "[invalid bearer token, token audiences [\"vault\"] is invalid for the target \
                 audiences [\"https://kubernetes.default.svc\"]]";
    assert_eq!(answer["status"], json!({"user": {}, "error": error}));
}

#[tokio::test]
async fn who_am_i_tells_everything_that_is_known() {
    let (_server, instance) = instance();
    let account = As(instance.router_as(Caller::service_account("a", "b").in_group("x")));
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = account.made(path, json!({})).await;
    let info = json!({"username": "system:serviceaccount:a:b", "groups": [
        "system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated", "x"]});
    assert_eq!(answer["status"]["userInfo"], info);
}
