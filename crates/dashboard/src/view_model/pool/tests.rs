//! Tables of what a pool's page shows.

use serde_json::json;

use super::super::{Known, fixtures};
use super::*;

fn page(object: &Value, infra: Value) -> PoolPage {
    let mut scene = fixtures::scene();
    scene.infra = Known::All(vec![infra]);
    pool(object, &scene, &[], false)
}

#[test]
fn a_quiet_pool_has_nothing_to_tell() {
    let page = page(&fixtures::pool("web", 3, 3), fixtures::infra("web", 3));
    assert_eq!(page.changes, []);
    assert_eq!(page.lanes.len(), 3);
    assert_eq!(page.lanes[0].count, "1 machine");
    assert_eq!(
        (page.cloud, page.has_machines, page.paused),
        (Some("AWS"), false, None)
    );
}

#[test]
fn what_changes_is_said_with_its_reason() {
    let mut owner = fixtures::pool("web", 3, 3);
    owner["spec"]["replicas"] = json!(5);
    fixtures::set(&mut owner, "ScalingUp", "True", "ScalingUp", "2 more", 300);
    let mut infra = fixtures::infra("web", 3);
    infra["status"]["instances"][1]["state"] = json!("degraded");
    infra["status"]["activeJob"] = json!({ "operation": "apply", "attempt": 2 });
    fixtures::set(
        &mut infra,
        "InputsApplied",
        "False",
        "InputsApplyFailed",
        "no",
        60,
    );
    let changes = page(&owner, infra).changes;
    let said: Vec<&str> = changes.iter().map(|change| change.what.as_str()).collect();
    assert_eq!(
        said,
        [
            "2 machines to come: 5 wanted, 3 there.",
            "An operation is running: apply, attempt 2.",
            "The current inputs are not applied yet.",
            "1 machine is degraded: i-00000000000000001.",
        ]
    );
    assert_eq!(changes[0].because.as_deref(), Some("2 more."));
    assert_eq!(changes[0].since.as_ref().unwrap().ago, "5 min ago");
    assert_eq!(changes[2].level, Level::Bad);
}

#[test]
fn a_thousand_machines_are_not_a_thousand_lines() {
    let mut infra = fixtures::infra("web", 1_000);
    infra["status"]["instances"][999]["state"] = json!("stopped");
    let page = page(&fixtures::pool("web", 1_000, 999), infra);
    let listed: usize = page.lanes.iter().map(|lane| lane.members.len()).sum();
    assert_eq!(listed, LISTED);
    assert_eq!(page.all.unwrap().members, 1_000);
    let mut shown = page.lanes.iter().flat_map(|lane| &lane.members);
    assert!(
        shown.any(|member| member.word == "Stopped"),
        "what needs a look is listed"
    );
    assert!(page.changes.len() < 5, "{:?}", page.changes);
}

#[test]
fn the_last_operation_is_told_with_what_went_wrong() {
    let mut infra = fixtures::infra("web", 0);
    infra["status"]["lastRun"] = json!({
        "job": "j", "operation": "apply",
        "steps": [{ "name": "plan", "exitCode": 0 }, { "name": "apply", "exitCode": 1, "durationMilliseconds": 1_250 }, {}],
        "error": { "kind": "step", "step": "apply", "summary": "denied", "resources": ["group", 7] },
        "drift": { "update": 1, "delete": 0, "resources": ["lt"] },
    });
    let run = page(&fixtures::pool("web", 0, 0), infra).run.unwrap();
    assert_eq!(run.operation, "Apply");
    assert_eq!(run.steps[1].took.as_deref(), Some("1.2 s"));
    assert!(run.steps[0].ok && !run.steps[1].ok && !run.steps[2].ok);
    assert_eq!(run.error.as_deref(), Some("The step apply failed: denied"));
    assert_eq!(run.resources, ["group"]);
    assert_eq!(run.drift.as_deref(), Some("1 to change (lt)"));
    assert_eq!(drift(&json!({})), "nothing");
    assert_eq!(failure(&json!({})), "It failed.");
}

#[test]
fn good_and_bad_conditions_are_told_apart_whatever_their_polarity() {
    let mut infra = fixtures::infra("web", 0);
    fixtures::set(&mut infra, "Ready", "True", "Ready", "", 1);
    fixtures::set(&mut infra, "Deleting", "False", "NotDeleting", "", 1);
    fixtures::set(&mut infra, "StateReadable", "False", "StateLost", "", 1);
    fixtures::set(
        &mut infra,
        "DriftDetected",
        "Unknown",
        "DriftNotChecked",
        "",
        1,
    );
    let rows = rows("TerraformMachinePool", &infra, fixtures::now());
    let levels: Vec<Level> = rows.iter().map(|row| row.level).collect();
    assert_eq!(
        levels,
        [Level::Good, Level::Good, Level::Warn, Level::Unknown]
    );
}

#[test]
fn a_pool_with_nothing_in_it_has_a_page() {
    let page = pool(&json!({}), &fixtures::scene(), &[], false);
    assert_eq!(page.counts.wanted, None);
    assert_eq!(page.lanes, []);
    assert!(page.run.is_none() && page.plot.is_none());
}
