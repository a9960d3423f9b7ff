//! Failures that are told once and change nothing else.

use remuda_plan::{
    aws::observed::{Activity, Observed, Refresh},
    driver::{self, Driver},
    pool::notice::{Notice, NoticeKind},
    pool::read::Read,
};

use super::{
    cloud::{Cloud, applied},
    demo::{Demo, demo},
};

const NO_CAPACITY: &str = "We currently do not have sufficient m6i.large capacity in us-east-1a.";

fn observed(cloud: &Cloud, demo: &Demo) -> Observed {
    let desired = driver::Desired::Aws(Box::new(demo.good()));
    let driver::Handle::Aws(handle) = Driver::handle(&desired, &demo.context()) else {
        panic!("an AWS pool");
    };
    cloud.observe(&handle)
}

fn notices(observed: &Observed) -> Vec<Notice> {
    Driver::notices(None, &driver::Observed::Aws(Box::new(observed.clone())))
}

fn failed(id: &str) -> Activity {
    Activity {
        id: id.to_owned(),
        status_message: NO_CAPACITY.to_owned(),
    }
}

#[test]
fn many_failed_tries_are_one_notice_while_members_are_missing() {
    let (mut cloud, demo) = applied(demo());
    cloud.group_mut().instances.pop();
    let health = cloud.outputs(&demo).health;
    let mut seen = observed(&cloud, &demo);
    seen.failed_activities = Read::Known(vec![failed("a-3"), failed("a-2"), failed("a-1")]);
    let told = notices(&seen);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].kind, NoticeKind::LaunchFailed);
    assert!(told[0].message.contains(NO_CAPACITY));
    assert_eq!(cloud.outputs(&demo).health, health);

    cloud.tick(); // the member is there
    let mut seen = observed(&cloud, &demo);
    seen.failed_activities = Read::Known(vec![failed("a-1")]);
    assert!(notices(&seen).is_empty());
}

#[test]
fn only_the_newest_refresh_is_told_and_only_when_it_failed() {
    let (mut cloud, demo) = applied(demo());
    let refresh = |id: &str, status: &str| Refresh {
        id: id.to_owned(),
        status: status.to_owned(),
        status_reason: Some("instances did not become healthy".to_owned()),
        percentage_complete: Some(40),
    };
    let outputs = cloud.outputs(&demo);
    cloud.refreshes = vec![refresh("r-2", "Failed"), refresh("r-1", "Failed")];
    let told = notices(&observed(&cloud, &demo));
    assert_eq!(told.len(), 1);
    assert_eq!(
        (told[0].kind, told[0].id.as_str()),
        (NoticeKind::RollFailed, "r-2")
    );
    assert!(told[0].message.contains("did not become healthy"));
    assert_eq!(cloud.outputs(&demo), outputs);
    let plan = cloud.plan(&demo).expect("a plan can be made");
    assert!(
        plan.steps.is_empty(),
        "a failed refresh is not started again"
    );

    cloud.refreshes.insert(0, refresh("r-3", "Successful"));
    assert!(notices(&observed(&cloud, &demo)).is_empty());
}

#[test]
fn what_was_not_read_is_no_news() {
    let (cloud, demo) = applied(demo());
    let mut seen = observed(&cloud, &demo);
    seen.refreshes = Read::NotAsked;
    seen.failed_activities = Read::NotAsked;
    assert!(notices(&seen).is_empty());
}
