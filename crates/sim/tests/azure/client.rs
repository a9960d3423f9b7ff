//! A client for tests: asks for a token, calls the router, takes answers apart.

use std::time::Duration;

use axum::body::Body;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use jiff::Timestamp;
use remuda_sim::{
    SimClock,
    azure::{
        AzureSim, AzureSimBuilder, DEMO_CLIENT_ID, DEMO_CLIENT_SECRET, DEMO_GALLERY, DEMO_GROUP,
        DEMO_SUBSCRIPTION, DEMO_TENANT, DEMO_WORKER_IDENTITY, DEMO_WORKER_SUBNET,
    },
};
use serde_json::{Value, json};
use tower::ServiceExt;

/// The cloud-config of the Azure document's fixture, as custom data without a boot hook.
pub(crate) const CLOUD_CONFIG: &str =
    "IyMgdGVtcGxhdGU6IGppbmphCiNjbG91ZC1jb25maWcKcnVuY21kOiBbZWNobyBoZWxsb10K";

pub(crate) const ARM: &str = "https://management.azure.com";

pub(crate) fn start() -> Timestamp {
    "2026-10-01T08:00:00Z".parse().unwrap()
}

pub(crate) fn builder() -> AzureSimBuilder {
    AzureSim::builder()
        .clock(SimClock::starting_at(start()))
        .seed(7)
}

/// The demo world at normal speed, and a caller with a token.
pub(crate) async fn demo() -> Client {
    Client::new(builder().demo()).await
}

/// `/subscriptions/…/resourceGroups/<group>`.
pub(crate) fn group_path(group: &str) -> String {
    format!("/subscriptions/{DEMO_SUBSCRIPTION}/resourceGroups/{group}")
}

/// The path of a scale set of the demo's group.
pub(crate) fn set_path(name: &str) -> String {
    format!(
        "{}/providers/Microsoft.Compute/virtualMachineScaleSets/{name}",
        group_path(DEMO_GROUP)
    )
}

/// The path of an autoscale setting of the demo's group.
pub(crate) fn setting_path(name: &str) -> String {
    format!(
        "{}/providers/Microsoft.Insights/autoscalesettings/{name}",
        group_path(DEMO_GROUP)
    )
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    /// The answer, which must be a success.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert!(self.status.is_success(), "{} {}", self.status, self.body);
        self
    }

    /// Code of a refusal with that status.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16) -> String {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        let error = if self.body["error"].is_object() {
            &self.body["error"]
        } else {
            &self.body
        };
        error["code"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The items of a list.
    #[track_caller]
    pub(crate) fn items(&self) -> Vec<Value> {
        self.body["value"]
            .as_array()
            .unwrap_or_else(|| panic!("a list: {}", self.body))
            .clone()
    }
}

/// A caller.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) sim: AzureSim,
    pub(crate) token: String,
    /// Sent with every call.
    pub(crate) headers: Vec<(String, String)>,
}

impl Client {
    pub(crate) async fn new(sim: AzureSim) -> Self {
        let mut client = Self {
            sim,
            token: String::new(),
            headers: Vec::new(),
        };
        let form = token_form(DEMO_CLIENT_ID, &[("client_secret", DEMO_CLIENT_SECRET)]);
        let answer = client.login(DEMO_TENANT, &form).await.ok();
        let token = answer.body["access_token"].as_str().unwrap();
        token.clone_into(&mut client.token);
        client.sim.journal().clear();
        client
    }

    /// The same caller with a header.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.push((name.to_owned(), value.to_owned()));
        client
    }

    /// A call of the token endpoint.
    pub(crate) async fn login(&self, tenant: &str, form: &str) -> Answer {
        let request = Request::post(format!(
            "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token"
        ))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from(form.to_owned()))
        .unwrap();
        self.send(request).await
    }

    /// A call of ARM. The path gets the version of its provider, unless it has one.
    pub(crate) async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{ARM}{}", versioned(path)))
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        self.send(request.body(Body::from(body)).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, None).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.call("PUT", path, Some(body)).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Answer {
        self.call("PATCH", path, Some(body)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.call("POST", path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.call("DELETE", path, None).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        self.try_send(request).await.expect("the connection holds")
    }

    /// Sends a request; `None` when the connection breaks.
    pub(crate) async fn try_send(&self, request: Request<Body>) -> Option<Answer> {
        let answer = self.sim.router().oneshot(request).await.unwrap();
        let (parts, body) = answer.into_parts();
        let bytes = body.collect().await.ok()?.to_bytes();
        Some(Answer {
            status: parts.status,
            headers: parts.headers,
            body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        })
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        self.sim.pass(Duration::from_secs(seconds)).await;
    }

    /// Makes a scale set and waits until it is up.
    pub(crate) async fn settled_set(&self, name: &str, capacity: u32) {
        self.put(&set_path(name), set_body(name, capacity))
            .await
            .ok();
        self.pass(91).await;
        let set = self.get(&set_path(name)).await.ok();
        assert_eq!(set.body["properties"]["provisioningState"], "Succeeded");
    }

    /// Instances of a set with their views.
    pub(crate) async fn instances(&self, name: &str) -> Vec<Value> {
        let path = format!("{}/virtualMachines?$expand=instanceView", set_path(name));
        self.get(&path).await.ok().items()
    }

    /// Power state of each instance, by id.
    pub(crate) async fn powers(&self, name: &str) -> Vec<(String, String)> {
        let power = |instance: &Value| {
            let statuses = instance["properties"]["instanceView"]["statuses"].as_array();
            let mut codes = statuses.unwrap().iter().filter_map(|s| s["code"].as_str());
            let power = codes.find_map(|code| code.strip_prefix("PowerState/"));
            power.unwrap_or("none").to_owned()
        };
        let id = |instance: &Value| instance["instanceId"].as_str().unwrap().to_owned();
        let instances = self.instances(name).await;
        instances.iter().map(|i| (id(i), power(i))).collect()
    }
}

fn versioned(path: &str) -> String {
    if path.contains("api-version=") {
        return path.to_owned();
    }
    let version = if path.contains("/resources?") {
        "2020-06-01"
    } else if path.contains("networkInterfaces") {
        "2018-10-01"
    } else if path.contains("Microsoft.Compute/") {
        "2024-11-01"
    } else if path.contains("Microsoft.Insights") {
        "2022-10-01"
    } else {
        "2020-06-01"
    };
    let joint = if path.contains('?') { '&' } else { '?' };
    format!("{path}{joint}api-version={version}").replace(' ', "%20")
}

/// The form of a token request.
pub(crate) fn token_form(client_id: &str, proof: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "client_credentials")
        .append_pair("client_id", client_id)
        .append_pair("scope", "https://management.azure.com/.default")
        .extend_pairs(proof)
        .finish()
}

/// The scale set of the Azure document, 4.2.
pub(crate) fn set_body(name: &str, capacity: u32) -> Value {
    let network = format!("{}/providers/Microsoft.Network", group_path(DEMO_GROUP));
    let asg = format!("{network}/applicationSecurityGroups/{DEMO_GROUP}-worker-asg");
    let nsg = format!("{network}/networkSecurityGroups/{DEMO_GROUP}-worker-nsg");
    let address = json!({ "name": "primary", "properties": {
        "primary": true, "privateIPAddressVersion": "IPv4", "subnet": { "id": DEMO_WORKER_SUBNET },
        "applicationSecurityGroups": [{ "id": asg }],
    } });
    let interface = json!({ "name": "primary", "properties": {
        "primary": true, "enableAcceleratedNetworking": true, "enableIPForwarding": false,
        "dnsSettings": { "dnsServers": [] }, "networkSecurityGroup": { "id": nsg },
        "ipConfigurations": [address],
    } });
    let os = json!({
        "computerNamePrefix": name, "adminUsername": "captf", "customData": CLOUD_CONFIG,
        "allowExtensionOperations": false, "secrets": [],
        "linuxConfiguration": {
            "disablePasswordAuthentication": true, "provisionVMAgent": true,
            "ssh": { "publicKeys": [{
                "path": "/home/captf/.ssh/authorized_keys", "keyData": "ssh-ed25519 AAAA",
            }] },
        },
    });
    let storage = json!({
        "imageReference": { "communityGalleryImageId": format!("{DEMO_GALLERY}/versions/1.34.1") },
        "osDisk": {
            "createOption": "FromImage", "caching": "ReadWrite", "osType": "Linux",
            "diskSizeGB": 128, "managedDisk": { "storageAccountType": "Premium_LRS" },
            "writeAcceleratorEnabled": false,
        },
        "dataDisks": [],
    });
    json!({
        "location": "westeurope",
        "zones": ["1", "2", "3"],
        "sku": { "name": "Standard_D4s_v5", "tier": "Standard", "capacity": capacity },
        "identity": {
            "type": "UserAssigned", "userAssignedIdentities": { DEMO_WORKER_IDENTITY: {} },
        },
        "tags": { "captf.io_cluster": "demo" },
        "properties": {
            "orchestrationMode": "Uniform", "overprovision": false, "singlePlacementGroup": false,
            "zoneBalance": false, "doNotRunExtensionsOnOverprovisionedVMs": false,
            "upgradePolicy": { "mode": "Manual" },
            "virtualMachineProfile": {
                "priority": "Regular",
                "osProfile": os,
                "diagnosticsProfile": { "bootDiagnostics": { "enabled": true } },
                "networkProfile": { "networkInterfaceConfigurations": [interface] },
                "storageProfile": storage,
                "scheduledEventsProfile": {
                    "terminateNotificationProfile": { "enable": true, "notBeforeTimeout": "PT5M" },
                },
                "extensionProfile": { "extensionsTimeBudget": "PT1H30M" },
            },
        },
    })
}

/// The setting that holds a set at a size.
pub(crate) fn fixed_setting(set: &str, size: u32) -> Value {
    let size = size.to_string();
    json!({
        "location": "westeurope",
        "tags": { "captf.io_cluster": "demo" },
        "properties": {
            "enabled": true, "targetResourceUri": set_path(set), "notifications": [],
            "profiles": [{
                "name": "default",
                "capacity": { "minimum": size, "maximum": size, "default": size },
                "rules": [],
            }],
        },
    })
}

/// A setting that follows CPU between two sizes, with the rules of the document, 4.5.
pub(crate) fn cpu_setting(set: &str, minimum: u32, maximum: u32) -> Value {
    let rule = |operator: &str, threshold: u32, direction: &str, cooldown: &str| {
        json!({
            "metricTrigger": {
                "metricName": "Percentage CPU",
                "metricNamespace": "microsoft.compute/virtualmachinescalesets",
                "metricResourceUri": set_path(set), "timeGrain": "PT1M", "statistic": "Average",
                "timeWindow": "PT10M", "timeAggregation": "Average", "operator": operator,
                "threshold": threshold, "dividePerInstance": false, "dimensions": [],
            },
            "scaleAction": {
                "direction": direction, "type": "ChangeCount", "value": "1", "cooldown": cooldown,
            },
        })
    };
    let mut setting = fixed_setting(set, minimum);
    let profile = &mut setting["properties"]["profiles"][0];
    profile["capacity"]["maximum"] = maximum.to_string().into();
    profile["rules"] = json!([
        rule("LessThan", 25, "Decrease", "PT10M"),
        rule("GreaterThan", 75, "Increase", "PT5M"),
    ]);
    setting
}
