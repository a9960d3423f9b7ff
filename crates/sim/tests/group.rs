//! Groups: creation, bounds, deletion, spread over zones, and how they keep their size.

mod support;

use support::{demo, immediate};

#[tokio::test(start_paused = true)]
async fn a_new_group_fills_up_over_its_zones() {
    let client = demo();
    client.create_group("pool", "3").await;
    assert_eq!(
        client.live("pool"),
        0,
        "a group acts after the call returned"
    );
    client.pass(5).await;
    let group = client.group("pool");
    assert_eq!(group.members.len(), 3);
    assert!(
        group
            .members
            .iter()
            .all(|member| member.lifecycle == "Pending")
    );
    client.pass(10).await;
    let group = client.group("pool");
    assert_eq!(group.in_service(), 3);
    let mut zones: Vec<&str> = group
        .members
        .iter()
        .map(|member| member.zone.as_str())
        .collect();
    zones.sort_unstable();
    assert_eq!(zones, ["us-east-1a", "us-east-1b", "us-east-1c"]);
}

#[tokio::test]
async fn bounds_move_the_desired_capacity() {
    let client = immediate();
    client.create_group("pool", "3").await;
    let update = |min: &'static str, max: &'static str| {
        let client = client.clone();
        async move {
            let params = [
                ("AutoScalingGroupName", "pool"),
                ("MinSize", min),
                ("MaxSize", max),
            ];
            client.asg("UpdateAutoScalingGroup", &params).await
        }
    };
    update("5", "8").await.ok();
    assert_eq!(client.group("pool").desired, 5);
    update("0", "2").await.ok();
    assert_eq!(client.group("pool").desired, 2);
    assert_eq!(client.live("pool"), 2);
    assert_eq!(update("3", "2").await.code(), "ValidationError");
    assert_eq!(
        client.group("pool").min,
        0,
        "a refused update changes nothing"
    );
}
