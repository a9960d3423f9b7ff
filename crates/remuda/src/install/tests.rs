use remuda_controllers::admission::CERTIFICATES;
use serde_json::Value;

use super::*;

fn package() -> Package {
    Package {
        namespace: "pools".to_owned(),
        image: "example.com/remuda:v9".to_owned(),
        replicas: "3".to_owned(),
        core: CoreMode::On,
        cert_manager: false,
        watched: String::new(),
        watch_filter: String::new(),
        feature_gates: String::new(),
        shards: 1,
        provider: false,
    }
}

fn objects(package: &Package) -> Vec<Value> {
    values(&package.yaml().expect("it can be written")).expect("it is YAML")
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|it| it["kind"] == kind).collect()
}

#[test]
fn every_object_is_labelled_and_those_in_a_namespace_are_in_the_managers() {
    for object in objects(&package()) {
        let labels = &object["metadata"]["labels"];
        assert_eq!(labels["app.kubernetes.io/part-of"], "remuda", "{object}");
        let namespace = &object["metadata"]["namespace"];
        assert!(namespace.is_null() || namespace == "pools", "{object}");
    }
}

#[test]
fn each_rule_has_its_reason_right_above_it() {
    let text = package().yaml().expect("it can be written");
    let lines: Vec<&str> = text.lines().collect();
    let rules = lines.iter().enumerate();
    let rules: Vec<usize> = rules
        .filter(|(_, line)| line.starts_with("  - apiGroups: ["))
        .map(|(at, _)| at)
        .collect();
    assert!(rules.len() > 20);
    for at in rules {
        assert!(lines[at - 1].starts_with("  # "), "{}", lines[at]);
    }
}

#[test]
fn beside_upstreams_core_its_kinds_are_left_alone() {
    let off = Package {
        core: CoreMode::Off,
        ..package()
    };
    let objects = objects(&off);
    for definition in of_kind(&objects, "CustomResourceDefinition") {
        assert_ne!(definition["spec"]["group"], CORE_GROUP);
    }
    let webhooks = of_kind(&objects, "ValidatingWebhookConfiguration");
    assert!(!webhooks[0].to_string().contains("\"cluster.x-k8s.io\""));
    let for_core = of_kind(&objects, "ClusterRole")
        .into_iter()
        .any(|role| role["metadata"]["labels"]["cluster.x-k8s.io/aggregate-to-manager"] == "true");
    assert!(for_core, "the core may use Remuda's kinds");
}

#[test]
fn a_manager_of_one_namespace_has_rights_over_pools_in_it_only() {
    let one = Package {
        watched: "team-a".to_owned(),
        ..package()
    };
    let objects = objects(&one);
    let roles = of_kind(&objects, "ClusterRole");
    let everywhere = roles
        .iter()
        .find(|it| it["metadata"]["name"] == SERVICE_ACCOUNT);
    let rules = everywhere.expect("the role")["rules"].to_string();
    assert!(!rules.contains("\"secrets\""), "{rules}");
    assert!(!rules.contains("\"terraformmachinepools\""), "{rules}");
    let roles = of_kind(&objects, "Role");
    let within = roles
        .iter()
        .find(|it| it["metadata"]["namespace"] == "team-a");
    let rules = within.expect("the role")["rules"].to_string();
    assert!(rules.contains("\"secrets\""), "{rules}");
}

#[test]
fn each_share_has_managers_of_its_own_behind_one_service() {
    let three = Package {
        shards: 3,
        ..package()
    };
    let objects = objects(&three);
    let deployments = of_kind(&objects, "Deployment");
    assert_eq!(deployments.len(), 3);
    assert_eq!(of_kind(&objects, "PodDisruptionBudget").len(), 3);
    let service = &of_kind(&objects, "Service")[0]["spec"]["selector"];
    for (index, deployment) in deployments.iter().enumerate() {
        let spec = &deployment["spec"];
        let arguments = spec["template"]["spec"]["containers"][0]["args"].to_string();
        assert!(
            arguments.contains(&format!("--shard={index}/3")),
            "{arguments}"
        );
        let labels = &spec["template"]["metadata"]["labels"];
        assert_eq!(&spec["selector"]["matchLabels"], labels);
        for (key, value) in service.as_object().expect("a selector") {
            assert_eq!(&labels[key], value);
        }
    }
}

#[test]
fn cert_manager_keeps_the_certificates_or_the_manager_does() {
    let kept = Package {
        cert_manager: true,
        ..package()
    };
    let objects = objects(&kept);
    let certificate = of_kind(&objects, "Certificate")[0];
    let deployment = of_kind(&objects, "Deployment")[0];
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(
        pod["volumes"][0]["secret"]["secretName"],
        certificate["spec"]["secretName"]
    );
    let webhooks = of_kind(&objects, "MutatingWebhookConfiguration")[0];
    let injects = &webhooks["metadata"]["annotations"][INJECT];
    assert_eq!(*injects, format!("pools/{CERTIFICATE}"));
    let roles = of_kind(&objects, "Role");
    assert!(!roles[0]["rules"].to_string().contains(CERTIFICATES));
}
