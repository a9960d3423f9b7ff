//! What the node agent does about Scheduled Events, and what the management side reads on the Node.

use std::collections::BTreeMap;

use jiff::Timestamp;
use remuda_plan::machines::{
    agent::{EventKind, ScheduledEvent, Step, Told, is_drained, leaving, step},
    group::Leaving,
};

const MACHINE: &str = "workers-7d91b187_0";
const TERMINATING: &str = "remuda.dev/terminating";
const DRAINED: &str = "remuda.dev/drained";

fn moment() -> Timestamp {
    "2026-10-01T08:07:00Z".parse().expect("a moment")
}

fn event(id: &str, kind: EventKind, machine: &str) -> ScheduledEvent {
    ScheduledEvent {
        id: id.to_owned(),
        kind,
        machines: vec![machine.to_owned()],
        has_begun: false,
        not_before: Some(moment()),
    }
}

fn terminate() -> ScheduledEvent {
    event("E-1", EventKind::Terminate, MACHINE)
}

fn told() -> Told {
    Told {
        event: "E-1".to_owned(),
        kind: EventKind::Terminate,
        not_before: Some(moment()),
    }
}

fn node<const N: usize>(annotations: [(&str, String); N]) -> BTreeMap<String, String> {
    annotations
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

#[test]
fn the_agent_tells_waits_and_acknowledges() {
    let events = [terminate()];
    let bare = node([]);
    assert_eq!(step(&events, MACHINE, Some(&bare)), Step::Tell(told()));
    let seen = node([(TERMINATING, told().text())]);
    assert_eq!(step(&events, MACHINE, Some(&seen)), Step::Wait);
    let drained = node([
        (TERMINATING, told().text()),
        (DRAINED, "2026-10-01T08:04:00Z".to_owned()),
    ]);
    assert!(is_drained(&drained));
    assert_eq!(
        step(&events, MACHINE, Some(&drained)),
        Step::Acknowledge("E-1".to_owned())
    );
    assert_eq!(
        step(&events, MACHINE, None),
        Step::Acknowledge("E-1".to_owned()),
        "without a Node there is nothing to drain"
    );
    assert_eq!(
        step(&events, &MACHINE.to_uppercase(), Some(&seen)),
        Step::Wait
    );
}

#[test]
fn what_happens_to_others_or_does_not_end_a_machine_is_no_business_of_the_agent() {
    let others = [
        event("E-2", EventKind::Terminate, "workers-7d91b187_1"),
        event("E-3", EventKind::Other, MACHINE),
    ];
    assert_eq!(step(&others, MACHINE, Some(&node([]))), Step::Rest);
    assert_eq!(step(&[], MACHINE, None), Step::Rest);
    let begun = ScheduledEvent {
        has_begun: true,
        not_before: None,
        ..terminate()
    };
    let seen = node([(TERMINATING, told().text())]);
    assert_eq!(step(&[begun], MACHINE, Some(&seen)), Step::Rest);
}

#[test]
fn an_event_that_is_taken_back_or_replaced_is_told() {
    let seen = node([(TERMINATING, told().text())]);
    assert_eq!(step(&[], MACHINE, Some(&seen)), Step::Withdraw);
    let spot = event("E-9", EventKind::Preempt, MACHINE);
    let Step::Tell(told) = step(&[spot], MACHINE, Some(&seen)) else {
        panic!("another event is told");
    };
    assert_eq!(
        (told.event.as_str(), told.kind),
        ("E-9", EventKind::Preempt)
    );
    let broken = node([(TERMINATING, "{".to_owned())]);
    assert!(matches!(
        step(&[terminate()], MACHINE, Some(&broken)),
        Step::Tell(_)
    ));
}

#[test]
fn a_node_that_was_told_of_holds_its_instance_for_the_drain() {
    assert_eq!(leaving(&node([])), None);
    assert_eq!(leaving(&node([(TERMINATING, "nonsense".to_owned())])), None);
    let held = leaving(&node([(TERMINATING, told().text())]));
    assert_eq!(
        held,
        Some(Leaving::Held {
            because: "terminate notification".to_owned(),
            until: Some(moment()),
        })
    );
    let spot = Told {
        kind: EventKind::Preempt,
        not_before: None,
        ..told()
    };
    assert_eq!(
        leaving(&node([(TERMINATING, spot.text())])),
        Some(Leaving::Held {
            because: "spot".to_owned(),
            until: None,
        })
    );
}
