//! A pool on the simulated AWS with its Machines, from its coming up to its end.

use std::time::Duration;

use kube::core::Request;
use remuda_controllers::{
    kinds::Kind,
    objects::{Objects, Target},
};
use remuda_sim::aws::DEMO_REGION;
use remuda_testkit::{Demo, Mark, NAMESPACE, POOL, World, condition, holds};
use serde_json::{Value, json};

use crate::herd::{every, machines};

const GROUP: &str = "captf-team-a-demo-pool-0-43c6d828";

/// The DEMO pool with three Machines, all running.
async fn up(demo: Demo) -> World {
    let world = World::new().await;
    world.apply(&demo).await;
    world.start();
    serves(&world, 3).await;
    world
}

/// Waits until the pool has so many Machines, each running on its Node, and says so.
async fn serves(world: &World, count: usize) {
    every(world, &format!("{count} Machines run"), |machines| {
        machines.len() == count
            && machines.values().all(|machine| {
                machine["status"]["phase"] == "Running"
                    && condition(machine, "Ready").is_some_and(|(status, _)| status == "True")
            })
    })
    .await;
    world
        .machine_pool_is_running(u64::try_from(count).unwrap())
        .await;
}

async fn names(world: &World) -> Vec<String> {
    machines(world).await.into_keys().collect()
}

async fn replicas(world: &World, replicas: i32) {
    let patch = json!({ "spec": { "replicas": replicas } });
    world.patch(Kind::MachinePool, POOL, patch).await;
}

async fn infra_machines(world: &World) -> Vec<Value> {
    let kind = Kind::TerraformMachinePoolMachine;
    world.objects.list(kind, NAMESPACE, "").await.unwrap()
}

/// The id of the instance behind a Machine.
fn instance(machine: &Value) -> String {
    let id = machine["spec"]["providerID"].as_str().unwrap();
    id.rsplit('/').next().unwrap().to_owned()
}

/// Machines that were deleted since a mark, by whomever.
fn deleted(world: &World, mark: Mark) -> Vec<String> {
    crate::herd::deleted(world, mark)
}

/// Proves: CAPI-38, CAPI-97, CAPI-111.
#[tokio::test(start_paused = true)]
async fn a_pool_comes_up_with_a_machine_for_every_instance() {
    let world = up(Demo::default().machines()).await;
    let pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    let infra_pool = world.get(Kind::TerraformMachinePool, POOL).await.unwrap();
    let cluster = world.get(Kind::Cluster, "demo").await.unwrap();
    // From the Cluster down: the pool, its infrastructure, every Machine and what it stands for.
    let owner = |object: &Value, kind: &str| {
        let owners = object["metadata"]["ownerReferences"].as_array().unwrap();
        let found = owners.iter().find(|owner| owner["kind"] == kind);
        found.cloned().unwrap_or_default()
    };
    assert_eq!(owner(&pool, "Cluster")["uid"], cluster["metadata"]["uid"]);
    let owned = owner(&infra_pool, "MachinePool");
    assert_eq!(
        (&owned["uid"], &owned["controller"]),
        (&pool["metadata"]["uid"], &json!(true))
    );
    let reference = &pool["spec"]["template"]["spec"]["infrastructureRef"]["name"];
    assert_eq!(*reference, infra_pool["metadata"]["name"]);
    let infra = infra_machines(&world).await;
    let machines = machines(&world).await;
    assert_eq!((infra.len(), machines.len()), (3, 3));
    for infra in &infra {
        let name = infra["metadata"]["name"].as_str().unwrap();
        let labels = &infra["metadata"]["labels"];
        assert_eq!(labels["cluster.x-k8s.io/cluster-name"], "demo");
        assert_eq!(labels["cluster.x-k8s.io/pool-name"], POOL);
        let by_pool = owner(infra, "TerraformMachinePool");
        assert_eq!(by_pool["uid"], infra_pool["metadata"]["uid"]);
        assert_ne!(
            by_pool["controller"],
            json!(true),
            "that place is the Machine's"
        );
        let machine = &machines[name];
        let by_machine = owner(infra, "Machine");
        assert_eq!(
            (&by_machine["uid"], &by_machine["controller"]),
            (&machine["metadata"]["uid"], &json!(true))
        );
        let by_pool = owner(machine, "MachinePool");
        assert_eq!(
            (&by_pool["uid"], &by_pool["controller"]),
            (&pool["metadata"]["uid"], &json!(true))
        );
        assert_eq!(machine["spec"]["infrastructureRef"]["name"], name);
        let says = |object: &Value, kind: &str| condition(object, kind).map(|(status, _)| status);
        assert_eq!(says(infra, "Ready").as_deref(), Some("True"));
        for kind in ["Ready", "InfrastructureReady", "NodeReady", "NodeHealthy"] {
            assert_eq!(
                says(machine, kind).as_deref(),
                Some("True"),
                "{kind} of {name}"
            );
        }
        let (spec, status) = (&machine["spec"], &machine["status"]);
        assert_eq!(spec["providerID"], infra["spec"]["providerID"]);
        assert_eq!(spec["version"], "v1.34.1");
        assert_eq!(status["nodeInfo"]["kubeletVersion"], "v1.34.1");
        assert!(status["nodeRef"]["name"].is_string() && status["addresses"].is_array());
        let zone = status["failureDomain"].as_str().unwrap();
        assert!(zone.starts_with(DEMO_REGION), "{zone}");
    }
    assert!(condition(&infra_pool, "Ready").is_some_and(|(status, _)| status == "True"));
    let counted = &pool["status"];
    for counter in ["replicas", "readyReplicas", "upToDateReplicas"] {
        assert_eq!(counted[counter], 3, "{counter}");
    }
    world
        .object_becomes(
            Kind::Cluster,
            "demo",
            "the Cluster counts its workers",
            |cluster| cluster["status"]["workers"]["readyReplicas"] == 3,
        )
        .await;

    // One instance stops: its Machine says so, and no other.
    let before = machines.clone();
    let (first, machine) = machines.first_key_value().unwrap();
    let states = |machine: &Value| {
        ["InfrastructureReady", "NodeReady", "Ready"].map(|kind| condition(machine, kind))
    };
    assert!(world.aws.world().stop_instance(&instance(machine)));
    world
        .eventually("its Machine is not Ready", || async {
            let machines = crate::herd::machines(&world).await;
            let now = machines.get(first).map(&states);
            holds(now != Some(states(machine)), || format!("{now:?}"))
        })
        .await;
    for (name, machine) in crate::herd::machines(&world).await {
        if name != *first && before.contains_key(&name) {
            assert_eq!(states(&machine), states(&before[&name]), "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_settled_pool_with_machines_is_not_written_to() {
    let world = up(Demo::default().machines()).await;
    // The first drift check comes after half an hour and says that there is none.
    world.pool_says("DriftDetected", "False", "NoDrift").await;
    world.pass(Duration::from_mins(2)).await;
    world.stays_quiet(Duration::from_mins(30)).await;
}

/// Proves: CAPI-42, CAPI-98.
#[tokio::test(start_paused = true)]
async fn one_deleted_machine_is_replaced_and_no_other_is_touched() {
    let world = up(Demo::default().machines()).await;
    let before = machines(&world).await;
    let (victim, machine) = before.first_key_value().unwrap();
    let gone = instance(machine);
    world.delete(Kind::Machine, victim).await;
    world.is_gone(Kind::Machine, victim).await;
    serves(&world, 3).await;
    let after = machines(&world).await;
    let stayed = after.keys().filter(|name| before.contains_key(*name));
    assert_eq!(stayed.count(), 2, "{:?}", after.keys());
    let instances = world.aws.world().live_instances(GROUP);
    assert_eq!(instances.len(), 3);
    assert!(instances.iter().all(|instance| instance.id != gone));
    let ended: Vec<_> = ending_calls(&world);
    assert!(
        !ended.is_empty() && ended.iter().all(|id| *id == gone),
        "{ended:?}"
    );
    let sizes = world.aws.journal().calls();
    for call in sizes.iter().filter(|call| !call.from_instance) {
        if let Some(desired) = call.params.get("DesiredCapacity") {
            assert_eq!(desired, "3", "{}", call.action);
        }
    }
}

/// Instances that calls of ours named for their end, in order.
fn ending_calls(world: &World) -> Vec<String> {
    let calls = world.aws.journal().calls();
    calls
        .iter()
        .filter(|call| !call.from_instance && call.action.starts_with("TerminateInstance"))
        .flat_map(|call| {
            let ids = call.params.iter();
            ids.filter(|(key, _)| key.starts_with("InstanceId"))
                .map(|(_, id)| id.clone())
                .collect::<Vec<_>>()
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_pool_is_scaled_in_and_out_by_its_machines() {
    let world = up(Demo::default().machines()).await;
    let before = names(&world).await;
    let mark = world.mark();
    replicas(&world, 2).await;
    serves(&world, 2).await;
    assert_eq!(deleted(&world, mark).len(), 1);
    let two = names(&world).await;
    assert!(two.iter().all(|name| before.contains(name)));
    replicas(&world, 3).await;
    serves(&world, 3).await;
    let three = names(&world).await;
    assert!(two.iter().all(|name| three.contains(name)));
    assert_eq!(infra_machines(&world).await.len(), 3);
}

/// The scale subresource of the pool, as an autoscaler reads it.
async fn scale(world: &World) -> Value {
    let resource = Kind::MachinePool.resource();
    let path = format!(
        "/apis/{}/namespaces/{NAMESPACE}/{}",
        resource.api_version, resource.plural
    );
    let request = Request::new(path).get_subresource("scale", POOL).unwrap();
    world.objects.client().request(request).await.unwrap()
}

/// The Cluster Autoscaler's clusterapi provider, step by step (cluster-api document 4.9).
/// Proves: CAPI-43, CAPI-57.
#[tokio::test(start_paused = true)]
async fn the_cluster_autoscalers_protocol_takes_exactly_the_named_machine() {
    let world = up(Demo::default().machines()).await;
    // It looks at the size and at the members, and picks a Node.
    let size = scale(&world).await;
    assert_eq!(
        (&size["spec"]["replicas"], &size["status"]["replicas"]),
        (&json!(3), &json!(3))
    );
    let pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    let listed = pool["spec"]["providerIDList"].as_array().unwrap().clone();
    let nodes = world.workload().list(Kind::Node, "", "").await.unwrap();
    let tail = |id: &Value| id.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let node = nodes
        .iter()
        .find(|node| tail(&node["spec"]["providerID"]) == tail(&listed[1]))
        .unwrap();
    // It finds the Machine of that Node, marks it, and lowers the size by one.
    let all = machines(&world).await;
    let (name, _) = all
        .iter()
        .find(|(_, machine)| machine["spec"]["providerID"] == node["spec"]["providerID"])
        .unwrap();
    let mark = world.mark();
    let stamp = world.now().to_string();
    let annotation = json!({ "cluster.x-k8s.io/delete-machine": stamp });
    let patch = json!({ "metadata": { "annotations": annotation } });
    world.patch(Kind::Machine, name, patch).await;
    let spec_before = world.get(Kind::MachinePool, POOL).await.unwrap()["spec"].clone();
    let lower = json!({ "spec": { "replicas": 2 } });
    world
        .patch_in(Kind::MachinePool, NAMESPACE, POOL, Some("scale"), lower)
        .await;
    let mut spec_after = world.get(Kind::MachinePool, POOL).await.unwrap()["spec"].clone();
    assert_eq!(spec_after["replicas"], 2);
    spec_after["replicas"] = json!(3);
    assert_eq!(spec_after, spec_before, "no other field");

    world.is_gone(Kind::Machine, name).await;
    serves(&world, 2).await;
    world.pass(Duration::from_mins(10)).await;
    let gone = deleted(&world, mark);
    assert!(
        !gone.is_empty() && gone.iter().all(|machine| machine == name),
        "{gone:?}"
    );
    let size = scale(&world).await;
    assert_eq!(
        (&size["spec"]["replicas"], &size["status"]["replicas"]),
        (&json!(2), &json!(2))
    );
    let pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    let left = pool["spec"]["providerIDList"].as_array().unwrap();
    assert!(left.len() == 2 && !left.contains(&listed[1]), "{left:?}");
    let nodes = world.workload().list(Kind::Node, "", "").await.unwrap();
    assert_eq!(nodes.len(), 2);

    // And up again.
    let raise = json!({ "spec": { "replicas": 3 } });
    world
        .patch_in(Kind::MachinePool, NAMESPACE, POOL, Some("scale"), raise)
        .await;
    serves(&world, 3).await;
}

/// A condition of a Node that no kubelet here reports, as a problem detector would set it.
async fn deadlock(world: &World, node: &str, status: &str) {
    let live = world
        .workload()
        .get(Kind::Node, "", node)
        .await
        .unwrap()
        .unwrap();
    let mut conditions = live["status"]["conditions"].as_array().unwrap().clone();
    conditions.retain(|condition| condition["type"] != "KernelDeadlock");
    let now = world.now().to_string();
    conditions.push(json!({
        "type": "KernelDeadlock", "status": status, "reason": "Detected", "message": "",
        "lastTransitionTime": now, "lastHeartbeatTime": now,
    }));
    let resource = Kind::Node.resource();
    let target = Target {
        resource: &resource,
        namespace: None,
        name: node,
        subresource: Some("status"),
    };
    let patch = json!({ "status": { "conditions": conditions } });
    world
        .workload()
        .merge_patch(&target, &patch, "detector")
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_health_check_has_a_broken_machine_drained_and_replaced() {
    let world = up(Demo::default().machines()).await;
    let check = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": { "name": "demo-check", "namespace": NAMESPACE },
        "spec": {
            "clusterName": "demo",
            "selector": { "matchLabels": { "cluster.x-k8s.io/pool-name": POOL } },
            "checks": { "unhealthyNodeConditions": [
                { "type": "KernelDeadlock", "status": "True", "timeoutSeconds": 120 },
            ] },
            "remediation": { "triggerIf": { "unhealthyLessThanOrEqualTo": "40%" } },
        },
    });
    world.create(&check).await;
    every(&world, "all are healthy", |machines| {
        machines.values().all(|machine| {
            condition(machine, "HealthCheckSucceeded").is_some_and(|(status, _)| status == "True")
        })
    })
    .await;
    let before = machines(&world).await;
    let (broken, machine) = before.last_key_value().unwrap();
    let node = machine["status"]["nodeRef"]["name"].as_str().unwrap();
    let mark = world.mark();
    deadlock(&world, node, "True").await;
    world.is_gone(Kind::Machine, broken).await;
    serves(&world, 3).await;
    let gone = deleted(&world, mark);
    assert!(
        !gone.is_empty() && gone.iter().all(|machine| machine == broken),
        "{gone:?}"
    );
    let pool = world.get(Kind::MachinePool, POOL).await.unwrap();
    let history = pool["metadata"]["annotations"]["remuda.dev/remediation-history"].as_str();
    assert!(history.unwrap().contains(broken), "{history:?}");
    let nodes = world.workload().list(Kind::Node, "", "").await.unwrap();
    assert!(
        nodes.iter().all(|it| it["metadata"]["name"] != node),
        "its Node is gone"
    );
}

/// Proves: CAPI-50.
#[tokio::test(start_paused = true)]
async fn a_deleted_pool_takes_its_machines_along_in_order() {
    let world = up(Demo::default().machines()).await;
    let mark = world.mark();
    world.delete(Kind::MachinePool, POOL).await;
    world.is_gone(Kind::MachinePool, POOL).await;
    assert!(machines(&world).await.is_empty() && infra_machines(&world).await.is_empty());
    assert!(world.get(Kind::TerraformMachinePool, POOL).await.is_none());
    assert!(world.aws.world().live_instances(GROUP).is_empty());
    assert!(world.aws.world().group(GROUP).is_none());
    let nodes = world.workload().list(Kind::Node, "", "").await.unwrap();
    assert!(nodes.is_empty(), "{nodes:?}");
    // Every Machine was deleted as such, the infrastructure let go before the pool.
    let mut gone = deleted(&world, mark);
    gone.sort();
    gone.dedup();
    assert_eq!(gone.len(), 3, "{gone:?}");
}

/// Proves: CAPI-34.
#[tokio::test(start_paused = true)]
async fn ready_replicas_follow_a_machine_at_once() {
    let world = up(Demo::default().machines()).await;
    let all = machines(&world).await;
    let (name, _) = all.first_key_value().unwrap();
    // A gate of the Machine alone: no Node and no instance changes with it.
    let gates = json!([{ "conditionType": "Fit" }]);
    let patch = json!({ "spec": { "template": { "spec": { "readinessGates": gates } } } });
    world.patch(Kind::MachinePool, POOL, patch).await;
    let ready = async |count: u64| {
        world
            .object_becomes(
                Kind::MachinePool,
                POOL,
                &format!("{count} are ready"),
                |pool| pool["status"]["readyReplicas"] == count,
            )
            .await;
    };
    ready(0).await;
    let since = world.now();
    let live = world.get(Kind::Machine, name).await.unwrap();
    let mut conditions = live["status"]["conditions"].as_array().unwrap().clone();
    conditions.push(json!({
        "type": "Fit", "status": "True", "reason": "Fit", "message": "",
        "lastTransitionTime": since.to_string(),
    }));
    world
        .patch_status(Kind::Machine, name, json!({ "conditions": conditions }))
        .await;
    ready(1).await;
    let took = world.now().duration_since(since);
    assert!(took.as_secs() <= 30, "it took {took}");
}
