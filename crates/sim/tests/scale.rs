//! A thousand groups of ten at full speed: what a control plane of that size asks for.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::time::{Duration, Instant};

use support::{Client, immediate};

#[tokio::test]
async fn a_thousand_groups_of_ten_are_quick() {
    let client = immediate();
    client.create_template("pool-lt").await.ok();
    let begin = Instant::now();
    for number in 0..1000 {
        let name = group_name(number);
        let sizes = [("MinSize", "10"), ("MaxSize", "10")];
        client.create_group_of(&name, "pool-lt", &sizes).await.ok();
    }
    client.sim.tick();
    assert_eq!(client.sim.world().instances().len(), 10_000);
    let made = begin.elapsed();
    let begin = Instant::now();
    assert_eq!(read_groups(&client).await, (10, 10_000));
    assert_eq!(read_instances(&client).await, (10, 10_000));
    let read = begin.elapsed();
    println!("made 10,000 instances in {made:?}, read them in {read:?} with 20 calls");
    // Generous: a debug build on a busy machine.
    assert!(made + read < Duration::from_mins(1));
}

fn group_name(number: usize) -> String {
    format!("captf-team-a-pool-{number:04}")
}

/// Calls it took, and members in service.
async fn read_groups(client: &Client) -> (usize, usize) {
    let (mut calls, mut members, mut token) = (0, 0, None::<String>);
    loop {
        let mut params = vec![("MaxRecords", "100")];
        params.extend(token.as_deref().map(|token| ("NextToken", token)));
        let text = client
            .asg("DescribeAutoScalingGroups", &params)
            .await
            .ok()
            .text();
        members += text
            .matches("<LifecycleState>InService</LifecycleState>")
            .count();
        calls += 1;
        token = between(&text, "<NextToken>", "</NextToken>");
        if token.is_none() {
            return (calls, members);
        }
    }
}

/// Calls it took, and running instances.
async fn read_instances(client: &Client) -> (usize, usize) {
    let (mut calls, mut instances) = (0, 0);
    for chunk in 0..5 {
        let names: Vec<(String, String)> = (0..200)
            .map(|number| {
                let field = format!("Filter.1.Value.{}", number + 1);
                (field, group_name(chunk * 200 + number))
            })
            .collect();
        let mut token = None::<String>;
        loop {
            let mut params = vec![
                ("Filter.1.Name", "tag:aws:autoscaling:groupName"),
                ("Filter.2.Name", "instance-state-name"),
                ("Filter.2.Value.1", "running"),
                ("MaxResults", "1000"),
            ];
            params.extend(
                names
                    .iter()
                    .map(|(field, name)| (field.as_str(), name.as_str())),
            );
            params.extend(token.as_deref().map(|token| ("NextToken", token)));
            let text = client.ec2("DescribeInstances", &params).await.ok().text();
            instances += text.matches("<instanceId>").count();
            calls += 1;
            token = between(&text, "<nextToken>", "</nextToken>");
            if token.is_none() {
                break;
            }
        }
    }
    (calls, instances)
}

fn between(text: &str, before: &str, after: &str) -> Option<String> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(inner, _)| inner.to_owned())
}
