//! The authorizer as a pure function: a table, and what holds of every policy.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::attributes::{Asked, Attributes, Resource};
use super::caller::Caller;
use super::policy::Policy;
use super::rules::{Rule, uncovered};

fn on(verb: &str, group: &str, what: &str, namespace: &str, name: &str) -> Attributes {
    let (plural, subresource) = what.split_once('/').unwrap_or((what, ""));
    Attributes::on(
        verb,
        Resource {
            group: group.into(),
            plural: plural.into(),
            subresource: subresource.into(),
            namespace: namespace.into(),
            name: name.into(),
        },
    )
}

fn path(verb: &str, path: &str) -> Attributes {
    Attributes {
        verb: verb.into(),
        object: Asked::Path(path.into()),
    }
}

#[test]
fn a_rule_allows_what_it_names() {
    let pods =
        json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "pods/status"]});
    let named =
        json!({"verbs": ["*"], "apiGroups": ["apps"], "resources": ["*"], "resourceNames": ["a"]});
    let scales = json!({"verbs": ["update"], "apiGroups": ["*"], "resources": ["*/scale"]});
    let paths = json!({"verbs": ["get"], "nonResourceURLs": ["/healthz", "/logs/*"]});
    for (rule, asked, allowed) in [
        (&pods, on("get", "", "pods", "n", "p"), true),
        (&pods, on("delete", "", "pods", "n", "p"), false),
        (&pods, on("get", "apps", "pods", "n", "p"), false),
        (&pods, on("get", "", "pods/status", "n", "p"), true),
        (&pods, on("get", "", "pods/log", "n", "p"), false),
        (&pods, path("get", "/pods"), false),
        (&named, on("delete", "apps", "daemonsets", "n", "a"), true),
        (
            &named,
            on("delete", "apps", "daemonsets/status", "n", "a"),
            true,
        ),
        (&named, on("delete", "apps", "daemonsets", "n", "b"), false),
        (&named, on("list", "apps", "daemonsets", "n", ""), false),
        (
            &scales,
            on("update", "apps", "deployments/scale", "n", "a"),
            true,
        ),
        (
            &scales,
            on("update", "apps", "deployments", "n", "a"),
            false,
        ),
        (&scales, on("update", "", "scale", "n", "a"), false),
        (&paths, path("get", "/healthz"), true),
        (&paths, path("get", "/healthz/ping"), false),
        (&paths, path("get", "/logs/a/b"), true),
        (&paths, path("post", "/logs/a"), false),
        (&paths, on("get", "", "healthz", "", ""), false),
    ] {
        assert_eq!(
            Rule::read(rule).allows(&asked),
            allowed,
            "{rule} on {asked:?}"
        );
    }
}

fn policy() -> Policy {
    let mut policy = Policy::default();
    let role = |resource: &str| json!({"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": [resource]}]});
    policy.set_role("", "pods", Some(&role("pods")));
    policy.set_role("a", "maps", Some(&role("configmaps")));
    let binding = |kind: &str, role: &str, subject: Value| json!({"roleRef": {"kind": kind, "name": role}, "subjects": [subject]});
    let user = json!({"kind": "User", "name": "alice"});
    let group = json!({"kind": "Group", "name": "dev"});
    let account = json!({"kind": "ServiceAccount", "name": "robot"});
    policy.set_binding("", "b", Some(&binding("ClusterRole", "pods", user.clone())));
    policy.set_binding("a", "b", Some(&binding("ClusterRole", "pods", group)));
    policy.set_binding("a", "c", Some(&binding("Role", "maps", account)));
    policy.set_binding("b", "c", Some(&binding("Role", "maps", user)));
    policy
}

#[test]
fn bindings_reach_users_groups_and_accounts_in_their_scope() {
    let policy = policy();
    let alice = Caller::user("alice");
    let dev = Caller::user("dan").in_group("dev");
    let robot = Caller::service_account("a", "robot");
    let pods = |namespace: &str| on("get", "", "pods", namespace, "p");
    let maps = |namespace: &str| on("get", "", "configmaps", namespace, "m");
    for (caller, asked, reason) in [
        (
            &alice,
            pods("a"),
            Ok(
                "RBAC: allowed by ClusterRoleBinding \"b\" of ClusterRole \"pods\" to User \"alice\"",
            ),
        ),
        (
            &alice,
            pods(""),
            Ok(
                "RBAC: allowed by ClusterRoleBinding \"b\" of ClusterRole \"pods\" to User \"alice\"",
            ),
        ),
        (
            &dev,
            pods("a"),
            Ok("RBAC: allowed by RoleBinding \"b/a\" of ClusterRole \"pods\" to Group \"dev\""),
        ),
        (&dev, pods("b"), Err("")),
        (&dev, pods(""), Err("")),
        (
            &robot,
            maps("a"),
            Ok(
                "RBAC: allowed by RoleBinding \"c/a\" of Role \"maps\" to ServiceAccount \"robot/a\"",
            ),
        ),
        (&robot, maps("b"), Err("")),
        (&Caller::service_account("b", "robot"), maps("a"), Err("")),
        // The role of namespace a is none of namespace b's.
        (
            &alice,
            maps("b"),
            Err("RBAC: role.rbac.authorization.k8s.io \"maps\" not found"),
        ),
        (
            &Caller::user("x").in_group("system:masters"),
            maps("z"),
            Ok(""),
        ),
    ] {
        let decision = policy.decide(caller, &asked);
        let (Ok(why) | Err(why)) = reason;
        assert_eq!(
            (decision.allowed, decision.reason.as_str()),
            (reason.is_ok(), why),
            "{asked:?}"
        );
    }
}

#[test]
fn what_is_removed_allows_no_more() {
    let mut policy = policy();
    let (alice, pods) = (Caller::user("alice"), on("get", "", "pods", "a", "p"));
    policy.set_role("", "pods", None);
    assert!(!policy.decide(&alice, &pods).allowed);
    let mut policy = self::policy();
    policy.set_binding("", "b", None);
    assert!(!policy.decide(&alice, &pods).allowed);
    // A binding that changes its subjects lets the old ones go.
    let mut policy = self::policy();
    let bob = json!({"roleRef": {"kind": "ClusterRole", "name": "pods"},
                     "subjects": [{"kind": "User", "name": "bob"}]});
    policy.set_binding("", "b", Some(&bob));
    assert!(!policy.decide(&alice, &pods).allowed);
    assert!(policy.decide(&Caller::user("bob"), &pods).allowed);
}

fn texts(choices: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let text = proptest::sample::select(choices).prop_map(str::to_owned);
    proptest::collection::vec(text, 0..3)
}

prop_compose! {
    fn any_rule()(
        verbs in texts(&["get", "list", "create", "*"]),
        groups in texts(&["", "apps", "*"]),
        resources in texts(&["pods", "pods/status", "*/status", "maps", "*"]),
        names in texts(&["a", "b"]),
        paths in texts(&["/a", "/a/*", "*"]),
    ) -> Rule {
        Rule { verbs, groups, resources, names, paths }
    }
}

fn any_question() -> impl Strategy<Value = Attributes> {
    let pick = |choices: &'static [&'static str]| proptest::sample::select(choices);
    let resource = (
        pick(&["get", "list", "create", "delete"]),
        pick(&["", "apps", "batch"]),
        pick(&["pods", "pods/status", "maps", "maps/status"]),
        pick(&["", "a", "b", "c"]),
    );
    let resource = resource.prop_map(|(verb, group, what, name)| on(verb, group, what, "n", name));
    let paths = (pick(&["get", "post"]), pick(&["/a", "/a/b", "/b"]));
    prop_oneof![resource, paths.prop_map(|(verb, own)| path(verb, own))]
}

fn with(rules: &[Rule]) -> Policy {
    let mut policy = Policy::default();
    let rules: Vec<Value> = rules.iter().map(Rule::value).collect();
    policy.set_role("", "r", Some(&json!({"rules": rules})));
    let binding = json!({"roleRef": {"kind": "ClusterRole", "name": "r"},
                         "subjects": [{"kind": "User", "name": "u"}]});
    policy.set_binding("", "b", Some(&binding));
    policy
}

proptest! {
    #[test]
    fn one_more_rule_never_takes_a_right_away(
        rules in proptest::collection::vec(any_rule(), 0..4),
        more in any_rule(),
        at in 0_usize..5,
        asked in any_question(),
    ) {
        let caller = Caller::user("u");
        let before = with(&rules).decide(&caller, &asked).allowed;
        let mut extended = rules.clone();
        extended.insert(at.min(rules.len()), more.clone());
        let after = with(&extended).decide(&caller, &asked).allowed;
        prop_assert!(!before || after);
        // And it gives no right but its own.
        prop_assert_eq!(after, before || more.allows(&asked));
    }

    #[test]
    fn covered_rules_allow_nothing_that_is_not_held(
        held in proptest::collection::vec(any_rule(), 0..4),
        wanted in any_rule(),
        asked in any_question(),
    ) {
        let missing = uncovered(&held, std::slice::from_ref(&wanted));
        let allowed = |rules: &[Rule]| rules.iter().any(|rule| rule.allows(&asked));
        if missing.is_empty() {
            prop_assert!(!wanted.allows(&asked) || allowed(&held));
        }
        // What is missing is part of what was wanted, and with it all is covered.
        prop_assert!(!allowed(&missing) || wanted.allows(&asked));
        let all: Vec<Rule> = held.iter().chain(&missing).cloned().collect();
        prop_assert!(uncovered(&all, &[wanted]).is_empty());
    }

    #[test]
    fn a_rule_survives_the_way_through_an_object(rule in any_rule()) {
        prop_assert_eq!(Rule::read(&rule.value()), rule);
    }
}
