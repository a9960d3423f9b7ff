//! Decisions that need more than the request.

use remuda_plan::admission::{
    Facts, Gates, Kind, Request,
    facts::{MachineFacts, Question, identity_users, questions},
    problems,
};
use serde_json::{Value, json};

use super::named;

const NOT_DELETABLE: &str = "remuda.dev/not-deletable";

fn judge(kind: Kind, request: &Request<'_>, facts: &Facts) -> Vec<String> {
    problems(kind, request, &Gates::default(), facts)
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn pool_machine() -> Value {
    let mut machine = named(Kind::Machine);
    machine["metadata"]["labels"] = json!({ "cluster.x-k8s.io/pool-name": "pool" });
    machine
}

#[test]
fn a_machine_that_cannot_be_ended_alone_goes_with_its_pool_only() {
    let machine = pool_machine();
    let request = Request::delete(&machine);
    assert_eq!(questions(Kind::Machine, &request), [Question::Machine]);
    let alone = named(Kind::Machine);
    assert_eq!(questions(Kind::Machine, &Request::delete(&alone)), []);

    let known = |not_deletable: Option<&str>, goes_with_its_pool: bool| Facts {
        machine: Some(Ok(MachineFacts {
            not_deletable: not_deletable.map(str::to_owned),
            goes_with_its_pool,
        })),
        ..Facts::default()
    };
    let free = known(None, false);
    assert_eq!(judge(Kind::Machine, &request, &free), [""; 0]);
    let held = known(Some("the cloud has no such call"), false);
    let refused = judge(Kind::Machine, &request, &held);
    assert!(
        refused[0].contains("the cloud has no such call"),
        "{refused:?}"
    );
    let going = known(Some("the cloud has no such call"), true);
    assert_eq!(judge(Kind::Machine, &request, &going), [""; 0]);
    let unknown = Facts {
        machine: Some(Err("the API is away".to_owned())),
        ..Facts::default()
    };
    let refused = judge(Kind::Machine, &request, &unknown);
    assert!(refused[0].contains("the API is away"), "{refused:?}");

    let mut marked = alone;
    marked["metadata"]["annotations"] = json!({ NOT_DELETABLE: "no such call" });
    let refused = judge(Kind::Machine, &Request::delete(&marked), &Facts::default());
    assert!(refused[0].contains("no such call"), "{refused:?}");
}

fn identity(namespace: &str) -> Value {
    let mut identity = named(Kind::TerraformClusterIdentity);
    identity["spec"] = json!({
        "secretRef": { "namespace": namespace, "name": "keys" },
        "allowedNamespaces": { "list": ["team-a"] },
    });
    identity
}

#[test]
fn who_hands_out_a_secret_must_be_allowed_to_read_it() {
    let kind = Kind::TerraformClusterIdentity;
    let new = identity("secrets");
    let create = Request::create(&new);
    let asked = [Question::MayReadSecret {
        namespace: "secrets".to_owned(),
        name: "keys".to_owned(),
    }];
    assert_eq!(questions(kind, &create), asked);
    for (answer, fine) in [
        (Ok(true), true),
        (Ok(false), false),
        (Err("away".to_owned()), false),
    ] {
        let facts = Facts {
            may_read_secret: Some(answer),
            ..Facts::default()
        };
        let refused = judge(kind, &create, &facts);
        assert_eq!(refused.is_empty(), fine, "{refused:?}");
        assert!(fine || refused[0].contains("secrets/keys"), "{refused:?}");
    }
    let mut labelled = new.clone();
    labelled["metadata"]["labels"] = json!({ "a": "b" });
    assert_eq!(questions(kind, &Request::update(&labelled, &new)), []);
    let moved = identity("elsewhere");
    assert_eq!(questions(kind, &Request::update(&moved, &new)).len(), 1);
}

#[test]
fn an_identity_in_use_stays() {
    let kind = Kind::TerraformClusterIdentity;
    let stored = identity("secrets");
    let request = Request::delete(&stored);
    let users = |users: Result<Vec<String>, String>| Facts {
        identity_users: Some(users),
        ..Facts::default()
    };
    assert_eq!(judge(kind, &request, &users(Ok(vec![]))), [""; 0]);
    let used = users(Ok(vec![
        "TerraformMachinePool a/b".to_owned(),
        "c".to_owned(),
    ]));
    let refused = judge(kind, &request, &used);
    assert!(
        refused[0].contains("TerraformMachinePool a/b and 1 more"),
        "{refused:?}"
    );
    assert_eq!(
        judge(kind, &request, &users(Err("away".to_owned()))).len(),
        1
    );
}

#[test]
fn identities_are_used_by_name_and_by_inheritance() {
    let in_a = |name: &str, spec: Value, labels: Value| {
        json!({
            "metadata": { "name": name, "namespace": "team-a", "labels": labels },
            "spec": spec,
        })
    };
    let cluster = in_a(
        "demo",
        json!({ "infrastructureRef": { "name": "infra" } }),
        json!({}),
    );
    let by = |reference: Value| in_a("infra", json!({ "identityRef": reference }), json!({}));
    let label = json!({ "cluster.x-k8s.io/cluster-name": "demo" });
    let heir = in_a("heir", json!({}), label.clone());
    let own = in_a("own", json!({ "identityRef": { "name": "other" } }), label);
    let pools = [heir, own];
    assert_eq!(
        identity_users(
            "mine",
            &pools,
            std::slice::from_ref(&cluster),
            &[by(json!({ "name": "mine" }))]
        ),
        [
            "TerraformCluster team-a/infra",
            "TerraformMachinePool team-a/heir"
        ]
    );
    assert_eq!(
        identity_users(
            "other",
            &pools,
            std::slice::from_ref(&cluster),
            &[by(json!({ "name": "mine" }))]
        ),
        ["TerraformMachinePool team-a/own"]
    );
    let secret = by(json!({ "kind": "Secret", "name": "mine" }));
    assert_eq!(
        identity_users("mine", &pools, &[cluster], &[secret]),
        [""; 0]
    );
}
