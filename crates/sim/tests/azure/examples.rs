//! Azure's published examples (Compute 2024-11-01, Insights 2022-10-01): their bodies are taken,
//! and answers have the members theirs have.

use std::path::PathBuf;

use remuda_sim::azure::{DEMO_GROUP, DEMO_SUBSCRIPTION};
use serde_json::Value;

use crate::client::{Client, demo, group_path, set_body, set_path, setting_path};

/// An example by name; `None` where the examples are absent.
fn example(name: &str) -> Option<Value> {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/azure/examples");
    let folder = std::env::var_os("REMUDA_AZURE_EXAMPLES").map_or(folder, PathBuf::from);
    let path = folder.join(format!("{name}.json"));
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!(
            "skipped: {} is absent; REMUDA_AZURE_EXAMPLES names the folder",
            path.display()
        );
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

const CREATED: [&str; 8] = [
    "VirtualMachineScaleSet_Create_FromAGeneralizedSharedImage",
    "VirtualMachineScaleSet_Create_WithEncryptionAtHost",
    "VirtualMachineScaleSet_Create_WithManagedBootDiagnostics",
    "VirtualMachineScaleSet_Create_WithSpotRestorePolicy",
    "VirtualMachineScaleSet_Create_WithSshAuthentication",
    "VirtualMachineScaleSet_Create_WithTerminateScheduledEventEnabled",
    "VirtualMachineScaleSet_Create_WithUefiSettings",
    "VirtualMachineScaleSet_Create_WithVMsInDifferentZones",
];

/// The example with this world's names in the place of its placeholders.
fn at_home(mut body: Value) -> Value {
    let home = set_body("example", 1);
    let profile = "/properties/virtualMachineProfile";
    body["location"] = "westeurope".into();
    let image = body
        .pointer_mut(&format!("{profile}/storageProfile/imageReference/id"))
        .filter(|id| id.is_string());
    if let Some(image) = image {
        *image = format!(
            "{}/providers/Microsoft.Compute/galleries/g/images/i/versions/1.0.0",
            group_path("g")
        )
        .into();
    }
    for (part, value) in [
        ("/osProfile/computerNamePrefix", "example"),
        ("/osProfile/adminUsername", "captf"),
    ] {
        *body.pointer_mut(&format!("{profile}{part}")).unwrap() = value.into();
    }
    let subnet = "/networkProfile/networkInterfaceConfigurations/0/properties/ipConfigurations/0/properties/subnet/id";
    let subnet = format!("{profile}{subnet}");
    let own = home.pointer(&subnet).unwrap().clone();
    *body.pointer_mut(&subnet).unwrap() = own;
    body
}

/// Paths of the members that `theirs` has and `ours` lacks. Values are not compared.
fn lacking(theirs: &Value, ours: &Value, path: &str, found: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(members), _) => {
            for (name, value) in members {
                let path = format!("{path}/{name}");
                match ours.get(name) {
                    Some(own) => lacking(value, own, &path, found),
                    None => found.push(path),
                }
            }
        }
        (Value::Array(items), Value::Array(own)) => {
            if let (Some(first), Some(own)) = (items.first(), own.first()) {
                lacking(first, own, &format!("{path}/0"), found);
            }
        }
        _ => {}
    }
}

async fn client() -> Client {
    let client = demo().await;
    let image = format!(
        "{}/providers/Microsoft.Compute/galleries/g/images/i/versions/1.0.0",
        group_path("g")
    );
    client.sim.world().add_image(&image, None);
    client
}

#[tokio::test(start_paused = true)]
async fn bodies_of_creations_are_taken_and_shown_again() {
    // What Azure fills in with its defaults and this simulator leaves as it was sent.
    const DEFAULTS: [&str; 10] = [
        "/singlePlacementGroup",
        "/zoneBalance",
        "/dnsSettings",
        "/enableAcceleratedNetworking",
        "/privateIPAddressVersion",
        "/secrets",
        "/windowsConfiguration",
        "/linuxConfiguration",
        "/caching",
        "/managedDisk",
    ];
    for name in CREATED {
        let Some(example) = example(name) else { return };
        let client = client().await;
        let body = at_home(example["parameters"]["parameters"].clone());
        let made = client.put(&set_path("example"), body).await;
        assert_eq!(made.status.as_u16(), 201, "{name}: {}", made.body);
        let theirs = &example["responses"]["201"]["body"];
        let mut missing = Vec::new();
        lacking(theirs, &made.body, "", &mut missing);
        missing.retain(|path| !DEFAULTS.iter().any(|default| path.ends_with(default)));
        missing.retain(|path| !path.contains("/linuxConfiguration/provisionVMAgent"));
        assert_eq!(missing, Vec::<String>::new(), "{name}");
        client.pass(95).await;
        let up = client.get(&set_path("example")).await.ok().body;
        assert_eq!(up["properties"]["provisioningState"], "Succeeded", "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn instances_have_what_published_instances_have() {
    let Some(example) = example("VirtualMachineScaleSetVM_Get_WithVMSizeProperties") else {
        return;
    };
    let client = client().await;
    client.settled_set("workers", 1).await;
    let ours = client
        .get(&format!("{}/virtualMachines/0", set_path("workers")))
        .await
        .ok()
        .body;
    let mut theirs = example["responses"]["200"]["body"].clone();
    // Members of that machine in particular: its user data, extensions, data disks, system.
    for part in [
        "/properties/userData",
        "/properties/storageProfile/dataDisks",
        "/properties/osProfile/windowsConfiguration",
        "/properties/osProfile/requireGuestProvisionSignal",
        "/properties/storageProfile/imageReference",
        "/properties/hardwareProfile/vmSizeProperties",
        "/resources",
        "/tags/myTag1",
        "/etag",
    ] {
        let (parent, last) = part.rsplit_once('/').unwrap();
        theirs
            .pointer_mut(parent)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove(last);
    }
    let mut missing = Vec::new();
    lacking(&theirs, &ours, "", &mut missing);
    assert_eq!(missing, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn the_instance_view_of_a_set_has_the_published_shape() {
    let Some(example) = example("VirtualMachineScaleSet_GetInstanceView_MaximumSet_Gen") else {
        return;
    };
    let client = client().await;
    client.settled_set("workers", 2).await;
    let ours = client
        .get(&format!("{}/instanceView", set_path("workers")))
        .await
        .ok()
        .body;
    let mut theirs = example["responses"]["200"]["body"].clone();
    for other in ["extensions", "orchestrationServices"] {
        theirs.as_object_mut().unwrap().remove(other);
    }
    theirs["statuses"][0]
        .as_object_mut()
        .unwrap()
        .remove("message");
    let mut missing = Vec::new();
    lacking(&theirs, &ours, "", &mut missing);
    assert_eq!(missing, Vec::<String>::new());
    let summary = ours["virtualMachine"]["statusesSummary"]
        .as_array()
        .unwrap();
    assert!(summary.contains(&serde_json::json!({ "code": "PowerState/running", "count": 2 })));
}

#[tokio::test(start_paused = true)]
async fn the_published_setting_is_taken_and_shown_again() {
    let Some(example) = example("createOrUpdateAutoscaleSetting") else {
        return;
    };
    let client = client().await;
    client.settled_set("workers", 1).await;
    let text = example["parameters"]["parameters"].to_string();
    let theirs = "/subscriptions/b67f7fec-69fc-4974-9099-a26bd6ffeda3/resourceGroups/TestingMetricsScaleSet/providers/Microsoft.Compute/virtualMachineScaleSets/testingsc";
    let text = text
        .replace(theirs, &set_path("workers"))
        .replace("West US", "West Europe");
    let made = client
        .put(
            &setting_path("MySetting"),
            serde_json::from_str(&text).unwrap(),
        )
        .await;
    assert_eq!(made.status.as_u16(), 201, "{}", made.body);
    let mut missing = Vec::new();
    lacking(
        &example["responses"]["200"]["body"],
        &made.body,
        "",
        &mut missing,
    );
    // A default Azure fills in.
    missing.retain(|path| path != "/properties/predictiveAutoscalePolicy/scaleLookAheadTime");
    assert_eq!(missing, Vec::<String>::new());
    let again = client.get(&setting_path("mysetting")).await.ok().body;
    assert_eq!(
        again["id"],
        format!(
            "/subscriptions/{DEMO_SUBSCRIPTION}/resourceGroups/{DEMO_GROUP}/providers/Microsoft.Insights/autoscalesettings/MySetting"
        )
    );
}
