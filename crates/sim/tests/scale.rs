//! A thousand groups of ten at full speed: what a control plane of that size asks for.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::time::{Duration, Instant};

use support::immediate;

#[tokio::test]
async fn a_thousand_groups_of_ten_are_quick() {
    let client = immediate();
    client.create_template("pool-lt").await.ok();
    let begin = Instant::now();
    for number in 0..1000 {
        let name = format!("captf-team-a-pool-{number:04}");
        let sizes = [("MinSize", "10"), ("MaxSize", "10")];
        client.create_group_of(&name, "pool-lt", &sizes).await.ok();
    }
    client.sim.tick();
    assert_eq!(client.sim.world().instances().len(), 10_000);
    let made = begin.elapsed();
    let begin = Instant::now();
    let (mut calls, mut token, mut bytes) = (0, None::<String>, 0);
    let mut seen = 0;
    loop {
        let mut params = vec![("MaxRecords", "100")];
        if let Some(token) = &token {
            params.push(("NextToken", token));
        }
        let answer = client.asg("DescribeAutoScalingGroups", &params).await.ok();
        bytes += answer.body.len();
        seen += answer
            .text()
            .matches("<LifecycleState>InService</LifecycleState>")
            .count();
        calls += 1;
        token = answer
            .text()
            .split_once("<NextToken>")
            .map(|(_, rest)| rest.split_once("</NextToken>").unwrap().0.to_owned());
        if token.is_none() {
            break;
        }
    }
    assert_eq!((calls, seen), (10, 10_000));
    for chunk in 0..5 {
        let values: Vec<(String, String)> = (0..200)
            .map(|number| {
                let name = format!("captf-team-a-pool-{:04}", chunk * 200 + number);
                (format!("Filter.1.Value.{}", number + 1), name)
            })
            .collect();
        let mut params = vec![
            ("Filter.1.Name", "tag:aws:autoscaling:groupName"),
            ("Filter.2.Name", "instance-state-name"),
            ("Filter.2.Value.1", "running"),
            ("MaxResults", "1000"),
        ];
        params.extend(
            values
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        let first = client.ec2("DescribeInstances", &params).await.ok();
        let text = first.text();
        let next = text
            .split_once("<nextToken>")
            .unwrap()
            .1
            .split_once('<')
            .unwrap()
            .0
            .to_owned();
        params.push(("NextToken", &next));
        let second = client.ec2("DescribeInstances", &params).await.ok();
        let count = |text: &str| text.matches("<instanceId>").count();
        assert_eq!((count(&text), count(&second.text())), (1000, 1000));
        bytes += first.body.len() + second.body.len();
        calls += 2;
    }
    let read = begin.elapsed();
    println!(
        "made 10,000 instances in {made:?}; read them in {read:?}, {calls} calls, {bytes} bytes"
    );
    // Generous: a debug build on a busy machine.
    assert!(made + read < Duration::from_mins(1));
}
