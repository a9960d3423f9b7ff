//! What an identity needs, against the requests that are really sent. The needs of a request are
//! worked out here from its method, its path and the resources its body links to, as ARM does, and
//! not taken from the table of calls.

use std::collections::BTreeSet;

use remuda_azure::permissions;
use remuda_plan::{
    azure::{action::Action, image::ImageReference},
    driver::Handle,
    pool::{
        action,
        read::{Depth, Freshness},
    },
};
use remuda_sim::azure::{DEMO_GROUP, DEMO_SUBSCRIPTION};
use serde_json::{Value, json};

use crate::harness::{
    World,
    demo::{Pool, ROTATED, SET},
    wire::Recorded,
};

/// The resource type that a path is about: `Microsoft.Compute/galleries/images`.
fn resource_type(path: &str) -> String {
    let (_, below) = path.rsplit_once("/providers/").unwrap();
    let parts: Vec<&str> = below.split('/').collect();
    let types: Vec<&str> = parts[1..].iter().step_by(2).copied().collect();
    format!("{}/{}", parts[0], types.join("/"))
}

/// The operation that ARM checks for a request itself.
fn operation(request: &Recorded) -> String {
    let (method, _) = request.name.split_once(' ').unwrap();
    let verb = match method {
        "GET" => "read",
        "PUT" | "PATCH" => "write",
        "DELETE" => "delete",
        _ => {
            let (resource, verb) = request.path.rsplit_once('/').unwrap();
            return format!("{}/{verb}/action", resource_type(resource));
        }
    };
    format!("{}/{verb}", resource_type(&request.path))
}

/// The operations that ARM checks on what a body links to.
fn links(body: &Value, found: &mut BTreeSet<String>) {
    match body {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "userAssignedIdentities" {
                    let assign = "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action";
                    found.insert(assign.to_owned());
                }
                if let Some(id) = value.get("id").and_then(Value::as_str) {
                    let linked = resource_type(id);
                    match name.as_str() {
                        "subnet" | "networkSecurityGroup" => {
                            found.insert(format!("{linked}/join/action"));
                        }
                        "imageReference" => {
                            found.insert(format!("{linked}/read"));
                        }
                        _ => {}
                    }
                }
                if name == "applicationSecurityGroups" && value != &json!([]) {
                    let linked = "Microsoft.Network/applicationSecurityGroups";
                    found.insert(format!("{linked}/joinIpConfiguration/action"));
                }
                links(value, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| links(value, found)),
        _ => {}
    }
}

/// Everything that ARM checks for a request, in lower case: it compares without case.
fn needs(request: &Recorded) -> BTreeSet<String> {
    let own = operation(request);
    let mut found = BTreeSet::new();
    if request.query.contains("instanceView") {
        found.insert(format!(
            "{}/instanceView/read",
            own.trim_end_matches("/read")
        ));
    }
    if request.is_write() {
        links(&request.json(), &mut found);
    }
    found.insert(own);
    found.iter().map(|need| need.to_lowercase()).collect()
}

/// One image of each kind that a pool can name.
fn images() -> Vec<ImageReference> {
    let group = format!("/subscriptions/{DEMO_SUBSCRIPTION}/resourceGroups/{DEMO_GROUP}");
    let compute = format!("{group}/providers/Microsoft.Compute");
    let gallery = "images/ubuntu";
    let version = "images/ubuntu/versions/1.34.1";
    let id = |text: &str| ImageReference::Id(format!("{compute}/{text}"));
    vec![
        id("images/node"),
        id(&format!("galleries/own/{gallery}")),
        id(&format!("galleries/own/{version}")),
        ImageReference::Community(format!("/communityGalleries/public/{gallery}")),
        ImageReference::Community(format!("/communityGalleries/public/{version}")),
        ImageReference::Shared(format!("/sharedGalleries/tenant/{gallery}")),
        ImageReference::Shared(format!("/sharedGalleries/tenant/{version}")),
    ]
}

/// What a pool's life sends, and looks at images of all kinds.
async fn life(world: &World) -> Vec<Recorded> {
    let mut pool = Pool::demo();
    world.settle_and_boot(&mut pool).await;
    pool.bootstrap(ROTATED);
    world.settle(&mut pool).await;
    let session = world.session().await;
    let handle = world.handle(&pool);
    for image in images() {
        let Handle::Azure(mut handle) = handle.clone() else {
            panic!("an Azure pool");
        };
        // An image that is not there was asked for all the same.
        handle.image = Some(image);
        let handle = Handle::Azure(handle);
        let observed = session.observe(&handle, Depth::Full, Freshness::Steady);
        observed.await.unwrap();
    }
    session.who().await.unwrap();
    let desired = world.desired(&pool);
    session.examine(&handle, Some(&desired)).await.unwrap();
    for action in [
        Action::DeleteInstances {
            set: SET.to_owned(),
            instance_ids: ["0".to_owned()].into(),
        },
        Action::ResizeSet {
            set: SET.to_owned(),
            vm_size: "Standard_D4s_v5".to_owned(),
            from: 2,
            to: 3,
        },
    ] {
        let action = action::Action::Azure(action);
        session.apply(&handle, &action).await.unwrap();
        world.wait(120).await;
    }
    world.delete(&mut pool).await;
    world.recorder.since(0)
}

/// Every request that a pool's life makes is allowed, and nothing else is. Images of other kinds
/// than the demo's are linked to as they are read.
#[tokio::test(start_paused = true)]
async fn the_permissions_are_those_of_the_requests_that_are_sent() {
    let world = World::new();
    let sent = life(&world).await;
    let to_arm = sent.iter().filter(|request| request.name != "POST token");
    let needed: BTreeSet<String> = to_arm.flat_map(needs).collect();
    let granted: BTreeSet<String> = permissions()
        .iter()
        .map(|grant| grant.action.to_lowercase())
        .collect();
    assert_eq!(granted, needed);
}

/// Each call of the table is made, and needs at least what the requests of its kind need.
#[tokio::test(start_paused = true)]
async fn every_permission_is_listed_with_the_calls_that_need_it() {
    let world = World::new();
    let sent = life(&world).await;
    let is_of = |request: &Recorded, call: &str| {
        let (method, kind) = call.split_once(' ').unwrap();
        let method = if method == "LIST" { "GET" } else { method };
        request.name.starts_with(method)
            && operation(request)
                .to_lowercase()
                .contains(&format!("/{}", kind.to_lowercase()))
    };
    let granted = permissions();
    let calls: BTreeSet<&str> = granted
        .iter()
        .flat_map(|grant| &grant.calls)
        .copied()
        .collect();
    for call in calls {
        let requests: Vec<&Recorded> = sent
            .iter()
            .filter(|request| request.name != "POST token" && is_of(request, call))
            .collect();
        assert!(!requests.is_empty(), "{call} is never made");
    }
    for grant in granted {
        let action = grant.action.to_lowercase();
        let is_needed = sent
            .iter()
            .filter(|request| request.name != "POST token")
            .filter(|request| needs(request).contains(&action))
            .any(|request| grant.calls.iter().any(|call| is_of(request, call)));
        assert!(is_needed, "{} is listed with another call", grant.action);
    }
}

/// The role is the permissions and nothing more, and assigns itself nowhere.
#[test]
fn the_role_says_the_same() {
    let role = remuda_azure::role();
    let actions: Vec<&str> = permissions().iter().map(|grant| grant.action).collect();
    assert_eq!(role["Actions"], json!(actions));
    assert_eq!(role["DataActions"], json!([]));
    assert!(!role.to_string().contains('*'));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/azure/role.json");
    let committed: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(committed, role, "run `cargo xtask permissions`");
}
