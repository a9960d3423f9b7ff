//! Rolls: bounds, order, what stops one, and a model of the whole way.

use jiff::SignedDuration;
use remuda_plan::{
    machines::{
        because::Because,
        group::Leaving,
        rollout::{Rolling, Rollout, RolloutSpec, Strategy},
    },
    pool::members::MemberState,
};
use serde_json::{Value, json};

use super::fleet::{Fleet, all_called, called, id, member};

fn spec(surge: Value, unavailable: Value) -> RolloutSpec {
    RolloutSpec {
        strategy: None,
        max_surge: Some(surge),
        max_unavailable: Some(unavailable),
    }
}

#[test]
fn bounds_are_counts_or_percentages_and_never_both_zero() {
    let bounds = |spec: &RolloutSpec, wanted| {
        let rollout = Rollout::of(Some(spec), wanted, false);
        (rollout.surge, rollout.unavailable)
    };
    assert_eq!(bounds(&RolloutSpec::default(), 10), (1, 0));
    assert_eq!(bounds(&spec(json!("25%"), json!("25%")), 10), (3, 2));
    assert_eq!(bounds(&spec(json!(0), json!(0)), 10), (0, 1));
    assert_eq!(bounds(&spec(json!(4), json!(2)), 10), (4, 2));
    assert_eq!(bounds(&spec(json!("x"), json!("-3")), 10), (1, 0));
    // A surge would be taken for the count of whoever owns it.
    let managed = Rollout::of(None, 10, true);
    assert_eq!((managed.surge, managed.unavailable), (0, 1));
}

#[test]
fn a_roll_asks_for_its_surge_first_and_takes_nobody_before_it_is_there() {
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    for name in ["a", "b", "c"] {
        fleet.member(name).outdated = true;
    }
    let decision = fleet.decide();
    assert_eq!(decision.wish.capacity, 4);
    assert!(decision.deletions.is_empty());
    assert_eq!(decision.rolling, Rolling::Yes { outdated: 3 });
    // It is there, but not available yet.
    fleet.join(new("n", 0));
    fleet.set("n", "Available", "False", "NotReady");
    assert!(fleet.going().is_empty());
    fleet.set("n", "Available", "True", "Available");
    let going = fleet.reasons();
    assert_eq!(going.len(), 1);
    assert_eq!(
        going[0].1,
        Because::Outdated {
            revision: Some("lt-1".to_owned())
        }
    );
}

fn new(name: &str, age_minutes: i64) -> remuda_plan::machines::group::GroupMember {
    let mut member = member(name, 0);
    member.launched_at = Some(super::fleet::start() - SignedDuration::from_mins(age_minutes));
    member.revision = Some("lt-3".to_owned());
    member
}

/// Proves: CAPI-52.
#[test]
fn three_replicas_roll_with_three_available_and_four_instances_at_most() {
    let mut model = Model::new(3, None);
    let steps = model.run();
    assert!(steps < 60, "the roll ended");
    assert!(model.least_available >= 3, "{model:?}");
    assert!(model.most_members <= 4, "{model:?}");
    assert_eq!(model.rolled.len(), 3, "each old one went once: {model:?}");
    assert_eq!(model.fleet.members.len(), 3);
}

#[test]
fn without_surge_one_is_missing_at_most() {
    let mut model = Model::new(3, Some(spec(json!(0), json!(1))));
    model.run();
    assert!(model.least_available >= 2, "{model:?}");
    assert!(model.most_members <= 3, "{model:?}");
    assert_eq!(model.rolled.len(), 3);
}

#[test]
fn a_percentage_rolls_several_at_once() {
    let mut model = Model::new(8, Some(spec(json!("25%"), json!("25%"))));
    model.run();
    assert!(model.least_available >= 6, "{model:?}");
    assert!(model.most_members <= 10, "{model:?}");
    assert_eq!(model.rolled.len(), 8);
}

#[test]
fn a_second_change_goes_on_to_the_newest_model_and_rolls_nothing_twice() {
    let mut model = Model::new(3, None);
    for _ in 0..9 {
        model.step();
    }
    assert!(
        !model.rolled.is_empty() && model.rolled.len() < 3,
        "{model:?}"
    );
    let before = model.rolled.clone();
    model.change();
    model.run();
    // Whoever went, went once, and those of the middle model followed.
    let mut once = model.rolled.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), model.rolled.len());
    assert!(model.rolled.starts_with(&before));
    let newest = Some("lt-2".to_owned());
    assert!(model.fleet.members.iter().all(|it| it.revision == newest));
    assert!(
        model.least_available >= 3 && model.most_members <= 4,
        "{model:?}"
    );
}

#[test]
fn the_oldest_model_goes_first() {
    let mut fleet = Fleet::of(&[]);
    for (name, revision, age) in [("a", "lt-2", 5), ("b", "lt-1", 9), ("c", "lt-2", 20)] {
        let mut member = member(name, age);
        member.revision = Some(revision.to_owned());
        member.outdated = true;
        fleet.join(member);
    }
    fleet.join(new("n", 1));
    fleet.wanted = Some(3);
    // lt-2 has the oldest member of all, so it is the older model.
    assert_eq!(fleet.going(), all_called(&["c"]));
}

#[test]
fn an_old_member_that_does_not_serve_goes_before_one_that_does() {
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    for name in ["a", "b", "c"] {
        fleet.member(name).outdated = true;
    }
    fleet.set("c", "Available", "False", "NotReady");
    fleet.join(new("n", 1));
    fleet.wanted = Some(3);
    assert_eq!(fleet.going(), all_called(&["c"]));
}

#[test]
fn a_failed_new_member_stops_the_roll_and_says_so() {
    let failures: [&dyn Fn(&mut Fleet); 3] = [
        &|fleet| fleet.member("n").member.state = MemberState::Stopped,
        &|fleet| fleet.set("n", "HealthCheckSucceeded", "False", "NodeStartupTimeout"),
        &|fleet| {
            fleet.set("n", "Available", "False", "NotReady");
            fleet.now += SignedDuration::from_mins(10);
        },
    ];
    for fail in failures {
        let mut fleet = Fleet::of(&["a", "b", "c"]);
        for name in ["a", "b", "c"] {
            fleet.member(name).outdated = true;
        }
        fleet.join(new("n", 0));
        fleet.wanted = Some(3);
        // Even where the bounds would let another one go.
        fleet.rollout = Some(spec(json!(1), json!(2)));
        assert!(!fleet.going().is_empty());
        fail(&mut fleet);
        let decision = fleet.decide();
        assert!(decision.deletions.is_empty(), "{decision:?}");
        let Rolling::Stopped {
            outdated, machine, ..
        } = decision.rolling
        else {
            panic!("{:?}", decision.rolling)
        };
        assert_eq!((outdated, machine), (3, called("n")));
    }
}

#[test]
fn a_successor_waits_for_what_shuts_down_where_the_surge_has_no_room() {
    let bounds = |surge: i64| spec(json!(surge), json!(0));
    for (surge, deleted, asked) in [(1, 1, 3), (1, 2, 2), (2, 2, 3), (0, 1, 2), (0, 3, 0)] {
        let mut fleet = Fleet::of(&["a", "b", "c"]);
        fleet.rollout = Some(bounds(surge));
        for name in ["a", "b", "c"].into_iter().take(deleted) {
            fleet.delete_machine(name);
            fleet.drained(name);
        }
        // Told to end now, and shutting down since: the same. Gone: the whole count again.
        assert_eq!(fleet.decide().wish.capacity, asked, "{surge}, {deleted}");
        for name in ["a", "b", "c"].into_iter().take(deleted) {
            fleet.leave(name, Leaving::Ending);
        }
        let decision = fleet.decide();
        assert!(decision.wish.ends.is_empty());
        assert_eq!(decision.wish.capacity, asked, "{surge}, {deleted}");
        for name in ["a", "b", "c"].into_iter().take(deleted) {
            fleet.vanish(name);
        }
        fleet.is_empty_certain = true;
        assert_eq!(fleet.decide().wish.capacity, 3);
        // Whoever owns the count would take what is missing for a wish.
        fleet.is_managed = true;
        assert_eq!(fleet.decide().wish.capacity, 3);
    }
}

/// Proves: CAPI-112.
#[test]
fn on_delete_waits_for_people_and_each_deletion_brings_one_of_the_new_model() {
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    for name in ["a", "b", "c"] {
        fleet.member(name).outdated = true;
    }
    fleet.rollout = Some(RolloutSpec {
        strategy: Some(Strategy::OnDelete),
        ..RolloutSpec::default()
    });
    let decision = fleet.decide();
    assert!(decision.deletions.is_empty());
    assert_eq!(decision.wish.capacity, 3);
    assert_eq!(decision.rolling, Rolling::OnDelete { outdated: 3 });
    fleet.delete_machine("b");
    fleet.drained("b");
    let decision = fleet.decide();
    assert_eq!(Vec::from_iter(&decision.wish.ends), [&id("b")]);
    assert_eq!(decision.wish.capacity, 3, "the group refills");
}

#[test]
fn fewer_replicas_during_a_roll_take_old_members_first() {
    let mut fleet = Fleet::of(&["a", "b", "c", "d"]);
    for name in ["a", "b"] {
        fleet.member(name).outdated = true;
    }
    fleet.wanted = Some(1);
    // Room for the surge is left; the roll goes on when the count is right.
    let mut expected = all_called(&["a", "b"]);
    expected.sort();
    let mut going = fleet.going();
    going.sort();
    assert_eq!(going, expected);
}

/// A pool that rolls: a cloud that keeps its count, Machines that drain, Nodes that come up.
#[derive(Debug)]
struct Model {
    fleet: Fleet,
    /// Model that a new member gets.
    newest: usize,
    made: usize,
    /// Members of older models that went, in order.
    rolled: Vec<String>,
    least_available: usize,
    most_members: usize,
}

impl Model {
    fn new(count: usize, rollout: Option<RolloutSpec>) -> Self {
        let names: Vec<String> = (0..count).map(|at| format!("o{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut fleet = Fleet::of(&names);
        fleet.rollout = rollout;
        let mut model = Self {
            fleet,
            newest: 0,
            made: 0,
            rolled: Vec::new(),
            least_available: usize::MAX,
            most_members: 0,
        };
        for member in &mut model.fleet.members {
            member.revision = Some("lt-0".to_owned());
        }
        model.change();
        model
    }

    /// A newer model.
    fn change(&mut self) {
        self.newest += 1;
        for member in &mut self.fleet.members {
            member.outdated = true;
        }
    }

    fn run(&mut self) -> usize {
        for step in 0..200 {
            if self.fleet.members.iter().all(|member| !member.outdated)
                && self.fleet.decide().wish.capacity
                    == i64::try_from(self.fleet.members.len()).unwrap()
            {
                return step;
            }
            self.step();
        }
        panic!("does not come to an end: {self:#?}");
    }

    /// A decision, what follows from it, and one step of everybody else.
    fn step(&mut self) {
        let decision = self.fleet.decide();
        // Whoever shut down at the last step is gone.
        self.fleet
            .members
            .retain(|member| member.leaving != Some(Leaving::Ending));
        // New Nodes have come up since.
        let fresh: Vec<String> = self
            .fleet
            .objects
            .machines
            .iter()
            .filter(|machine| !machine.is_available() && !machine.is_deleting())
            .map(|machine| machine.metadata.uid.clone())
            .collect();
        for machine in &mut self.fleet.objects.machines {
            if fresh.contains(&machine.metadata.uid) {
                "True".clone_into(&mut machine.status.conditions[0].status);
            }
            // A drain takes a step.
            if machine.is_deleting() {
                machine.status.conditions = vec![
                    serde_json::from_value(json!({
                        "type": "Deleting", "status": "True",
                        "reason": "WaitingForInfrastructureDeletion",
                    }))
                    .unwrap(),
                ];
                let name = machine.metadata.name.clone();
                let infra = self.fleet.objects.infra.iter_mut();
                for infra in infra.filter(|infra| infra.metadata.name == name) {
                    infra.metadata.deletion_timestamp = Some(super::fleet::start());
                }
            }
        }
        for deletion in &decision.deletions {
            let machines = self.fleet.objects.machines.iter_mut();
            for machine in machines.filter(|it| it.metadata.uid == deletion.uid) {
                machine.metadata.deletion_timestamp = Some(super::fleet::start());
            }
            self.rolled.push(deletion.machine.clone());
        }
        for member in &mut self.fleet.members {
            if decision.wish.ends.contains(&member.member.provider_id) {
                member.leaving = Some(Leaving::Ending);
            }
        }
        for removed in &decision.releases {
            let objects = &mut self.fleet.objects;
            objects.infra.retain(|it| it.metadata.uid != removed.uid);
            objects
                .machines
                .retain(|it| it.metadata.name != removed.name);
        }
        self.observe();
        // The group follows its count.
        while self.staying() < decision.wish.capacity {
            self.made += 1;
            let name = format!("n{}", self.made);
            let mut member = member(&name, 0);
            member.revision = Some(format!("lt-{}", self.newest));
            self.fleet.join(member);
            self.fleet.set(&name, "Available", "False", "NotReady");
        }
        self.observe();
    }

    /// What the group counts: an instance that shuts down has left it.
    fn staying(&self) -> i64 {
        let members = self.fleet.members.iter();
        i64::try_from(members.filter(|it| it.leaving.is_none()).count()).unwrap()
    }

    fn observe(&mut self) {
        let available = self
            .fleet
            .objects
            .machines
            .iter()
            .filter(|machine| machine.is_available() && !machine.is_deleting())
            .count();
        self.least_available = self.least_available.min(available);
        self.most_members = self.most_members.max(self.fleet.members.len());
    }
}
