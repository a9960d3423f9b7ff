//! Node labels that a kubelet may not set on itself.

use remuda_plan::{
    driver::{Desired, Driver},
    status::{condition::ConditionType, event::EventReason, wire::Operation},
};

use super::{
    lab::{Lab, apply_goal},
    world::{Edit as _, message, world},
};

const RESTRICTED: &str = "node-role.kubernetes.io/worker";

/// Proves: CAPTF-44.
#[test]
fn a_restricted_label_is_left_out_and_reported_once() {
    let labeled = world().owner(|owner| {
        let labels = &mut owner.spec.template.metadata.labels;
        labels.insert(RESTRICTED.to_owned(), String::new());
        labels.insert("team".to_owned(), "a".to_owned());
    });
    let goal = apply_goal(labeled.clone());
    let inputs = goal.inputs.as_ref().expect("inputs");
    let Desired::Aws(desired) = Driver::Aws
        .desired(inputs, &goal.variables, &goal.context())
        .expect("good inputs")
    else {
        panic!("an AWS pool");
    };
    assert!(desired.template.user_data.contains("team=a"));
    assert!(!desired.template.user_data.contains("node-role"));

    let mut lab = Lab::new(labeled);
    lab.settle();
    lab.cloud.tick();
    // Rotations apply again and again; the labels are the same.
    for round in 0..4_u8 {
        lab.edit(|world| world.bootstrap(format!("#cloud-config\n# {round}\n").as_bytes()));
        lab.world.memory = None;
        lab.run_for(120);
    }
    assert!(lab.operations(Operation::Apply) >= 4);
    let told = |event: &&EventReason| **event == EventReason::NodeLabelsDropped;
    assert_eq!(lab.events.iter().filter(told).count(), 1);
    assert!(message(&lab.world, ConditionType::ApplyJobSucceeded).contains(RESTRICTED));
}
