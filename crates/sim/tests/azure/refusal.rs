//! What ARM refuses, in its own codes and statuses.

use remuda_sim::{
    Effect, Fault,
    azure::{DEMO_GROUP, DEMO_REGION, DEMO_SUBSCRIPTION, Lock},
};
use serde_json::{Value, json};

use crate::client::{
    Client, cpu_setting, demo, fixed_setting, group_path, set_body, set_path, setting_path,
};

const PROFILE: &str = "/properties/virtualMachineProfile";

/// The set's body with a value at a path below its profile.
fn changed(path: &str, value: Value) -> Value {
    let mut body = set_body("workers", 1);
    let (parent, last) = path.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(&format!("{PROFILE}{parent}")).unwrap();
    parent[last] = value;
    body
}

async fn code_of(body: Value, status: u16) -> String {
    let client = demo().await;
    let answer = client.put(&set_path("workers"), body).await;
    let code = answer.refused(status);
    assert!(client.sim.world().scale_sets().is_empty());
    code
}

#[tokio::test(start_paused = true)]
async fn bodies_are_checked_before_anything_is_made() {
    let interface = "/networkProfile/networkInterfaceConfigurations/0/properties";
    let subnet = format!("{interface}/ipConfigurations/0/properties/subnet/id");
    let nowhere = format!(
        "{}/providers/Microsoft.Network/virtualNetworks/x/subnets/y",
        group_path("g")
    );
    let spot_only = "EvictionPolicyCanBeSetOnlyOnAzureSpotVirtualMachines";
    let cases = [
        (
            changed("/osProfile/customData", "A".repeat(87_384).into()),
            "InvalidParameter",
        ),
        (
            changed("/osProfile/customData", "not base64".into()),
            "InvalidParameter",
        ),
        (
            changed("/osProfile/computerNamePrefix", "x".repeat(59).into()),
            "InvalidParameter",
        ),
        (
            changed("/osProfile/adminUsername", Value::Null),
            "InvalidParameter",
        ),
        (changed("/evictionPolicy", "Delete".into()), spot_only),
        (changed(&subnet, nowhere.into()), "InvalidResourceReference"),
        (
            changed(&subnet, "workers".into()),
            "LinkedInvalidPropertyId",
        ),
        (
            changed(&format!("{interface}/networkSecurityGroup/id"), "x".into()),
            "LinkedInvalidPropertyId",
        ),
        (
            changed(
                "/storageProfile/imageReference/communityGalleryImageId",
                "/communityGalleries/g/images/i/versions/9.9.9".into(),
            ),
            "GalleryImageNotFound",
        ),
        (
            changed("/storageProfile/imageReference/id", "/x".into()),
            "InvalidParameter",
        ),
        (
            changed(
                "/scheduledEventsProfile/terminateNotificationProfile/notBeforeTimeout",
                "PT1M".into(),
            ),
            "InvalidParameter",
        ),
    ];
    for (body, code) in cases {
        let shown = body.to_string().chars().take(200).collect::<String>();
        assert_eq!(code_of(body, 400).await, code, "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn place_size_and_tags_are_checked() {
    let with = |name: &str, value: Value| {
        let mut body = set_body("workers", 1);
        body[name] = value;
        body
    };
    let tags =
        |count: usize| -> Value { (0..count).map(|n| (format!("t{n}"), json!("v"))).collect() };
    let sku = |capacity: u32| json!({ "name": "Standard_D4s_v5", "capacity": capacity });
    let cases = [
        (with("zones", json!(["4"])), "InvalidParameter"),
        (
            with("location", "moon".into()),
            "LocationNotAvailableForResourceType",
        ),
        (with("location", Value::Null), "LocationRequired"),
        (with("sku", sku(1001)), "InvalidParameter"),
        (
            with("sku", json!({ "name": "m6i.large", "capacity": 1 })),
            "InvalidParameter",
        ),
        (with("tags", tags(51)), "InvalidTagCount"),
        (
            with("tags", json!({ "captf.io/name": "x" })),
            "InvalidTagNameCharacters",
        ),
        (
            with("tags", json!({ "a": "x", "A": "y" })),
            "InvalidTagNameDuplicate",
        ),
        (
            with("tags", json!({ "a": "x".repeat(257) })),
            "InvalidTagValueLength",
        ),
    ];
    for (body, code) in cases {
        assert_eq!(code_of(body, 400).await, code);
    }
    let mut single = set_body("workers", 101);
    single["properties"]["singlePlacementGroup"] = true.into();
    assert_eq!(code_of(single, 400).await, "InvalidParameter");
}

#[tokio::test(start_paused = true)]
async fn what_is_immutable_stays() {
    let client = demo().await;
    client.settled_set("workers", 1).await;
    let profile = |part: Value| json!({ "properties": { "virtualMachineProfile": part } });
    let disk = json!({ "managedDisk": { "storageAccountType": "StandardSSD_LRS" } });
    let patches = [
        profile(json!({ "priority": "Spot" })),
        profile(json!({ "osProfile": { "computerNamePrefix": "other" } })),
        profile(json!({ "osProfile": { "adminUsername": "root" } })),
        profile(json!({ "securityProfile": { "securityType": "TrustedLaunch" } })),
        profile(json!({ "storageProfile": { "osDisk": disk } })),
        json!({ "zones": ["1"] }),
    ];
    for patch in patches {
        let answer = client.patch(&set_path("workers"), patch.clone()).await;
        assert_eq!(answer.refused(409), "PropertyChangeNotAllowed", "{patch}");
    }
    let mut moved = set_body("workers", 1);
    moved["location"] = "northeurope".into();
    let answer = client.put(&set_path("workers"), moved).await;
    assert_eq!(answer.refused(409), "InvalidResourceLocation");
    // Azure's names of enums have no case.
    let same = profile(json!({ "priority": "regular" }));
    client.patch(&set_path("workers"), same).await.ok();
}

#[tokio::test(start_paused = true)]
async fn preconditions_and_busy_sets_refuse_writes() {
    let client = demo().await;
    let path = set_path("workers");
    let careful = client.with("if-none-match", "*");
    careful.put(&path, set_body("workers", 1)).await.ok();
    let again = careful.put(&path, set_body("workers", 1)).await;
    assert_eq!(again.refused(412), "PreconditionFailed");
    let busy = client.patch(&path, json!({ "tags": {} })).await;
    assert_eq!(busy.refused(409), "AnotherOperationInProgress");
    assert_eq!(
        client.delete(&path).await.refused(409),
        "AnotherOperationInProgress"
    );
    client
        .sim
        .world()
        .set_behaviour(|behaviour| behaviour.queue_writes = true);
    client
        .patch(&path, json!({ "tags": { "a": "b" } }))
        .await
        .ok();
    client.pass(30).await;
    let set = client.get(&path).await.ok().body;
    assert_eq!(set["properties"]["provisioningState"], "Updating");
    client.pass(61).await;
    let set = client.get(&path).await.ok().body;
    assert_eq!(set["properties"]["provisioningState"], "Succeeded");
    assert_eq!(set["tags"], json!({ "a": "b" }));
    let etag = set["etag"].as_str().unwrap();
    let stale = client.with("if-match", "\"1\"");
    assert_eq!(
        stale.patch(&path, json!({ "tags": {} })).await.refused(412),
        "PreconditionFailed"
    );
    client
        .with("if-match", etag)
        .patch(&path, json!({ "tags": {} }))
        .await
        .ok();
}

#[tokio::test(start_paused = true)]
async fn locks_quota_and_registration_refuse() {
    let client = demo().await;
    let world = client.sim.world();
    let path = set_path("workers");
    world.set_core_quota(DEMO_SUBSCRIPTION, DEMO_REGION, Some(16), None);
    let much = client.put(&path, set_body("workers", 5)).await;
    assert_eq!(much.refused(409), "OperationNotAllowed");
    let message = much.body["error"]["message"].as_str().unwrap();
    for figure in [
        "Cores quota",
        "Current Limit: 16",
        "Current Usage: 0",
        "Additional Required: 20",
    ] {
        assert!(message.contains(figure), "{message}");
    }
    client.settled_set("workers", 4).await;
    world.set_lock(&group_path(DEMO_GROUP), Some(Lock::CanNotDelete));
    client.patch(&path, json!({ "tags": {} })).await.ok();
    client.pass(6).await;
    let locked = client.delete(&path).await;
    assert_eq!(locked.refused(409), "ScopeLocked");
    world.set_lock(&group_path(DEMO_GROUP), Some(Lock::ReadOnly));
    assert_eq!(
        client
            .patch(&path, json!({ "tags": {} }))
            .await
            .refused(409),
        "ScopeLocked"
    );
    client.get(&path).await.ok();
    world.set_lock(&group_path(DEMO_GROUP), None);
    world.set_registered(DEMO_SUBSCRIPTION, "Microsoft.Insights", false);
    let setting = setting_path("workers-autoscale");
    let unregistered = client.put(&setting, fixed_setting("workers", 4)).await;
    assert_eq!(unregistered.refused(409), "MissingSubscriptionRegistration");
    world.set_registered(DEMO_SUBSCRIPTION, "microsoft.insights", true);
    client.put(&setting, fixed_setting("workers", 4)).await.ok();
}

#[tokio::test(start_paused = true)]
async fn settings_are_checked() {
    let client = demo().await;
    client.settled_set("workers", 1).await;
    let path = setting_path("workers-autoscale");
    let with = |pointer: &str, value: Value| {
        let mut setting = cpu_setting("workers", 1, 3);
        *setting.pointer_mut(pointer).unwrap() = value;
        setting
    };
    let profile = "/properties/profiles/0";
    let rule = "/properties/profiles/0/rules/0";
    let wrong = [
        with(&format!("{profile}/capacity/minimum"), json!(1)),
        with(&format!("{profile}/capacity/minimum"), json!("4")),
        with(&format!("{profile}/capacity/default"), json!("9")),
        with(&format!("{profile}/rules"), Value::Null),
        with(&format!("{rule}/scaleAction/value"), json!(1)),
        with(&format!("{rule}/metricTrigger/timeWindow"), json!("10m")),
        with("/properties/targetResourceUri", Value::Null),
    ];
    for setting in wrong {
        assert_eq!(
            client.put(&path, setting).await.refused(400),
            "InvalidRequestContent"
        );
    }
    client.put(&path, cpu_setting("workers", 1, 3)).await.ok();
    let second = client
        .put(&setting_path("other"), fixed_setting("workers", 1))
        .await;
    assert_eq!(second.refused(409), "Conflict");
    let tags = client
        .patch(&path, json!({ "tags": { "a": "b" } }))
        .await
        .ok();
    assert_eq!(tags.body["tags"], json!({ "a": "b" }));
    assert_eq!(
        tags.body["properties"]["profiles"][0]["capacity"]["maximum"],
        "3"
    );
}

#[tokio::test(start_paused = true)]
async fn versions_paths_and_callers_are_checked() {
    let client = demo().await;
    let path = set_path("workers");
    let missing = client.get(&format!("{path}?api-version=")).await;
    assert_eq!(missing.refused(400), "MissingApiVersionParameter");
    let unknown = client.get(&format!("{path}?api-version=1999-01-01")).await;
    assert_eq!(unknown.refused(400), "NoRegisteredProviderFound");
    assert_eq!(
        client.get("/subscriptions/x/resources").await.refused(403),
        "AuthorizationFailed"
    );
    let nobody = Client {
        token: "none".into(),
        ..client.clone()
    };
    let refused = nobody.get(&path).await;
    assert_eq!(refused.refused(401), "InvalidAuthenticationToken");
    assert!(refused.header("www-authenticate").starts_with("Bearer"));
    client.pass(3599).await;
    assert_eq!(
        client.get(&path).await.refused(401),
        "ExpiredAuthenticationToken"
    );
    let elsewhere = client
        .get(&format!(
            "{}/providers/Microsoft.Batch/x/y",
            group_path("g")
        ))
        .await;
    assert_eq!(elsewhere.status.as_u16(), 404);
}

#[tokio::test(start_paused = true)]
async fn scripted_faults_strike_by_action_and_name() {
    let client = demo().await;
    client.settled_set("workers", 1).await;
    let faults = client.sim.faults();
    let path = set_path("workers");
    let patch = json!({ "tags": {} });
    faults.script(
        Fault::new(Effect::Answer {
            status: 429,
            headers: vec![("Retry-After".into(), "17".into())],
            body: r#"{"code":"OperationNotAllowed","message":"slow"}"#.into(),
        })
        .on("compute", "VirtualMachineScaleSets_Update")
        .resource("workers")
        .once(),
    );
    let slow = client.patch(&path, patch.clone()).await;
    assert_eq!(
        (slow.status.as_u16(), slow.header("retry-after")),
        (429, "17")
    );
    faults.script(
        Fault::new(Effect::Throttle)
            .on("compute", "VirtualMachineScaleSets_Get")
            .once(),
    );
    let slow = client.get(&path).await;
    assert_eq!(slow.refused(429), "OperationNotAllowed");
    assert_eq!(slow.body["details"][0]["code"], "TooManyRequests");
    assert_eq!(slow.header("retry-after"), "10");
    faults.script(
        Fault::refuse("ResourceGroupBeingDeleted", "x", 409)
            .service("insights")
            .once(),
    );
    let refused = client.get(&setting_path("a")).await;
    assert_eq!(refused.refused(409), "ResourceGroupBeingDeleted");
    faults.script(
        Fault::new(Effect::LostAnswer)
            .on("compute", "VirtualMachineScaleSets_Update")
            .once(),
    );
    let request = http::Request::patch(format!(
        "https://management.azure.com{path}?api-version=2024-11-01"
    ))
    .header("authorization", format!("Bearer {}", client.token))
    .body(axum::body::Body::from(patch.to_string()))
    .unwrap();
    assert!(client.try_send(request).await.is_none());
    let set = client.get(&path).await.ok().body;
    assert_eq!(set["properties"]["provisioningState"], "Updating");
}
