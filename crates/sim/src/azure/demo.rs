//! The demo world: the fixture of the Azure document, section 13.1.

use super::world::World;

/// The subscription of the demo world.
pub const DEMO_SUBSCRIPTION: &str = "6f1c1e1a-3b7e-4a3c-9a39-5d2f1c0b8e11";
/// Its tenant.
pub const DEMO_TENANT: &str = "72f988bf-86f1-41af-91ab-2d7cd011db47";
/// The application that may do everything in it.
pub const DEMO_CLIENT_ID: &str = "3c9d5f2e-7a41-4b8e-9f60-1d2e3f4a5b6c";
/// The secret of [`DEMO_CLIENT_ID`]. It opens nothing outside a simulated world.
pub const DEMO_CLIENT_SECRET: &str = "remuda-demo-secret-for-simulated-worlds";
/// The region of the demo cluster.
pub const DEMO_REGION: &str = "westeurope";
/// The resource group of the demo cluster.
pub const DEMO_GROUP: &str = "captf-team-a-demo-2a8d5f7c";
/// The gallery Cluster API publishes its images in.
pub const DEMO_GALLERY: &str =
    "/communityGalleries/ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019/images/capi-ubun2-2404";
/// Client id of the demo cluster's worker identity.
pub const DEMO_WORKER_CLIENT_ID: &str = "7a4b9c7d-2e8f-4a3b-9c4d-7e8f9a0b1c2d";
/// Id of the demo cluster's worker identity.
pub const DEMO_WORKER_IDENTITY: &str = "/subscriptions/6f1c1e1a-3b7e-4a3c-9a39-5d2f1c0b8e11/resourceGroups/captf-team-a-demo-2a8d5f7c/providers/Microsoft.ManagedIdentity/userAssignedIdentities/captf-team-a-demo-2a8d5f7c-worker";
/// Id of the demo cluster's worker subnet.
pub const DEMO_WORKER_SUBNET: &str = "/subscriptions/6f1c1e1a-3b7e-4a3c-9a39-5d2f1c0b8e11/resourceGroups/network/providers/Microsoft.Network/virtualNetworks/hub/subnets/workers";

const VERSIONS: [&str; 6] = ["1.34.0", "1.34.1", "1.34.2", "1.34.3", "1.35.0", "1.35.1"];

/// Puts everything into an empty world.
pub(super) fn furnish(world: &World) {
    world.add_region(DEMO_REGION, &["1", "2", "3"]);
    world.add_region("northeurope", &["1", "2", "3"]);
    // A region without zones.
    world.add_region("westus", &[]);
    world.add_subscription(DEMO_SUBSCRIPTION, DEMO_TENANT);
    world.add_application(
        DEMO_TENANT,
        DEMO_CLIENT_ID,
        DEMO_CLIENT_SECRET,
        DEMO_SUBSCRIPTION,
    );
    for group in ["network", DEMO_GROUP] {
        world.add_group(DEMO_SUBSCRIPTION, group, DEMO_REGION);
    }
    // Room for tens of thousands of instances; the first address is the document's.
    world.add_subnet(DEMO_WORKER_SUBNET, "10.0.0.0/16", 256 + 4);
    let network = format!(
        "/subscriptions/{DEMO_SUBSCRIPTION}/resourceGroups/{DEMO_GROUP}/providers/Microsoft.Network"
    );
    world.add_network_security_group(&format!(
        "{network}/networkSecurityGroups/{DEMO_GROUP}-worker-nsg"
    ));
    world.add_application_security_group(&format!(
        "{network}/applicationSecurityGroups/{DEMO_GROUP}-worker-asg"
    ));
    world.add_identity(DEMO_WORKER_IDENTITY, DEMO_WORKER_CLIENT_ID);
    for version in VERSIONS {
        let id = format!("{DEMO_GALLERY}/versions/{version}");
        world.add_image(&id, Some(&format!("v{version}")));
    }
}
