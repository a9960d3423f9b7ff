//! Machines are made of what the provider shows, and kept true.

use std::time::Duration;

use remuda_controllers::kinds::Kind;
use remuda_testkit::{NAMESPACE, POOL, World, condition, holds};
use serde_json::{Value, json};

use crate::herd::{
    CLUSTER_NAME, GROUP, POOL_NAME, deleted, every, herd, infra_machines, infra_pools, machines,
    machines_are, name, publish_kind, show, three, world,
};

/// Proves: CAPI-37.
#[tokio::test(start_paused = true)]
async fn without_a_published_kind_no_machine_is_made() {
    let world = world(herd()).await;
    for number in 1..=3 {
        show(&world, POOL, number).await;
    }
    let status = json!({ "initialization": { "provisioned": true }, "replicas": 3 });
    world.report_of(&infra_pools(), "theirs", status).await;
    world.start();
    world
        .object_becomes(Kind::MachinePool, POOL, "the members are listed", |pool| {
            pool["spec"]["providerIDList"].as_array().map(Vec::len) == Some(3)
        })
        .await;
    world.pass(Duration::from_mins(15)).await;
    assert!(machines(&world).await.is_empty());
    publish_kind(&world).await;
    machines_are(&world, 3).await;
}

#[tokio::test(start_paused = true)]
async fn every_member_has_a_machine_that_the_pool_controls() {
    let world = three(herd()).await;
    let pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    for (number, (name, machine)) in (1..).zip(machines(&world).await) {
        assert_eq!(name, format!("{POOL}-{number}"));
        let owner = &machine["metadata"]["ownerReferences"][0];
        assert_eq!(owner["uid"], pool["metadata"]["uid"]);
        assert_eq!(
            (&owner["kind"], &owner["controller"]),
            (&json!("MachinePool"), &json!(true))
        );
        let reference = json!({ "apiGroup": GROUP, "kind": "HerdMachine", "name": name });
        assert_eq!(machine["spec"]["infrastructureRef"], reference);
        assert_eq!(
            machine["spec"]["bootstrap"],
            json!({ "dataSecretName": "" })
        );
        let labels = &machine["metadata"]["labels"];
        assert_eq!(
            (&labels[CLUSTER_NAME], &labels[POOL_NAME]),
            (&json!("demo"), &json!(POOL))
        );
    }
    world.pass(Duration::from_mins(5)).await;
    world.stays_quiet(Duration::from_mins(30)).await;
}

/// Proves: CAPI-11.
#[tokio::test(start_paused = true)]
async fn a_long_pool_name_is_hashed_in_labels_and_found_again() {
    let long = "p".repeat(80);
    let world = world(herd().edit("MachinePool", POOL, |pool| {
        pool["metadata"]["name"] = json!(long);
    }))
    .await;
    // FNV-1a of the name, computed apart from the code under test.
    let hash = long.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(16_777_619)
    });
    let bits = u64::from(hash) << 4;
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let text: String = (0..6)
        .rev()
        .map(|place| char::from(digits[usize::try_from(bits >> (6 * place) & 63).unwrap()]))
        .collect();
    let label = format!("hash_{text}_z");
    show(&world, &label, 1).await;
    publish_kind(&world).await;
    world.start();
    every(
        &world,
        "the member's Machine carries the hash",
        |machines| {
            machines
                .get(&name(1))
                .is_some_and(|machine| machine["metadata"]["labels"][POOL_NAME] == label)
        },
    )
    .await;
    // The pool finds its Machine again: a change of the template reaches it.
    let patch = json!({ "spec": { "template": { "metadata": { "labels": { "tier": "web" } } } } });
    world.patch(Kind::MachinePool, &long, patch).await;
    every(&world, "the label is there", |machines| {
        machines[&name(1)]["metadata"]["labels"]["tier"] == "web"
    })
    .await;
}

/// Proves: CAPI-39.
#[tokio::test(start_paused = true)]
async fn labels_come_and_go_with_the_template_and_a_persons_stay() {
    let world = three(herd()).await;
    let label = |value: Value| json!({ "spec": { "template": { "metadata": { "labels": { "tier": value } } } } });
    world
        .patch(Kind::MachinePool, POOL, label(json!("web")))
        .await;
    every(&world, "the label is on every Machine", |machines| {
        machines
            .values()
            .all(|machine| machine["metadata"]["labels"]["tier"] == "web")
    })
    .await;
    let mine = json!({ "metadata": { "labels": { "mine": "stays" } } });
    world.patch(Kind::Machine, &name(2), mine).await;
    world
        .patch(Kind::MachinePool, POOL, label(Value::Null))
        .await;
    every(&world, "the label is on no Machine", |machines| {
        machines
            .values()
            .all(|machine| machine["metadata"]["labels"].get("tier").is_none())
    })
    .await;
    let machine = world.get(Kind::Machine, &name(2)).await.unwrap();
    assert_eq!(machine["metadata"]["labels"]["mine"], "stays");
}

/// Proves: CAPI-40.
#[tokio::test(start_paused = true)]
async fn timeouts_gates_and_taints_reach_the_machines_in_place() {
    let world = three(herd()).await;
    let before = machines(&world).await;
    let template = json!({
        "deletion": { "nodeDrainTimeoutSeconds": 77 },
        "minReadySeconds": 9,
        "readinessGates": [{ "conditionType": "Fit" }],
        "taints": [{ "key": "team/a", "effect": "NoSchedule", "propagation": "Always" }],
    });
    let patch = json!({ "spec": { "template": { "spec": template } } });
    world.patch(Kind::MachinePool, POOL, patch).await;
    every(&world, "every Machine carries them", |machines| {
        machines.values().all(|machine| {
            let spec = &machine["spec"];
            spec["deletion"]["nodeDrainTimeoutSeconds"] == 77
                && spec["minReadySeconds"] == 9
                && spec["readinessGates"][0]["conditionType"] == "Fit"
                && spec["taints"][0]["key"] == "team/a"
        })
    })
    .await;
    for (name, machine) in machines(&world).await {
        assert_eq!(machine["metadata"]["uid"], before[&name]["metadata"]["uid"]);
    }
}

/// Proves: CAPI-41.
#[tokio::test(start_paused = true)]
async fn a_machine_of_somebody_else_is_left_and_reported() {
    let world = world(herd()).await;
    let spec = json!({
        "clusterName": "demo",
        "bootstrap": { "dataSecretName": "theirs" },
        "infrastructureRef": { "apiGroup": GROUP, "kind": "HerdMachine", "name": "other" },
    });
    world
        .create_of(
            &Kind::Machine.resource(),
            &name(2),
            json!({ "mine": "1" }),
            spec.clone(),
        )
        .await;
    for number in 1..=3 {
        show(&world, POOL, number).await;
    }
    publish_kind(&world).await;
    world.start();
    world
        .object_becomes(Kind::MachinePool, POOL, "the conflict is named", |pool| {
            let conditions = pool["status"]["conditions"].as_array().cloned();
            conditions.unwrap_or_default().iter().any(|one| {
                one["type"] == "MachinesReady"
                    && one["status"] == "False"
                    && one["message"]
                        .as_str()
                        .unwrap_or_default()
                        .contains(&name(2))
            })
        })
        .await;
    machines_are(&world, 3).await;
    world.pass(Duration::from_mins(15)).await;
    let theirs = world.get(Kind::Machine, &name(2)).await.unwrap();
    assert_eq!(theirs["spec"], spec);
    assert!(theirs["metadata"]["labels"].get(POOL_NAME).is_none());
    let managers = theirs["metadata"]["managedFields"].as_array().unwrap();
    assert!(
        managers
            .iter()
            .all(|entry| entry["manager"] != "machinepool-controller")
    );
    let ours = world.get(Kind::Machine, &name(3)).await.unwrap();
    assert_eq!(ours["metadata"]["labels"][POOL_NAME], POOL);
}

/// What a health check writes on a Machine.
async fn mark_unhealthy(world: &World, machine: &str) {
    let live = world.get(Kind::Machine, machine).await.unwrap();
    let mut conditions = live["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    for (kind, reason) in [
        ("HealthCheckSucceeded", "UnhealthyNode"),
        ("OwnerRemediated", "WaitingForRemediation"),
    ] {
        conditions.push(json!({
            "type": kind, "status": "False", "reason": reason, "message": "a test says so",
            "lastTransitionTime": world.now().to_string(),
        }));
    }
    let status = json!({ "conditions": conditions });
    world.patch_status(Kind::Machine, machine, status).await;
}

/// Proves: CAPI-54.
#[tokio::test(start_paused = true)]
async fn unhealthy_machines_are_deleted_one_at_a_time() {
    let world = three(herd()).await;
    // Something keeps Machines for as long as the test wants.
    for number in 1..=3 {
        let machine = world.get(Kind::Machine, &name(number)).await.unwrap();
        let mut finalizers = machine["metadata"]["finalizers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        finalizers.push(json!("example.com/hold"));
        let hold = json!({ "metadata": { "finalizers": finalizers } });
        world.patch(Kind::Machine, &name(number), hold).await;
    }
    let mark = world.mark();
    mark_unhealthy(&world, &name(1)).await;
    mark_unhealthy(&world, &name(3)).await;
    world
        .object_becomes(Kind::MachinePool, POOL, "it remediates", |pool| {
            condition(pool, "Remediating") == Some(("True".to_owned(), "Remediating".to_owned()))
        })
        .await;
    world.pass(Duration::from_mins(15)).await;
    let first = deleted(&world, mark);
    assert_eq!(first.len(), 1, "{first:?}");
    let deferred = if first[0] == name(1) {
        name(3)
    } else {
        name(1)
    };
    let waiting = world.get(Kind::Machine, &deferred).await.unwrap();
    let (status, reason) = condition(&waiting, "OwnerRemediated").unwrap();
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "RemediationDeferred")
    );

    release(&world, &first[0]).await;
    world
        .eventually("the second follows", || async {
            let deleted = deleted(&world, mark);
            holds(deleted.contains(&deferred), || format!("{deleted:?}"))
        })
        .await;
    release(&world, &deferred).await;
    world.is_gone(Kind::Machine, &deferred).await;
    let all = deleted(&world, mark);
    assert_eq!(all.len(), 2, "each once: {all:?}");
    let pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    let history = pool["metadata"]["annotations"]["remuda.dev/remediation-history"].as_str();
    let lines: Vec<&str> = history.unwrap().lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].contains(&first[0]) && lines[0].contains("UnhealthyNode"),
        "{lines:?}"
    );
    let events = world.event_reasons(POOL).await;
    let told = events
        .iter()
        .filter(|reason| *reason == "MachineRemediation");
    assert_eq!(told.count(), 2, "{events:?}");
}

/// The instance is gone, and so is what kept the Machine.
async fn release(world: &World, machine: &str) {
    let infra = infra_machines();
    let gone = world
        .objects
        .delete(&infra, Some(NAMESPACE), machine, None)
        .await;
    gone.unwrap();
    let live = world.get(Kind::Machine, machine).await.unwrap();
    let finalizers = live["metadata"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let kept: Vec<&Value> = finalizers
        .iter()
        .filter(|name| *name != "example.com/hold")
        .collect();
    let patch = json!({ "metadata": { "finalizers": kept } });
    world.patch(Kind::Machine, machine, patch).await;
}
