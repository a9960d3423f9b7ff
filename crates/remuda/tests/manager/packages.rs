//! The other ways to install: the kustomize base is what `remuda install` prints, and a clusterctl
//! provider's files do what clusterctl asks of them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::place::{PATIENCE, Place, TEAM, until};

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(deploy().join("clusterctl").join(name)).unwrap()
}

fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap()
}

/// Objects by kind and name.
fn by_name(objects: Vec<Value>) -> BTreeMap<(String, String), Value> {
    let name = |object: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&object["kind"]), text(&object["metadata"]["name"]))
    };
    objects
        .into_iter()
        .map(|object| (name(&object), object))
        .collect()
}

fn printed(arguments: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_remuda"))
        .args(arguments)
        .output()
        .unwrap();
    documents(&String::from_utf8(output.stdout).unwrap())
}

/// A text with variables filled in as clusterctl does: `${NAME}` and `${NAME:=default}`.
fn filled(text: &str, given: &BTreeMap<&str, &str>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (variable, after) = after.split_once('}').unwrap();
        let (name, default) = match variable.split_once(":=") {
            Some((name, default)) => (name, Some(default)),
            None => (variable, None),
        };
        let value = given.get(name).copied().or(default);
        out.push_str(before);
        out.push_str(value.unwrap_or_else(|| panic!("{name} is not given")));
        rest = after;
    }
    out + rest
}

/// The value with every whole number written as one: `1.0` in a manifest is `1`.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), plain(field)))
            .collect(),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Number(number) => json!(number.as_f64()),
        other => other.clone(),
    }
}

#[test]
fn the_kustomize_base_is_what_install_prints() {
    let built = Command::new("kubectl")
        .arg("kustomize")
        .arg(deploy().join("kustomize"))
        .output();
    let Ok(built) = built else {
        println!("skipped: no kubectl here");
        return;
    };
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
    let built = by_name(documents(&String::from_utf8(built.stdout).unwrap()));
    let wanted = by_name(printed(&["install"]));
    assert_eq!(
        built.keys().collect::<Vec<_>>(),
        wanted.keys().collect::<Vec<_>>()
    );
    for (name, object) in &wanted {
        assert_eq!(plain(&built[name]), plain(object), "{name:?}");
    }
}

#[test]
fn the_components_are_what_clusterctl_asks_of_a_provider() {
    let nothing = BTreeMap::new();
    let text = filled(&read("infrastructure-components.yaml"), &nothing);
    let objects = documents(&text);
    let of_kind = |kind: &str| -> Vec<&Value> {
        objects
            .iter()
            .filter(|object| object["kind"] == kind)
            .collect()
    };
    for object in &objects {
        let label = &object["metadata"]["labels"]["cluster.x-k8s.io/provider"];
        assert_eq!(label, "infrastructure-remuda", "{object}");
    }
    let namespaces = of_kind("Namespace");
    assert_eq!(namespaces.len(), 1);
    let own = &namespaces[0]["metadata"]["name"];
    for object in &objects {
        let namespace = &object["metadata"]["namespace"];
        assert!(namespace.is_null() || namespace == own, "{object}");
    }
    let pod = &of_kind("Deployment")[0]["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["name"], "manager");
    let arguments = pod["containers"][0]["args"].as_array().unwrap();
    assert!(arguments.contains(&json!("--namespace=")), "{arguments:?}");
    for definition in of_kind("CustomResourceDefinition") {
        assert_eq!(
            definition["spec"]["group"],
            "infrastructure.cluster.x-k8s.io"
        );
        let versions = &definition["metadata"]["labels"]["cluster.x-k8s.io/v1beta2"];
        assert_eq!(versions, "v1alpha1", "{}", definition["metadata"]["name"]);
    }
    let metadata = documents(&read("metadata.yaml")).remove(0);
    let version: Vec<u64> = env!("CARGO_PKG_VERSION")
        .split('.')
        .map(|part| part.parse().unwrap())
        .collect();
    let series = &metadata["releaseSeries"][0];
    assert_eq!(
        (&series["major"], &series["minor"]),
        (&json!(version[0]), &json!(version[1]))
    );
    assert_eq!(series["contract"], "v1beta2");
}

#[tokio::test(flavor = "multi_thread")]
async fn both_flavours_make_a_pool_that_the_definitions_and_webhooks_take() {
    let place = Place::filled().await;
    let port = crate::place::free_port();
    let address = format!("127.0.0.1:{port}");
    let hooks = [
        "--webhook-port",
        "0",
        "--webhook-host",
        "127.0.0.1",
        "--health-addr",
        &address,
    ];
    let _manager = place.manager(&hooks);
    until("its webhooks can be called", PATIENCE, async || {
        crate::place::status_of(port, "/readyz").await == Some(200)
    })
    .await;
    for flavour in ["aws", "azure"] {
        let given = BTreeMap::from([
            ("CLUSTER_NAME", flavour),
            ("NAMESPACE", TEAM),
            ("KUBERNETES_VERSION", "v1.34.1"),
            ("WORKER_MACHINE_COUNT", "2"),
            ("CONTROL_PLANE_ENDPOINT_HOST", "api.example.com"),
            ("IDENTITY_NAME", "demo-aws"),
            ("BOOTSTRAP_SECRET_NAME", "demo-pool-0-bootstrap"),
            (
                "AZURE_IMAGE_ID",
                "/communityGalleries/g/images/i/versions/1.0.0",
            ),
        ]);
        let text = filled(&read(&format!("cluster-template-{flavour}.yaml")), &given);
        let objects = documents(&text);
        assert_eq!(objects.len(), 4);
        for object in objects {
            place.create_once(&object, TEAM).await;
        }
    }
}
