//! The group's fields, processes and CPU policy (AWS document 4.4 to 4.6, 5.1).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    action::{Action, GroupUpdate},
    desired::GroupSpec,
    limits, names,
    observed::{Group, Hook, Policy},
    steps::Steps,
};
use crate::pool::{
    action::{ChangeKind, Effect, FieldChange},
    record::DrainHook,
    steps::{Call, arrow, field},
};

/// Health check type of every group.
const HEALTH_CHECK: &str = "EC2";
/// Metric of the CPU policy.
pub const CPU_METRIC: &str = "ASGAverageCPUUtilization";
/// Type of the CPU policy.
pub const POLICY_TYPE: &str = "TargetTrackingScaling";
/// What the lifecycle hook holds up.
pub const HOOK_TRANSITION: &str = "autoscaling:EC2_INSTANCE_TERMINATING";
/// What becomes of a held instance when nobody answers: it goes.
pub const HOOK_RESULT: &str = "CONTINUE";

/// Stable logical name of a group.
pub fn object(name: &str) -> String {
    format!("autoscaling_group/{name}")
}

/// Stable logical name of the CPU policy.
pub fn policy_object() -> String {
    format!("scaling_policy/{}", names::POLICY)
}

/// Stable logical name of the lifecycle hook.
pub fn hook_object() -> String {
    format!("lifecycle_hook/{}", names::HOOK)
}

/// A new group as people see it.
pub fn described(spec: &GroupSpec, template_name: &str) -> Vec<FieldChange> {
    let new = |name: &str, value: Value| field(name, Value::Null, value);
    let hook = spec
        .hook
        .map(|hook| new("lifecycle_hook", json!(shown(&wanted_hook(hook)))));
    let mut changes = vec![
        new("min_size", json!(spec.min_size)),
        new("max_size", json!(spec.max_size)),
        new("desired_capacity", json!(spec.desired_capacity)),
        new("launch_template", json!(format!("{template_name} $Latest"))),
        new("subnets", json!(spec.subnets)),
        new("capacity_rebalance", json!(spec.capacity_rebalance)),
    ];
    changes.extend(hook);
    changes
}

fn wanted_hook(hook: DrainHook) -> Hook {
    Hook {
        transition: HOOK_TRANSITION.to_owned(),
        heartbeat_seconds: hook.heartbeat_seconds,
        default_result: HOOK_RESULT.to_owned(),
    }
}

fn shown(hook: &Hook) -> String {
    format!(
        "{}, {} s, {}",
        hook.transition, hook.heartbeat_seconds, hook.default_result
    )
}

/// The lifecycle hook: put where it is wanted and missing or different, deleted where it is there or
/// was put, and is not wanted any more. The record knows of it before AWS does.
pub fn hook(steps: &mut Steps<'_>, spec: &GroupSpec, found: Option<&Hook>) {
    let Some(wanted) = spec.hook else {
        if found.is_some() || steps.record.hook.is_some() {
            delete_hook(steps, &spec.name, "the pool has no Machines any more");
        }
        return;
    };
    steps.remember(
        "the lifecycle hook that holds instances for their drain",
        |record| {
            record.hook = Some(wanted);
        },
    );
    let hook = wanted_hook(wanted);
    if found == Some(&hook) {
        return;
    }
    let kind = found.map_or(ChangeKind::Create, |_| ChangeKind::Update);
    steps.call(
        Call::new(
            Action::PutHook {
                group: spec.name.clone(),
                heartbeat_seconds: wanted.heartbeat_seconds,
            },
            kind,
            hook_object(),
            "instances that the group ends are drained first",
        )
        .changes(vec![field(
            "lifecycle_hook",
            json!(found.map(shown)),
            json!(shown(&hook)),
        )]),
    );
}

/// Deletes the hook that the record knows of; what it holds goes on.
pub fn drop_hook(steps: &mut Steps<'_>, group: &str, because: &str) {
    if steps.record.hook.is_some() {
        delete_hook(steps, group, because);
    }
}

fn delete_hook(steps: &mut Steps<'_>, group: &str, because: &str) {
    steps.call(Call::new(
        Action::DeleteHook {
            group: group.to_owned(),
        },
        ChangeKind::Delete,
        hook_object(),
        because,
    ));
    steps.remember("the lifecycle hook is gone", |record| {
        record.hook = None;
        record.held.clear();
    });
}

/// An update under construction.
struct Draft {
    update: GroupUpdate,
    because: Vec<String>,
    effect: Effect,
    changes: Vec<FieldChange>,
}

impl Draft {
    fn differs(&mut self, name: &str, old: Value, new: Value, effect: Effect) {
        self.because.push(format!("{name} {}", arrow(&old, &new)));
        self.changes.push(field(name, old, new));
        self.effect = self.effect.max(effect);
    }
}

/// What pool Machines mean for an update.
pub struct ForMachines {
    /// The pool has Machines.
    pub are_on: bool,
    /// Members of the model before are to be replaced.
    pub rolls: bool,
}

/// The one `UpdateAutoScalingGroup` of a plan, when anything differs. With pool Machines the sizes
/// are theirs to move (`machines`), and another template `rolls` by their deletion.
pub fn update(
    steps: &mut Steps<'_>,
    spec: &GroupSpec,
    subnets: &BTreeSet<String>,
    group: &Group,
    template_name: &str,
    machines: &ForMachines,
) {
    let mut draft = Draft {
        update: GroupUpdate {
            group: spec.name.clone(),
            ..GroupUpdate::default()
        },
        because: Vec::new(),
        effect: Effect::None,
        changes: Vec::new(),
    };
    if !machines.are_on {
        size(&mut draft, spec, group);
    }
    let effect = if machines.are_on && machines.rolls {
        Effect::Rolls
    } else {
        Effect::NewMachinesOnly
    };
    template(&mut draft, group, template_name, effect);
    zones(&mut draft, subnets, group);
    settings(&mut draft, spec, group);
    if draft.changes.is_empty() {
        return;
    }
    steps.call(
        Call::new(
            Action::UpdateGroup(draft.update),
            ChangeKind::Update,
            object(&spec.name),
            draft.because.join("; "),
        )
        .effect(draft.effect)
        .changes(draft.changes),
    );
}

fn size(draft: &mut Draft, spec: &GroupSpec, group: &Group) {
    let bounds_differ = (spec.min_size, spec.max_size) != (group.min_size, group.max_size);
    let count_differs = spec.fixed && spec.desired_capacity != group.desired_capacity;
    if !bounds_differ && !count_differs {
        return;
    }
    let target = if spec.fixed {
        spec.desired_capacity
    } else {
        group.desired_capacity.min(spec.max_size).max(spec.min_size)
    };
    let effect = if target < group.desired_capacity {
        Effect::Removes
    } else {
        Effect::None
    };
    let mut one = |name: &str, old: i64, new: i64| {
        if old != new {
            draft.changes.push(field(name, old, new));
            if !spec.fixed {
                draft.because.push(format!("{name} {old} -> {new}"));
            }
        }
        (old != new).then_some(new)
    };
    let min = one("min_size", group.min_size, spec.min_size);
    let max = one("max_size", group.max_size, spec.max_size);
    if spec.fixed {
        one(
            "desired_capacity",
            group.desired_capacity,
            spec.desired_capacity,
        );
        // All three together: the count follows the bounds even while a scaling activity runs.
        draft.update.min_size = Some(spec.min_size);
        draft.update.max_size = Some(spec.max_size);
        draft.update.desired_capacity = Some(spec.desired_capacity);
        draft.because.push(if count_differs {
            format!(
                "replicas {} -> {}",
                group.desired_capacity, spec.desired_capacity
            )
        } else {
            format!("bounds follow replicas {}", spec.desired_capacity)
        });
    } else {
        draft.update.min_size = min;
        draft.update.max_size = max;
    }
    draft.effect = draft.effect.max(effect);
}

fn template(draft: &mut Draft, group: &Group, template_name: &str, effect: Effect) {
    let version = group.template_version.as_deref();
    if group.template_name.as_deref() == Some(template_name) && version == Some("$Latest") {
        return;
    }
    draft.update.template_name = Some(template_name.to_owned());
    let old = group.template_name.as_ref().map(|name| {
        let version = version.unwrap_or("$Default");
        format!("{name} {version}")
    });
    draft.differs(
        "launch_template",
        json!(old),
        json!(format!("{template_name} $Latest")),
        effect,
    );
}

fn zones(draft: &mut Draft, subnets: &BTreeSet<String>, group: &Group) {
    if *subnets == group.subnets {
        return;
    }
    // AWS moves the members of a subnet that leaves; one that comes fills through new launches.
    let effect = if group.subnets.is_subset(subnets) {
        Effect::None
    } else {
        Effect::Replaces
    };
    draft.update.subnets = Some(subnets.clone());
    let named = |verb: &str, names: Vec<&String>| {
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| format!("{verb} {}", names.join(", ")))
    };
    let parts = [
        named("leaves", group.subnets.difference(subnets).collect()),
        named("joins", subnets.difference(&group.subnets).collect()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    draft
        .because
        .push(format!("the group {}", parts.join(" and ")));
    draft
        .changes
        .push(field("subnets", json!(group.subnets), json!(subnets)));
    draft.effect = draft.effect.max(effect);
}

fn settings(draft: &mut Draft, spec: &GroupSpec, group: &Group) {
    if group.capacity_rebalance != spec.capacity_rebalance {
        draft.update.capacity_rebalance = Some(spec.capacity_rebalance);
        draft.differs(
            "capacity_rebalance",
            json!(group.capacity_rebalance),
            json!(spec.capacity_rebalance),
            Effect::None,
        );
    }
    if group.health_check_type != HEALTH_CHECK {
        draft.update.health_check_type = Some(HEALTH_CHECK.to_owned());
        draft.differs(
            "health_check_type",
            json!(group.health_check_type),
            json!(HEALTH_CHECK),
            Effect::None,
        );
    }
    if group.health_check_grace_period_seconds != limits::HEALTH_CHECK_GRACE_SECONDS {
        draft.update.health_check_grace_period_seconds = Some(limits::HEALTH_CHECK_GRACE_SECONDS);
        draft.differs(
            "health_check_grace_period_seconds",
            json!(group.health_check_grace_period_seconds),
            json!(limits::HEALTH_CHECK_GRACE_SECONDS),
            Effect::None,
        );
    }
    if group.new_instances_protected {
        draft.update.new_instances_protected = Some(false);
        draft.differs(
            "new_instances_protected",
            json!(true),
            json!(false),
            Effect::None,
        );
    }
}

fn names_of(names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.join(", ")
}

/// Exactly AZRebalance is suspended.
pub fn processes(steps: &mut Steps<'_>, spec: &GroupSpec, suspended: &BTreeSet<String>) {
    let wanted: BTreeSet<String> = [names::SUSPENDED_PROCESS.to_owned()].into();
    let change = || {
        vec![field(
            "suspended_processes",
            json!(suspended),
            json!(wanted),
        )]
    };
    if !suspended.contains(names::SUSPENDED_PROCESS) {
        steps.call(
            Call::new(
                Action::SuspendProcesses {
                    group: spec.name.clone(),
                    processes: wanted.clone(),
                },
                ChangeKind::Update,
                object(&spec.name),
                "AZRebalance stays suspended: zones fill only through new launches",
            )
            .changes(change()),
        );
    }
    let extra: BTreeSet<String> = suspended.difference(&wanted).cloned().collect();
    if !extra.is_empty() {
        steps.call(
            Call::new(
                Action::ResumeProcesses {
                    group: spec.name.clone(),
                    processes: extra.clone(),
                },
                ChangeKind::Update,
                object(&spec.name),
                format!("only AZRebalance is suspended, not {}", names_of(&extra)),
            )
            .changes(change()),
        );
    }
}

/// Deletes a policy that is not wanted: before the bounds are set, so that it cannot scale against
/// them.
pub fn drop_policy(steps: &mut Steps<'_>, spec: &GroupSpec, policy: Option<&Policy>) {
    if policy.is_none() || spec.cpu_target_percent.is_some() {
        return;
    }
    steps.call(Call::new(
        Action::DeleteCpuPolicy {
            group: spec.name.clone(),
        },
        ChangeKind::Delete,
        policy_object(),
        "no CPU policy of ours is wanted",
    ));
}

/// Puts the policy that is wanted: after the bounds.
pub fn put_policy(steps: &mut Steps<'_>, spec: &GroupSpec, policy: Option<&Policy>) {
    let Some(target_percent) = spec.cpu_target_percent else {
        return;
    };
    let wanted = Policy {
        policy_type: POLICY_TYPE.to_owned(),
        metric: CPU_METRIC.to_owned(),
        target_value: target_percent,
    };
    if policy == Some(&wanted) {
        return;
    }
    let kind = if policy.is_some() {
        ChangeKind::Update
    } else {
        ChangeKind::Create
    };
    let old = policy.map(|policy| policy.target_value);
    steps.call(
        Call::new(
            Action::PutCpuPolicy {
                group: spec.name.clone(),
                target_percent,
            },
            kind,
            policy_object(),
            match old {
                Some(old) => format!("target CPU percent {old} -> {target_percent}"),
                None => format!("a CPU policy with target {target_percent} percent is wanted"),
            },
        )
        .changes(vec![field("target_percent", json!(old), target_percent)]),
    );
}
