//! The DEMO world of the AWS document, section 0.

use jiff::Timestamp;

use super::world::{ImageSpec, SubnetSpec, World};

/// The account of the demo world.
pub const DEMO_ACCOUNT: &str = "111122223333";
/// The region of the demo world.
pub const DEMO_REGION: &str = "us-east-1";
/// The access key of the demo account. It opens nothing outside a simulated world.
pub const DEMO_ACCESS_KEY_ID: &str = "AKIAREMUDADEMO000000";
/// The secret of [`DEMO_ACCESS_KEY_ID`].
pub const DEMO_SECRET_ACCESS_KEY: &str = "remudademosecretkeyforsimulatedworlds000";
/// The bootstrap bucket of the demo cluster.
pub const DEMO_BUCKET: &str = "captf-bootstrap-20261001000000000000000001";
/// The worker instance profile of the demo cluster, and the role behind it.
pub const DEMO_WORKER_PROFILE: &str = "captf-team-a-demo-1960e37c-worker";
/// A role that keys of the demo account may assume.
pub const DEMO_CONTROLLER_ROLE_ARN: &str = "arn:aws:iam::111122223333:role/remuda-demo-controller";

/// Owner of the published Cluster API images.
const IMAGE_OWNER: &str = "819546954734";
const VPC: &str = "vpc-0e0000000000000d1";

/// Puts everything into an empty world.
pub(super) fn furnish(world: &World) {
    world.add_account_key(DEMO_ACCOUNT, DEMO_ACCESS_KEY_ID, DEMO_SECRET_ACCESS_KEY);
    world.add_role(
        DEMO_ACCOUNT,
        "remuda-demo-controller",
        &[DEMO_ACCOUNT],
        None,
    );
    world.add_region(DEMO_REGION, "abcd");
    world.add_instance_profile(DEMO_ACCOUNT, DEMO_REGION, DEMO_WORKER_PROFILE);
    let prefixes = ["worker/", "pool/"];
    world.add_bucket(
        DEMO_ACCOUNT,
        DEMO_REGION,
        DEMO_BUCKET,
        DEMO_WORKER_PROFILE,
        &prefixes,
    );
    world.add_security_group(DEMO_ACCOUNT, DEMO_REGION, "sg-0e0000000000000e1");
    world.add_security_group(DEMO_ACCOUNT, DEMO_REGION, "sg-0abc000000000000a");
    world.add_key_pair(DEMO_ACCOUNT, DEMO_REGION, "ops");
    // A quarter of a /16 each: room for ten thousand instances. The first address is the eleventh
    // of the second /24, so that names look like those of the document.
    for (letter, id, cidr) in [
        ("a", "subnet-0aaa0000000000001", "10.0.0.0/18"),
        ("b", "subnet-0bbb0000000000002", "10.0.64.0/18"),
        ("c", "subnet-0ccc0000000000003", "10.0.128.0/18"),
        ("d", "subnet-0ddd0000000000004", "10.0.192.0/18"),
    ] {
        let zone = format!("{DEMO_REGION}{letter}");
        let subnet = SubnetSpec {
            id,
            vpc: VPC,
            zone: &zone,
            cidr,
            first_host: 256 + 11,
        };
        world.add_subnet(DEMO_ACCOUNT, DEMO_REGION, &subnet);
    }
    for image in images() {
        world.add_image(DEMO_REGION, image);
    }
}

fn images() -> Vec<ImageSpec> {
    // Version, build (seconds since the epoch, as the publisher names images), id.
    let built = [
        ("v1.34.1", 1_760_000_000, "1a"),
        ("v1.34.1", 1_750_000_000, "1b"),
        ("v1.34.2", 1_763_000_000, "2a"),
        ("v1.35.0", 1_768_000_000, "3a"),
        ("v1.35.1", 1_772_000_000, "4a"),
    ];
    let mut images = Vec::new();
    for (version, build, id) in built {
        let name = format!("capa-ami-ubuntu-24.04-{version}-{build}");
        let image = |tail: &str, build: i64| {
            let created = Timestamp::from_second(build).unwrap_or(Timestamp::UNIX_EPOCH);
            ImageSpec::new(
                &format!("ami-0{id}0000000000{tail}"),
                &name,
                IMAGE_OWNER,
                created,
            )
        };
        images.push(image("0864", build));
        // The arm64 builds finish a little later.
        images.push(image("0a64", build + 600).arm64());
    }
    // Pinned images of the document's examples.
    for id in ["ami-0123456789abcdef0", "ami-0aaaaaaaaaaaaaaaa"] {
        let created = Timestamp::from_second(1_755_000_000).unwrap_or(Timestamp::UNIX_EPOCH);
        let mut image = ImageSpec::new(id, "my-own-image", super::DEMO_ACCOUNT, created);
        image.kubelet_version = Some("v1.34.1".into());
        images.push(image);
    }
    images
}
