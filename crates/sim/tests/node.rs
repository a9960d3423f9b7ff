//! Simulated nodes: bootstrap over the wire, registration, readiness, the end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use remuda_sim::{
    Effect, Fault,
    aws::{DEMO_ACCOUNT, DEMO_BUCKET, DEMO_WORKER_PROFILE},
    kubelet::NodeOptions,
};
use support::{
    demo,
    workload::{Workload, group_with_stub, ready, stub, upload},
};

#[tokio::test(start_paused = true)]
async fn a_node_joins_with_its_labels_and_becomes_ready() {
    let (client, api) = (demo(), Workload::default());
    client.sim.run_nodes(Arc::new(api.clone()));
    upload(
        &client,
        "pool/demo-pool-0",
        b"#cloud-config\nruncmd: [echo hello]\n",
    )
    .await;
    group_with_stub(&client, "3", &stub()).await;
    client.pass(32).await;
    let name = "ip-10-0-1-11.ec2.internal";
    let early = api.node(name).expect("it registered");
    assert_eq!(ready(&early), "False");
    assert_eq!(
        early["spec"]["taints"][0]["key"],
        "node.cloudprovider.kubernetes.io/uninitialized"
    );
    client.pass(30).await;
    assert_eq!(api.ready(), 3);
    let node = api.node(name).unwrap();
    let instance = client
        .sim
        .world()
        .live_instances("pool")
        .into_iter()
        .find(|instance| instance.private_dns == name)
        .unwrap();
    assert_eq!(node["spec"]["providerID"], instance.provider_id);
    assert!(node["spec"]["taints"].is_null());
    assert_eq!(node["status"]["nodeInfo"]["kubeletVersion"], "v1.34.1");
    assert_eq!(node["status"]["nodeInfo"]["architecture"], "amd64");
    let labels = &node["metadata"]["labels"];
    assert_eq!(labels["team"], "platform");
    assert_eq!(labels["tier"], "");
    assert_eq!(labels["topology.kubernetes.io/zone"], "us-east-1a");
    assert_eq!(labels["topology.kubernetes.io/region"], "us-east-1");
    assert_eq!(labels["node.kubernetes.io/instance-type"], "m6i.large");
    assert_eq!(labels["kubernetes.io/hostname"], name);
    let fetches = client.sim.journal().instance_calls();
    assert_eq!(fetches.len(), 3);
    assert!(fetches.iter().all(|call| call.name() == "s3:GetObject"));
    assert!(client.sim.world().boot_failures().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_node_of_an_instance_that_is_gone_is_deleted() {
    let (client, api) = (demo(), Workload::default());
    client.sim.run_nodes(Arc::new(api.clone()));
    upload(&client, "pool/demo-pool-0", b"#cloud-config\n").await;
    group_with_stub(&client, "2", &stub()).await;
    client.pass(60).await;
    assert_eq!(api.ready(), 2);
    let victim = client.sim.world().live_instances("pool")[0].clone();
    client.sim.world().terminate_instance(&victim.id);
    client.pass(100).await;
    assert_eq!(api.ready(), 2, "its replacement joined");
    assert!(!api.names().contains(&victim.private_dns));
    let stopped = client.sim.world().live_instances("pool")[0].clone();
    let hold = [
        ("AutoScalingGroupName", "pool"),
        ("ScalingProcesses.member.1", "ReplaceUnhealthy"),
    ];
    client.asg("SuspendProcesses", &hold).await.ok();
    client.sim.world().stop_instance(&stopped.id);
    client.pass(10).await;
    assert_eq!(ready(&api.node(&stopped.private_dns).unwrap()), "Unknown");
    client.pass(30).await;
    client.sim.world().start_instance(&stopped.id);
    client.pass(60).await;
    assert_eq!(ready(&api.node(&stopped.private_dns).unwrap()), "True");
}

#[tokio::test(start_paused = true)]
async fn nodes_wait_for_the_api_and_for_their_payload() {
    let (client, api) = (demo(), Workload::default());
    client.sim.run_nodes(Arc::new(api.clone()));
    api.down.store(true, Ordering::SeqCst);
    group_with_stub(&client, "1", &stub()).await;
    client.pass(60).await;
    let failures = client.sim.world().boot_failures();
    assert!(failures[0].reason.contains("404 NoSuchKey"), "{failures:?}");
    upload(&client, "pool/demo-pool-0", b"#cloud-config\n").await;
    client.pass(20).await;
    let failures = client.sim.world().boot_failures();
    assert!(
        failures[0].reason.contains("no API of the cluster"),
        "{failures:?}"
    );
    api.down.store(false, Ordering::SeqCst);
    client.pass(30).await;
    assert_eq!(api.ready(), 1);
    assert!(client.sim.world().boot_failures().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_boot_runs_without_a_node_and_says_why() {
    let ignition = format!(
        "{{\"ignition\":{{\"version\":\"3.0.0\",\"config\":{{\"replace\":{{\"source\":\
         \"s3://{DEMO_BUCKET}/pool/demo-pool-0\"}}}}}}}}"
    );
    let denied = stub().replace("pool/demo-pool-0", "control-plane/one");
    let cases: [(&str, &[u8], &str); 5] = [
        (&stub(), b"#!/bin/sh\n", "not cloud-config"),
        (&ignition, b"#cloud-config\n", "not an Ignition config"),
        (&ignition, &[0x1f, 0x8b, 8, 0], "compressed"),
        ("#!/bin/sh\n", b"", "neither a boothook"),
        (&denied, b"#cloud-config\n", "403 AccessDenied"),
    ];
    for (stub, payload, reason) in cases {
        let (client, api) = (demo(), Workload::default());
        client.sim.run_nodes(Arc::new(api.clone()));
        upload(&client, "pool/demo-pool-0", payload).await;
        upload(&client, "control-plane/one", payload).await;
        group_with_stub(&client, "1", stub).await;
        client.pass(400).await;
        let failures = client.sim.world().boot_failures();
        assert!(
            failures[0].reason.contains(reason),
            "{reason}: {failures:?}"
        );
        assert_eq!(
            client.group("pool").in_service(),
            1,
            "the instance itself runs"
        );
        assert!(api.names().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn ignition_and_packed_payloads_boot() {
    let ignition = format!(
        "{{\"ignition\":{{\"version\":\"3.0.0\",\"config\":{{\"replace\":{{\"source\":\
         \"s3://{DEMO_BUCKET}/pool/demo-pool-0\"}}}}}}}}"
    );
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, b"## template: jinja\n#cloud-config\n").unwrap();
    let packed = packed.finish().unwrap();
    let config: &[u8] = br#"{"ignition":{"version":"3.4.0"}}"#;
    for (stub, payload) in [(stub(), packed.as_slice()), (ignition, config)] {
        let (client, api) = (demo(), Workload::default());
        client.sim.run_nodes(Arc::new(api.clone()));
        upload(&client, "pool/demo-pool-0", payload).await;
        group_with_stub(&client, "1", &stub).await;
        client.pass(60).await;
        assert_eq!(api.ready(), 1, "{:?}", client.sim.world().boot_failures());
    }
}

#[tokio::test(start_paused = true)]
async fn instances_that_ran_before_join_too() {
    let (client, api) = (demo(), Workload::default());
    upload(&client, "pool/demo-pool-0", b"#cloud-config\n").await;
    group_with_stub(&client, "2", &stub()).await;
    client.pass(120).await;
    assert!(api.names().is_empty());
    client.sim.run_nodes(Arc::new(api.clone()));
    client.pass(40).await;
    assert_eq!(api.ready(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_profiles_role_is_what_opens_the_bucket() {
    let (client, api) = (demo(), Workload::default());
    let world = client.sim.world();
    world.add_bucket(
        DEMO_ACCOUNT,
        "us-east-1",
        DEMO_BUCKET,
        "another-role",
        &["pool/"],
    );
    client.sim.run_nodes(Arc::new(api.clone()));
    upload(&client, "pool/demo-pool-0", b"#cloud-config\n").await;
    group_with_stub(&client, "1", &stub()).await;
    client.pass(60).await;
    assert!(world.boot_failures()[0].reason.contains("403 AccessDenied"));
    assert_ne!(DEMO_WORKER_PROFILE, "another-role");
}

#[tokio::test(start_paused = true)]
async fn leases_are_renewed_when_asked_for() {
    let (client, api) = (demo(), Workload::default());
    let options = NodeOptions {
        lease_every: Some(Duration::from_secs(10)),
    };
    client.sim.run_nodes_with(Arc::new(api.clone()), options);
    upload(&client, "pool/demo-pool-0", b"#cloud-config\n").await;
    group_with_stub(&client, "1", &stub()).await;
    client.pass(60).await;
    let renewed = || {
        let leases = api.leases.lock().unwrap();
        let lease = leases.get("ip-10-0-1-11.ec2.internal").unwrap();
        lease["spec"]["renewTime"].as_str().unwrap().to_owned()
    };
    let before = renewed();
    client.pass(15).await;
    assert!(renewed() > before);
    let id = client.sim.world().live_instances("pool")[0].id.clone();
    client.sim.world().terminate_instance(&id);
    client.pass(1).await;
    let last = renewed();
    client.pass(15).await;
    assert_eq!(renewed(), last, "a machine that is off renews nothing");
}

#[tokio::test(start_paused = true)]
async fn faults_meet_nodes_only_when_told_to() {
    let (client, api) = (demo(), Workload::default());
    client.sim.run_nodes(Arc::new(api.clone()));
    upload(&client, "pool/demo-pool-0", b"#cloud-config\n").await;
    let denied = || Fault::new(Effect::Denied).on("s3", "GetObject");
    client.sim.faults().script(denied());
    client.sim.faults().script(denied().from_instances().once());
    group_with_stub(&client, "1", &stub()).await;
    client.pass(32).await;
    let failures = client.sim.world().boot_failures();
    assert!(
        failures[0]
            .reason
            .contains("failed 1 times: 403 AccessDenied"),
        "{failures:?}"
    );
    client.pass(30).await;
    assert_eq!(api.ready(), 1, "the second attempt was left alone");
}
