//! A pool on a simulated cloud with its Machines, from its coming up to its end.

use std::time::Duration;

use kube::core::Request;
use remuda_controllers::{
    kinds::Kind,
    objects::{Objects, Target},
};
use remuda_testkit::{Cloud, Mark, NAMESPACE, World, condition, holds};
use serde_json::{Value, json};

use crate::herd::{every, machines};

/// The DEMO pool with three Machines, all running.
async fn up(cloud: Cloud) -> World {
    let world = World::new().await;
    world.apply(&cloud.demo()).await;
    world.start();
    serves(cloud, &world, 3).await;
    world
}

/// Waits until the pool has so many Machines, each running on its Node, and says so.
async fn serves(cloud: Cloud, world: &World, count: usize) {
    every(world, &format!("{count} Machines run"), |machines| {
        machines.len() == count
            && machines.values().all(|machine| {
                machine["status"]["phase"] == "Running"
                    && condition(machine, "Ready").is_some_and(|(status, _)| status == "True")
            })
    })
    .await;
    world
        .is_running(cloud.pool(), u64::try_from(count).unwrap())
        .await;
}

async fn names(world: &World) -> Vec<String> {
    machines(world).await.into_keys().collect()
}

async fn infra_machines(world: &World) -> Vec<Value> {
    let kind = Kind::TerraformMachinePoolMachine;
    world.objects.list(kind, NAMESPACE, "").await.unwrap()
}

/// Machines that were deleted since a mark, by whomever.
fn deleted(world: &World, mark: Mark) -> Vec<String> {
    crate::herd::deleted(world, mark)
}

/// Proves: CAPI-38, CAPI-97, CAPI-111.
#[tokio::test(start_paused = true)]
async fn a_pool_comes_up_with_a_machine_for_every_instance() {
    for cloud in Cloud::BOTH {
        a_pool_comes_up_with_a_machine_for_every_instance_on(cloud).await;
    }
}

async fn a_pool_comes_up_with_a_machine_for_every_instance_on(cloud: Cloud) {
    let world = up(cloud).await;
    let pool = world.get(Kind::MachinePool, cloud.pool()).await.unwrap();
    let infra_pool = world
        .get(Kind::TerraformMachinePool, cloud.pool())
        .await
        .unwrap();
    let cluster = world.get(Kind::Cluster, cloud.cluster()).await.unwrap();
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
        assert_eq!(labels["cluster.x-k8s.io/cluster-name"], cloud.cluster());
        assert_eq!(labels["cluster.x-k8s.io/pool-name"], cloud.pool());
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
        assert!(status["failureDomain"].is_string(), "{status:#}");
    }
    assert!(condition(&infra_pool, "Ready").is_some_and(|(status, _)| status == "True"));
    let counted = &pool["status"];
    for counter in ["replicas", "readyReplicas", "upToDateReplicas"] {
        assert_eq!(counted[counter], 3, "{counter}");
    }
    world
        .object_becomes(
            Kind::Cluster,
            cloud.cluster(),
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
    cloud.stop(&world, machine);
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
    for cloud in Cloud::BOTH {
        a_settled_pool_with_machines_is_not_written_to_on(cloud).await;
    }
}

async fn a_settled_pool_with_machines_is_not_written_to_on(cloud: Cloud) {
    let world = up(cloud).await;
    // The first drift check comes after half an hour and says that there is none.
    world
        .says(cloud.pool(), "DriftDetected", "False", "NoDrift")
        .await;
    world.pass(Duration::from_mins(2)).await;
    world.stays_quiet(Duration::from_mins(30)).await;
}

/// Proves: CAPI-42, CAPI-98.
#[tokio::test(start_paused = true)]
async fn one_deleted_machine_is_replaced_and_no_other_is_touched() {
    for cloud in Cloud::BOTH {
        one_deleted_machine_is_replaced_and_no_other_is_touched_on(cloud).await;
    }
}

async fn one_deleted_machine_is_replaced_and_no_other_is_touched_on(cloud: Cloud) {
    let world = up(cloud).await;
    let before = machines(&world).await;
    let (victim, machine) = before.first_key_value().unwrap();
    let gone = cloud.instance(machine);
    world.delete(Kind::Machine, victim).await;
    world.is_gone(Kind::Machine, victim).await;
    serves(cloud, &world, 3).await;
    let after = machines(&world).await;
    let stayed = after.keys().filter(|name| before.contains_key(*name));
    assert_eq!(stayed.count(), 2, "{:?}", after.keys());
    let instances = cloud.existing(&world);
    assert!(instances.len() == 3 && !instances.contains(&gone));
    assert_eq!(cloud.ended(&world), [gone]);
    let sizes = world.aws.journal().calls();
    for call in sizes.iter().filter(|call| !call.from_instance) {
        if let Some(desired) = call.params.get("DesiredCapacity") {
            assert_eq!(desired, "3", "{}", call.action);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_pool_is_scaled_in_and_out_by_its_machines() {
    for cloud in Cloud::BOTH {
        a_pool_is_scaled_in_and_out_by_its_machines_on(cloud).await;
    }
}

async fn a_pool_is_scaled_in_and_out_by_its_machines_on(cloud: Cloud) {
    let world = up(cloud).await;
    let before = names(&world).await;
    let mark = world.mark();
    cloud.replicas(&world, 2).await;
    serves(cloud, &world, 2).await;
    assert_eq!(deleted(&world, mark).len(), 1);
    let two = names(&world).await;
    assert!(two.iter().all(|name| before.contains(name)));
    cloud.replicas(&world, 3).await;
    serves(cloud, &world, 3).await;
    let three = names(&world).await;
    assert!(two.iter().all(|name| three.contains(name)));
    assert_eq!(infra_machines(&world).await.len(), 3);
}

/// The scale subresource of the pool, as an autoscaler reads it.
async fn scale(cloud: Cloud, world: &World) -> Value {
    let resource = Kind::MachinePool.resource();
    let path = format!(
        "/apis/{}/namespaces/{NAMESPACE}/{}",
        resource.api_version, resource.plural
    );
    let request = Request::new(path)
        .get_subresource("scale", cloud.pool())
        .unwrap();
    world.objects.client().request(request).await.unwrap()
}

/// The Cluster Autoscaler's clusterapi provider, step by step (cluster-api document 4.9).
/// Proves: CAPI-43, CAPI-57.
#[tokio::test(start_paused = true)]
async fn the_cluster_autoscalers_protocol_takes_exactly_the_named_machine() {
    for cloud in Cloud::BOTH {
        the_cluster_autoscalers_protocol_takes_exactly_the_named_machine_on(cloud).await;
    }
}

async fn the_cluster_autoscalers_protocol_takes_exactly_the_named_machine_on(cloud: Cloud) {
    let world = up(cloud).await;
    // It looks at the size and at the members, and picks a Node.
    let size = scale(cloud, &world).await;
    assert_eq!(
        (&size["spec"]["replicas"], &size["status"]["replicas"]),
        (&json!(3), &json!(3))
    );
    let pool = world.get(Kind::MachinePool, cloud.pool()).await.unwrap();
    let listed = pool["spec"]["providerIDList"].as_array().unwrap().clone();
    let nodes = cloud.nodes(&world).await;
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
    let spec_before = world.get(Kind::MachinePool, cloud.pool()).await.unwrap()["spec"].clone();
    let lower = json!({ "spec": { "replicas": 2 } });
    world
        .patch_in(
            Kind::MachinePool,
            NAMESPACE,
            cloud.pool(),
            Some("scale"),
            lower,
        )
        .await;
    let mut spec_after = world.get(Kind::MachinePool, cloud.pool()).await.unwrap()["spec"].clone();
    assert_eq!(spec_after["replicas"], 2);
    spec_after["replicas"] = json!(3);
    assert_eq!(spec_after, spec_before, "no other field");

    world.is_gone(Kind::Machine, name).await;
    serves(cloud, &world, 2).await;
    world.pass(Duration::from_mins(10)).await;
    let gone = deleted(&world, mark);
    assert!(
        !gone.is_empty() && gone.iter().all(|machine| machine == name),
        "{gone:?}"
    );
    let size = scale(cloud, &world).await;
    assert_eq!(
        (&size["spec"]["replicas"], &size["status"]["replicas"]),
        (&json!(2), &json!(2))
    );
    let pool = world.get(Kind::MachinePool, cloud.pool()).await.unwrap();
    let left = pool["spec"]["providerIDList"].as_array().unwrap();
    assert!(left.len() == 2 && !left.contains(&listed[1]), "{left:?}");
    let nodes = cloud.nodes(&world).await;
    assert_eq!(nodes.len(), 2);

    // And up again.
    let raise = json!({ "spec": { "replicas": 3 } });
    world
        .patch_in(
            Kind::MachinePool,
            NAMESPACE,
            cloud.pool(),
            Some("scale"),
            raise,
        )
        .await;
    serves(cloud, &world, 3).await;
}

/// A condition of a Node that no kubelet here reports, as a problem detector would set it.
async fn deadlock(cloud: Cloud, world: &World, node: &str, status: &str) {
    let live = cloud
        .workload(world)
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
    cloud
        .workload(world)
        .merge_patch(&target, &patch, "detector")
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_health_check_has_a_broken_machine_drained_and_replaced() {
    for cloud in Cloud::BOTH {
        a_health_check_has_a_broken_machine_drained_and_replaced_on(cloud).await;
    }
}

async fn a_health_check_has_a_broken_machine_drained_and_replaced_on(cloud: Cloud) {
    let world = up(cloud).await;
    let check = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": { "name": "demo-check", "namespace": NAMESPACE },
        "spec": {
            "clusterName": cloud.cluster(),
            "selector": { "matchLabels": { "cluster.x-k8s.io/pool-name": cloud.pool() } },
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
    deadlock(cloud, &world, node, "True").await;
    world.is_gone(Kind::Machine, broken).await;
    serves(cloud, &world, 3).await;
    let gone = deleted(&world, mark);
    assert!(
        !gone.is_empty() && gone.iter().all(|machine| machine == broken),
        "{gone:?}"
    );
    let pool = world.get(Kind::MachinePool, cloud.pool()).await.unwrap();
    let history = pool["metadata"]["annotations"]["remuda.dev/remediation-history"].as_str();
    assert!(history.unwrap().contains(broken), "{history:?}");
    let nodes = cloud.nodes(&world).await;
    assert!(
        nodes.iter().all(|it| it["metadata"]["name"] != node),
        "its Node is gone"
    );
}

/// Proves: CAPI-50.
#[tokio::test(start_paused = true)]
async fn a_deleted_pool_takes_its_machines_along_in_order() {
    for cloud in Cloud::BOTH {
        a_deleted_pool_takes_its_machines_along_in_order_on(cloud).await;
    }
}

async fn a_deleted_pool_takes_its_machines_along_in_order_on(cloud: Cloud) {
    let world = up(cloud).await;
    let mark = world.mark();
    world.delete(Kind::MachinePool, cloud.pool()).await;
    world.is_gone(Kind::MachinePool, cloud.pool()).await;
    assert!(machines(&world).await.is_empty() && infra_machines(&world).await.is_empty());
    assert!(
        world
            .get(Kind::TerraformMachinePool, cloud.pool())
            .await
            .is_none()
    );
    assert!(cloud.existing(&world).is_empty());
    assert!(world.aws.world().groups().is_empty());
    assert!(world.azure.world().scale_sets().is_empty());
    let nodes = cloud.nodes(&world).await;
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
    for cloud in Cloud::BOTH {
        ready_replicas_follow_a_machine_at_once_on(cloud).await;
    }
}

async fn ready_replicas_follow_a_machine_at_once_on(cloud: Cloud) {
    let world = up(cloud).await;
    let all = machines(&world).await;
    let (name, _) = all.first_key_value().unwrap();
    // A gate of the Machine alone: no Node and no instance changes with it.
    let gates = json!([{ "conditionType": "Fit" }]);
    let patch = json!({ "spec": { "template": { "spec": { "readinessGates": gates } } } });
    world.patch(Kind::MachinePool, cloud.pool(), patch).await;
    let ready = async |count: u64| {
        world
            .object_becomes(
                Kind::MachinePool,
                cloud.pool(),
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
