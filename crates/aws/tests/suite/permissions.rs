//! What an identity needs, against the calls that are really made. The needs of a call are written
//! down here once more, from AWS's reference of actions, and not taken from the table of calls.

use std::collections::{BTreeMap, BTreeSet};

use remuda_aws::AwsBackend;
use remuda_cloud::{Applied, PoolBackend, PoolSession};
use remuda_plan::{
    aws::action::{Action, GroupUpdate},
    pool::{
        action,
        read::{Depth, Freshness},
    },
};

use crate::{
    harness::{
        World,
        demo::{BUCKET, GROUP, KEY, Pool},
    },
    identity,
};

/// What AWS asks the caller of a call for.
fn needs(call: &str) -> BTreeSet<&str> {
    let launches = ["ec2:RunInstances", "ec2:CreateTags", "iam:PassRole"];
    let further: &[&str] = match call {
        // A HEAD has no right of its own.
        "s3:HeadObject" => return ["s3:GetObject"].into(),
        "s3:PutObject" => &["s3:PutObjectTagging"],
        "ec2:CreateLaunchTemplate" => &["ec2:CreateTags"],
        "autoscaling:CreateAutoScalingGroup" => &[
            "autoscaling:CreateOrUpdateTags",
            "iam:CreateServiceLinkedRole",
            launches[0],
            launches[1],
            launches[2],
        ],
        "autoscaling:UpdateAutoScalingGroup" => &launches,
        "autoscaling:StartInstanceRefresh" => &launches[..1],
        _ => &[],
    };
    further.iter().copied().chain([call]).collect()
}

/// The actions that no pool's own course makes here.
fn others(template: &str) -> Vec<Action> {
    let group = GROUP.to_owned();
    let tags = BTreeMap::from([("team".to_owned(), "platform".to_owned())]);
    let keys = BTreeSet::from(["team".to_owned()]);
    let instance = "i-0123456789abcdef0".to_owned();
    let processes = BTreeSet::from(["AZRebalance".to_owned()]);
    vec![
        Action::TagPayload {
            bucket: BUCKET.to_owned(),
            key: KEY.to_owned(),
            tags: tags.clone(),
        },
        Action::TagTemplate {
            id: template.to_owned(),
            tags: tags.clone(),
        },
        Action::UntagTemplate {
            id: template.to_owned(),
            keys: keys.clone(),
        },
        Action::TagGroup {
            group: group.clone(),
            tags,
        },
        Action::UntagGroup {
            group: group.clone(),
            keys,
        },
        Action::ResumeProcesses {
            group: group.clone(),
            processes,
        },
        Action::PutCpuPolicy {
            group: group.clone(),
            target_percent: 60.0,
        },
        Action::DeleteCpuPolicy {
            group: group.clone(),
        },
        Action::StartRefresh {
            group: group.clone(),
            warmup_seconds: 300,
        },
        Action::CancelRefresh {
            group: group.clone(),
        },
        Action::DeleteHook {
            group: group.clone(),
        },
        Action::PutHook {
            group: group.clone(),
            heartbeat_seconds: 300,
        },
        Action::CompleteHook {
            group: group.clone(),
            instance_id: instance.clone(),
        },
        Action::ProlongHook {
            group: group.clone(),
            instance_id: instance.clone(),
        },
        Action::EndInstance {
            group: group.clone(),
            instance_id: instance.clone(),
            decrement: false,
        },
        Action::UnprotectInstances {
            group: group.clone(),
            instance_ids: [instance].into(),
        },
        // A group that is short of members is asked why.
        Action::UpdateGroup(GroupUpdate {
            group,
            max_size: Some(9),
            desired_capacity: Some(9),
            ..GroupUpdate::default()
        }),
    ]
}

async fn apply(world: &World, session: &dyn PoolSession, pool: &Pool, action: Action) {
    let sent = session
        .apply(&world.handle(pool), &action::Action::Aws(action.clone()))
        .await;
    assert!(
        matches!(
            sent,
            Ok(Applied::Done | Applied::AlreadySo | Applied::Pending { .. })
        ),
        "{action:?}: {sent:?}"
    );
}

/// Every call that a pool's life makes is allowed, and nothing else is: neither a permission that no
/// call needs, nor a call in the table that is never made.
#[tokio::test(start_paused = true)]
async fn the_permissions_are_those_of_the_calls_that_are_made() {
    let world = World::simulated();
    let mut pool = world.demo_pool();
    world.settle(&mut pool).await;
    pool.set("instance_type", serde_json::json!("m6i.xlarge"));
    world.settle(&mut pool).await;
    pool.resize(2);
    world.settle(&mut pool).await;
    let templates = world.probe.templates(GROUP).await;
    let template = templates.values().next().unwrap();
    let backend = AwsBackend::new(world.options().clone());
    let session = backend.session(&identity::assumed_role()).await.unwrap();
    for action in others(template) {
        apply(&world, &*session, &pool, action).await;
    }
    let handle = world.handle(&pool);
    let full = session.observe(&handle, Depth::Full, Freshness::Fresh);
    full.await.unwrap();
    session.who().await.unwrap();
    let desired = world.desired(&pool);
    session.examine(&handle, Some(&desired)).await.unwrap();
    world.delete(&mut pool).await;

    let calls = world.recorder.since(0);
    // Whom a credential is for is told without any right.
    let needing = |name: &&str| *name != "sts:GetCallerIdentity";
    let made: BTreeSet<&str> = calls
        .iter()
        .map(|call| call.name.as_str())
        .filter(needing)
        .collect();
    let permissions = remuda_aws::permissions();
    let listed: BTreeSet<&str> = permissions
        .iter()
        .flat_map(|grant| &grant.calls)
        .copied()
        .collect();
    assert_eq!(made, listed);
    let needed: BTreeSet<&str> = made.iter().flat_map(|call| needs(call)).collect();
    let granted: BTreeSet<&str> = permissions.iter().map(|grant| grant.action).collect();
    assert_eq!(granted, needed);
    for grant in &permissions {
        let needing: BTreeSet<&str> = made
            .iter()
            .copied()
            .filter(|call| needs(call).contains(grant.action))
            .collect();
        assert_eq!(grant.calls, needing, "{}", grant.action);
    }
}

/// The policy is the permissions, each in a statement whose resources or conditions keep it to pools.
#[test]
fn the_policy_says_the_same() {
    let policy = remuda_aws::policy();
    let statements = policy["Statement"].as_array().unwrap();
    let allowed: BTreeSet<&str> = statements
        .iter()
        .flat_map(|statement| statement["Action"].as_array().unwrap())
        .map(|action| action.as_str().unwrap())
        .collect();
    let permissions = remuda_aws::permissions();
    let granted: BTreeSet<&str> = permissions.iter().map(|grant| grant.action).collect();
    assert_eq!(allowed, granted);
    let ends = statements
        .iter()
        .find(|statement| statement["Sid"] == "ChangeOwnGroups")
        .unwrap();
    let tag = &ends["Condition"]["StringEquals"]["aws:ResourceTag/captf.io/managed-by"];
    assert_eq!(tag, "captf");
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../deploy/aws/iam-policy.json"
    );
    let committed: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(committed, policy, "run `cargo xtask permissions`");
}
