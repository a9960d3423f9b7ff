//! `remuda doctor` against a whole `remuda up --demo`: all is well, then one fault for each class of
//! check.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use serde_json::{Value, json};

use super::running::{Kubectl, Running};

const DEFINITION: &str = "terraformmachinepools.infrastructure.cluster.x-k8s.io";
const VALIDATING: &str = "remuda-validating-webhook-configuration";

/// What the doctor says, and the code it ends with.
fn doctor(running: &Running, arguments: &[&str]) -> (Value, Option<i32>) {
    let output = running.remuda(&[&["doctor", "-o", "json"], arguments].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    let report = serde_json::from_str(&text)
        .unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)));
    (report, output.status.code())
}

fn findings(report: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    let checks = report["checks"].as_array().into_iter().flatten();
    checks.flat_map(|check| {
        let findings = check["findings"].as_array().into_iter().flatten();
        findings.map(move |finding| (&check["name"], finding))
    })
}

/// The check finds something broken about the subject, says what to do, and ends with 1.
fn fails(running: &Running, check: &str, subject: &str) {
    let (report, code) = doctor(running, &["--only", check]);
    let broken = findings(&report).find(|(name, finding)| {
        let about = finding["subject"].as_str().unwrap_or_default();
        let found = finding["found"].as_str().unwrap_or_default();
        **name == check
            && finding["level"] == "fail"
            && (about.contains(subject) || found.contains(subject))
    });
    let (_, finding) = broken.unwrap_or_else(|| panic!("{check}, {subject}: {report:#}"));
    assert!(finding["remedy"].is_string(), "{finding}");
    assert_eq!(code, Some(1), "{check}, {subject}");
}

/// A request to the hands on a simulated cloud.
fn world(port: &Value, method: &str, path: &str, body: &Value) {
    let port = u16::try_from(port.as_u64().unwrap()).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let body = body.to_string();
    let request = format!(
        "{method} /_sim/{path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
}

fn answer(service: &str, action: &str, body: &str) -> Value {
    json!({
        "effect": "answer", "status": 200, "headers": {}, "body": body,
        "service": service, "action": action,
    })
}

#[test]
fn all_is_well_and_each_fault_is_found() {
    let running = Running::start();
    let Some(kubectl) = running.kubectl() else {
        return;
    };
    all_is_well(&running);
    somebody_without_rights(&running);
    a_definition_without_its_label(&running, &kubectl);
    identities_that_open_nothing(&running, &kubectl);
    a_pool_that_nobody_owns(&running, &kubectl);
    webhooks_that_cannot_be_called(&running, &kubectl);
    what_aws_refuses(&running);
    what_azure_refuses(&running);
}

fn all_is_well(running: &Running) {
    let (report, code) = doctor(running, &[]);
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(report["summary"]["fail"], 0, "{report:#}");
    for check in report["checks"].as_array().unwrap() {
        let fine = check["findings"].as_array().unwrap().iter();
        let fine = fine.filter(|finding| finding["level"] == "ok").count();
        assert!(fine > 0, "nothing is fine: {check:#}");
    }
    for pool in ["demo-pool-0", "demo-azure-pool-0"] {
        for check in ["pools", "permissions", "quotas", "subnets"] {
            let about = findings(&report).any(|(name, finding)| {
                let subject = finding["subject"].as_str().unwrap_or_default();
                *name == check && subject.contains(pool)
            });
            assert!(about, "{check} says nothing of {pool}: {report:#}");
        }
    }
    let text = report.to_string();
    for secret in ["remudademosecretkey", "ARM_CLIENT_SECRET"] {
        assert!(!text.contains(secret), "{secret}");
    }
    let text = running.remuda(&["doctor"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("0 broken"), "{text}");
    let unknown = running.remuda(&["doctor", "--only", "everything"]);
    assert!(!unknown.status.success());
}

fn somebody_without_rights(running: &Running) {
    let nobody = "system:serviceaccount:team-a:default";
    let (report, code) = doctor(running, &["--only", "rights", "--as", nobody]);
    let denied: Vec<&str> = findings(&report)
        .filter(|(check, finding)| *check == "rights" && finding["level"] == "fail")
        .filter_map(|(_, finding)| finding["found"].as_str())
        .collect();
    assert!(
        denied.iter().any(|found| found.starts_with("may not ")
            && found.contains("terraformmachinepools of infrastructure")),
        "{report:#}"
    );
    assert_eq!(code, Some(1));
}

fn a_definition_without_its_label(running: &Running, kubectl: &Kubectl<'_>) {
    let labels = kubectl.run(&[
        "get",
        "crd",
        DEFINITION,
        "-o",
        "jsonpath={.metadata.labels}",
    ]);
    let labels: Value = serde_json::from_str(&labels).unwrap();
    let mut contract = labels.as_object().unwrap().iter();
    let (label, value) = contract
        .find(|(label, _)| label.starts_with("cluster.x-k8s.io/v1"))
        .unwrap();
    kubectl.run(&["label", "crd", DEFINITION, &format!("{label}-")]);
    fails(running, "definitions", label);
    let again = format!("{label}={}", value.as_str().unwrap());
    kubectl.run(&["label", "crd", DEFINITION, &again]);
}

fn identities_that_open_nothing(running: &Running, kubectl: &Kubectl<'_>) {
    kubectl.apply(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1\nkind: TerraformClusterIdentity\n\
         metadata: {name: without-secret}\n\
         spec: {secretRef: {name: nowhere, namespace: remuda-system}, allowedNamespaces: {selector: {}}}\n\
         ---\napiVersion: v1\nkind: Secret\n\
         metadata: {name: stranger, namespace: remuda-system}\n\
         stringData: {AWS_ACCESS_KEY_ID: AKIASTRANGER00000000, AWS_SECRET_ACCESS_KEY: not-known}\n\
         ---\napiVersion: infrastructure.cluster.x-k8s.io/v1alpha1\nkind: TerraformClusterIdentity\n\
         metadata: {name: stranger}\n\
         spec: {secretRef: {name: stranger, namespace: remuda-system}, allowedNamespaces: {selector: {}}}\n",
    );
    fails(running, "identities", "identity without-secret");
    fails(running, "identities", "identity stranger");
    let (report, _) = doctor(running, &["--only", "identities"]);
    assert!(!report.to_string().contains("not-known"), "{report}");
    let identity = "terraformclusteridentity";
    kubectl.run(&[
        "delete",
        identity,
        "without-secret",
        "stranger",
        "--wait=false",
    ]);
}

fn a_pool_that_nobody_owns(running: &Running, kubectl: &Kubectl<'_>) {
    kubectl.apply(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1\nkind: TerraformMachinePool\n\
         metadata: {name: stray, namespace: team-a}\n\
         spec: {source: {image: 'ghcr.io/captf-io/aws-machinepool:v0.3.0'}}\n",
    );
    fails(running, "pools", "team-a/stray");
    let pool = [
        "delete",
        "terraformmachinepool",
        "stray",
        "-n",
        "team-a",
        "--wait=false",
    ];
    kubectl.run(&pool);
}

fn webhooks_that_cannot_be_called(running: &Running, kubectl: &Kubectl<'_>) {
    let kind = "validatingwebhookconfiguration";
    let held = kubectl.run(&["get", kind, VALIDATING, "-o", "json"]);
    let held: Value = serde_json::from_str(&held).unwrap();
    let webhooks = held["webhooks"].as_array().unwrap();
    let nowhere: Vec<Value> = (0..webhooks.len())
        .map(|index| {
            json!({
                "op": "replace", "path": format!("/webhooks/{index}/clientConfig/url"),
                "value": "https://127.0.0.1:1/nowhere",
            })
        })
        .collect();
    let patch = Value::from(nowhere).to_string();
    kubectl.run(&["patch", kind, VALIDATING, "--type", "json", "-p", &patch]);
    fails(running, "webhooks", "calls of the webhooks");
    let back: Vec<Value> = webhooks
        .iter()
        .enumerate()
        .map(|(index, webhook)| {
            json!({
                "op": "replace", "path": format!("/webhooks/{index}/clientConfig/url"),
                "value": webhook["clientConfig"]["url"],
            })
        })
        .collect();
    let patch = Value::from(back).to_string();
    kubectl.run(&["patch", kind, VALIDATING, "--type", "json", "-p", &patch]);
}

fn ports(running: &Running) -> Value {
    let text = std::fs::read_to_string(running.data().join("up.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn what_aws_refuses(running: &Running) {
    let port = &ports(running)["awsPort"];
    let faults = |fault: &Value| world(port, "POST", "faults", fault);
    let heal = || world(port, "DELETE", "faults", &Value::Null);

    faults(&json!({ "effect": "denied", "service": "ec2", "action": "CreateLaunchTemplate" }));
    fails(running, "permissions", "ec2:CreateLaunchTemplate");
    heal();
    faults(
        &json!({ "effect": "denied", "service": "autoscaling", "action": "DescribeAutoScalingGroups" }),
    );
    fails(
        running,
        "permissions",
        "autoscaling:DescribeAutoScalingGroups",
    );
    heal();

    let namespace = "xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"";
    let none = format!("<DescribeImagesResponse {namespace}><imagesSet/></DescribeImagesResponse>");
    faults(&answer("ec2", "DescribeImages", &none));
    fails(running, "images", "demo-pool-0");
    heal();
    let none =
        format!("<DescribeSubnetsResponse {namespace}><subnetSet/></DescribeSubnetsResponse>");
    faults(&answer("ec2", "DescribeSubnets", &none));
    fails(running, "subnets", "subnet-");
    heal();
    let full = "<DescribeAccountLimitsResponse xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\">\
                <DescribeAccountLimitsResult>\
                <MaxNumberOfAutoScalingGroups>7</MaxNumberOfAutoScalingGroups>\
                <NumberOfAutoScalingGroups>7</NumberOfAutoScalingGroups>\
                </DescribeAccountLimitsResult></DescribeAccountLimitsResponse>";
    faults(&answer("autoscaling", "DescribeAccountLimits", full));
    fails(running, "quotas", "Auto Scaling groups");
    heal();
}

fn what_azure_refuses(running: &Running) {
    let port = &ports(running)["azurePort"];
    let faults = |fault: &Value| world(port, "POST", "faults", fault);
    let heal = || world(port, "DELETE", "faults", &Value::Null);
    let reader = r#"{"value":[{"actions":["*/read"],"notActions":[]}]}"#;
    faults(&answer(
        "authorization",
        "Permissions_ListForResourceGroup",
        reader,
    ));
    fails(
        running,
        "permissions",
        "Microsoft.Compute/virtualMachineScaleSets/write",
    );
    heal();
    let full = r#"{"value":[{"name":{"value":"cores"},"currentValue":10,"limit":10}]}"#;
    faults(&answer("compute", "Usage_List", full));
    fails(running, "quotas", "cores in");
    heal();
    let none = r#"{"value":[]}"#;
    faults(&answer("network", "VirtualNetworks_ListUsage", none));
    fails(running, "subnets", "demo-azure-pool-0");
    heal();
}
