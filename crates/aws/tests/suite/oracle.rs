//! EC2 requests against the vendor's own Python client: for the same structure, botocore writes the
//! same parameters. Needs the python that `REMUDA_MOTO_PYTHON` names.

use std::{collections::BTreeMap, process::Command};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use crate::harness::{
    World,
    demo::{GROUP, PROFILE},
    wire::Recorded,
};

/// Prints the parameters of an operation as a JSON object.
const SCRIPT: &str = "\
import json, sys
import botocore.session
from botocore.serialize import create_serializer
name, params = sys.argv[1], json.loads(sys.argv[2])
operation = botocore.session.get_session().get_service_model('ec2').operation_model(name)
request = create_serializer('ec2', include_validation=True).serialize_to_request(params, operation)
print(json.dumps({key: str(value) for key, value in request['body'].items()}))
";

fn as_botocore(python: &str, operation: &str, params: &Value) -> BTreeMap<String, String> {
    let output = Command::new(python)
        .args(["-c", SCRIPT, operation, &params.to_string()])
        .output()
        .expect("REMUDA_MOTO_PYTHON names a python");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{operation}: {error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn tags(tags: &BTreeMap<String, String>) -> Value {
    tags.iter()
        .map(|(key, value)| json!({ "Key": key, "Value": value }))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn botocore_writes_the_same_parameters() {
    let Ok(python) = std::env::var("REMUDA_MOTO_PYTHON") else {
        eprintln!("skipped: REMUDA_MOTO_PYTHON does not name a python that has botocore");
        return;
    };
    let world = World::simulated();
    let mut pool = world.demo_pool();
    pool.set("spot", json!(true));
    pool.set("ssh_key_name", json!("ops"));
    let key = "arn:aws:kms:us-east-1:111122223333:key/0b9f3a52-6d0f-4a3c-9d3e-0c9d5c9a7a11";
    pool.set("root_volume_kms_key_id", json!(key));
    world.settle(&mut pool).await;
    pool.set("instance_type", json!("m6i.xlarge"));
    pool.inputs
        .captf_tags
        .insert("captf.io/template".to_owned(), "blue".to_owned());
    pool.set("additional_tags", json!({}));
    world.settle(&mut pool).await;
    world.delete(&mut pool).await;
    let calls = world.recorder.since(0);
    let first = |action: &str| -> &Recorded {
        let name = format!("ec2:{action}");
        let found = calls.iter().find(|call| call.name == name);
        found.unwrap_or_else(|| panic!("no {name}"))
    };
    let template = first("CreateLaunchTemplate")
        .param("LaunchTemplateName")
        .to_owned();
    let old = world.demo_pool().tags();
    let with_name = |tags: &BTreeMap<String, String>| {
        let mut tags = tags.clone();
        tags.insert("Name".to_owned(), "demo-pool-0".to_owned());
        tags
    };
    let data = |call: &Recorded, instance_type: &str, set: &BTreeMap<String, String>| {
        // Opaque here: its bytes are proven elsewhere.
        let user_data = call.param("LaunchTemplateData.UserData").to_owned();
        assert!(
            STANDARD
                .decode(&user_data)
                .unwrap()
                .starts_with(b"#cloud-boothook")
        );
        json!({
            "ImageId": world.cluster.newest_image, "InstanceType": instance_type, "KeyName": "ops",
            "UserData": user_data, "IamInstanceProfile": { "Name": PROFILE },
            "BlockDeviceMappings": [{ "DeviceName": "/dev/sda1", "Ebs": {
                "VolumeSize": 40, "VolumeType": "gp3", "Encrypted": true,
                "DeleteOnTermination": true, "KmsKeyId": key } }],
            "MetadataOptions": { "HttpEndpoint": "enabled", "HttpTokens": "required",
                "HttpPutResponseHopLimit": 1, "InstanceMetadataTags": "disabled" },
            "NetworkInterfaces": [{ "DeviceIndex": 0, "DeleteOnTermination": true,
                "AssociatePublicIpAddress": false, "Groups": [world.cluster.worker_group] }],
            "InstanceMarketOptions": { "MarketType": "spot" },
            "TagSpecifications": [
                { "ResourceType": "instance", "Tags": tags(&with_name(set)) },
                { "ResourceType": "network-interface", "Tags": tags(set) },
                { "ResourceType": "volume", "Tags": tags(&with_name(set)) },
            ],
        })
    };
    let description = "CAPTF machine pool team-a/demo-pool-0";
    let create = first("CreateLaunchTemplate");
    let version = first("CreateLaunchTemplateVersion");
    let mut new = old.clone();
    new.remove("team");
    new.insert("captf.io/template".to_owned(), "blue".to_owned());
    let id = first("CreateTags").param("ResourceId.1").to_owned();
    let filter = |name: &str, values: Value| json!({ "Name": name, "Values": values });
    let states = json!(["pending", "running", "stopping", "stopped", "shutting-down"]);
    let rows: Vec<(&str, Value)> = vec![
        (
            "CreateLaunchTemplate",
            json!({
                "ClientToken": create.param("ClientToken"), "LaunchTemplateName": template,
                "VersionDescription": description,
                "LaunchTemplateData": data(create, "m6i.large", &old),
                "TagSpecifications": [{ "ResourceType": "launch-template", "Tags": tags(&old) }],
            }),
        ),
        (
            "CreateLaunchTemplateVersion",
            json!({
                "LaunchTemplateName": template, "VersionDescription": description,
                "LaunchTemplateData": data(version, "m6i.xlarge", &new),
            }),
        ),
        (
            "ModifyLaunchTemplate",
            json!({
                "LaunchTemplateName": template, "DefaultVersion": "2",
            }),
        ),
        (
            "CreateTags",
            json!({
                "Resources": [id], "Tags": [{ "Key": "captf.io/template", "Value": "blue" }],
            }),
        ),
        (
            "DeleteTags",
            json!({ "Resources": [id], "Tags": [{ "Key": "team" }] }),
        ),
        (
            "DeleteLaunchTemplate",
            json!({ "LaunchTemplateName": template }),
        ),
        (
            "DescribeLaunchTemplates",
            json!({
                "Filters": [filter("launch-template-name", json!([format!("{GROUP}-*")]))],
                "MaxResults": 200,
            }),
        ),
        (
            "DescribeLaunchTemplateVersions",
            json!({
                "LaunchTemplateId": id, "Versions": ["$Latest"],
            }),
        ),
        (
            "DescribeInstances",
            json!({
                "Filters": [
                    filter("tag:aws:autoscaling:groupName", json!([GROUP])),
                    filter("instance-state-name", states),
                ],
                "MaxResults": 1000,
            }),
        ),
        (
            "DescribeImages",
            json!({
                "Owners": ["819546954734"], "IncludeDeprecated": true,
                "Filters": [
                    filter("name", json!(["capa-ami-ubuntu-24.04-?1.34.1-*"])),
                    filter("architecture", json!(["x86_64"])),
                    filter("state", json!(["available"])),
                ],
            }),
        ),
    ];
    for (action, params) in &rows {
        let ours = &first(action).params;
        let theirs = as_botocore(&python, action, params);
        assert_eq!(ours, &theirs, "{action}");
    }
    // Every EC2 action that was sent is one of the rows.
    let rows: Map<String, Value> = rows
        .into_iter()
        .map(|(action, params)| (format!("ec2:{action}"), params))
        .collect();
    let sent = calls.iter().filter(|call| call.name.starts_with("ec2:"));
    assert!(
        sent.map(|call| &call.name)
            .all(|name| rows.contains_key(name))
    );
}
