//! The image lookup (AWS document 6, 13.6).

use crate::{
    harness::{World, demo::GROUP},
    moto::on_both,
};

on_both! {
    /// Proves: AWS-73.
    #[test]
    async fn the_newest_image_of_the_architecture_is_chosen(world: World) {
        let mut pool = world.demo_pool();
        let pass = world.pass(&mut pool).await;
        let create = pass.call("ec2:CreateLaunchTemplate");
        assert_eq!(create.param("LaunchTemplateData.ImageId"), world.cluster.newest_image);
        let lookup = pass.call("ec2:DescribeImages");
        assert_eq!(lookup.param("Owner.1"), "819546954734");
        assert_eq!(lookup.param("IncludeDeprecated"), "true");
        assert_eq!(lookup.param("Filter.1.Value.1"), "capa-ami-ubuntu-24.04-?1.34.1-*");
        assert_eq!(lookup.param("Filter.2.Value.1"), "x86_64");
        // There are an older image of the same name and a newer one for arm64.
        let all = world
            .probe
            .ec2(
                "DescribeImages",
                &[
                    ("Owner.1", "819546954734"),
                    ("Filter.1.Name", "name"),
                    ("Filter.1.Value.1", "capa-ami-ubuntu-24.04-v1.34.1-*"),
                ],
            )
            .await
            .unwrap();
        assert!(all.contains("v1.34.1-1750000000") && all.contains(">arm64<"));
    }
}

/// Proves: AWS-69.
#[tokio::test(start_paused = true)]
async fn no_matching_image_is_refused_before_anything_is_written() {
    let world = World::simulated();
    let hands = world.sim().world();
    for id in ["ami-01a00000000000864", "ami-01b00000000000864"] {
        hands.remove_image("us-east-1", id);
    }
    let mut pool = world.demo_pool();
    let pass = world.pass(&mut pool).await;
    assert_eq!(pass.codes(), ["R-7"]);
    let text = pass.refused[0].to_string();
    for part in ["capa-ami-ubuntu-24.04-?1.34.1-*", "x86_64", "819546954734"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(pass.writes(), [""; 0]);
    assert!(hands.group(GROUP).is_none());
}

/// One lookup serves all pools with the same query for five minutes.
#[tokio::test(start_paused = true)]
async fn a_lookup_is_shared_between_pools() {
    let world = World::simulated();
    let cluster = world.cluster.demo();
    for name in ["demo-pool-0", "demo-pool-1"] {
        let mut pool = crate::harness::demo::Pool::named(name, &cluster);
        world.pass(&mut pool).await;
    }
    assert_eq!(world.sim().journal().count("ec2", "DescribeImages"), 1);
    world.wait(301).await;
    world.pass(&mut world.demo_pool()).await;
    assert_eq!(world.sim().journal().count("ec2", "DescribeImages"), 2);
}
