//! Conditions of a MachinePool. Pure.

use remuda_plan::machines::view::named;

use super::{
    super::{
        conditions::{ConditionType, Finding, Reason},
        facts::{Bootstrap, Facts, Infrastructure, Machines},
    },
    counters::{Counters, number},
    infra, machines,
};

pub(super) fn conditions(facts: &Facts, provisioned: bool, counters: &Counters) -> Vec<Finding> {
    vec![
        available(facts, provisioned, counters),
        bootstrap_ready(&facts.bootstrap),
        infrastructure_ready(&facts.infrastructure, provisioned),
        machines::ready(facts, counters),
        machines::up_to_date(facts, counters),
        machines::rolling_out(facts, counters),
        scaling_up(facts, counters),
        scaling_down(facts, counters),
        machines::remediating(facts),
        deleting(facts, counters),
    ]
}

fn available(facts: &Facts, provisioned: bool, counters: &Counters) -> Finding {
    let have = counters.available.unwrap_or(0);
    if counters.replicas.is_none() && !provisioned {
        return Finding::unknown(
            ConditionType::Available,
            Reason::WaitingForReplicasSet,
            "waiting for the infrastructure to report its replicas",
        );
    }
    if provisioned && have >= facts.desired {
        return Finding::yes(ConditionType::Available, Reason::Available, "");
    }
    let message = if provisioned {
        format!("{have} of {} replicas available", facts.desired)
    } else {
        "the infrastructure is not provisioned".to_owned()
    };
    Finding::no(ConditionType::Available, Reason::NotAvailable, message)
}

fn bootstrap_ready(bootstrap: &Bootstrap) -> Finding {
    let kind = ConditionType::BootstrapConfigReady;
    match bootstrap {
        Bootstrap::SecretProvided => Finding::yes(kind, Reason::DataSecretProvided, ""),
        Bootstrap::ConfigReady(_) => Finding::yes(kind, Reason::Ready, ""),
        Bootstrap::ConfigNotReady => Finding::no(
            kind,
            Reason::NotReady,
            "the bootstrap config has not created its data Secret yet",
        ),
        Bootstrap::ConfigMissing => Finding::no(
            kind,
            Reason::ObjectDoesNotExist,
            "the object named by spec.template.spec.bootstrap.configRef does not exist",
        ),
        Bootstrap::Unset => Finding::unknown(
            kind,
            Reason::NotReady,
            "set spec.template.spec.bootstrap.dataSecretName or configRef",
        ),
    }
}

fn infrastructure_ready(infrastructure: &Infrastructure, provisioned: bool) -> Finding {
    let kind = ConditionType::InfrastructureReady;
    match infrastructure {
        Infrastructure::Missing => Finding::no(
            kind,
            Reason::ObjectDoesNotExist,
            "the object named by spec.template.spec.infrastructureRef does not exist",
        ),
        Infrastructure::Unreadable(why) => {
            Finding::unknown(kind, Reason::InternalError, why.clone())
        }
        Infrastructure::Known(infra) if infra.deleting => Finding::no(
            kind,
            Reason::ObjectDeleted,
            "the infrastructure object is being deleted",
        ),
        Infrastructure::Known(infra) => match &infra.ready {
            Some((status, reason, message)) => {
                Finding::mirrored(kind, status, reason, message.clone())
            }
            None if provisioned => Finding::yes(kind, Reason::Ready, ""),
            None => Finding::no(
                kind,
                Reason::NotReady,
                "the infrastructure object reports no Ready condition yet",
            ),
        },
    }
}

fn scaling_up(facts: &Facts, counters: &Counters) -> Finding {
    let kind = ConditionType::ScalingUp;
    let have = observed(facts, counters);
    if !facts.deleting && have < facts.desired {
        let message = format!("scaling up from {have} to {} replicas", facts.desired);
        return Finding::yes(kind, Reason::ScalingUp, message);
    }
    Finding::no(kind, Reason::NotScalingUp, "")
}

fn scaling_down(facts: &Facts, counters: &Counters) -> Finding {
    let kind = ConditionType::ScalingDown;
    let have = observed(facts, counters);
    let wanted = if facts.deleting { 0 } else { facts.desired };
    if have > wanted {
        let message = format!("scaling down from {have} to {wanted} replicas");
        return Finding::yes(kind, Reason::ScalingDown, message);
    }
    Finding::no(kind, Reason::NotScalingDown, "")
}

/// The members there are: the list, which runs ahead of the Nodes.
fn observed(facts: &Facts, counters: &Counters) -> i32 {
    infra(facts).map_or_else(
        || counters.replicas.unwrap_or(0),
        |infra| number(infra.provider_ids.len()),
    )
}

fn deleting(facts: &Facts, counters: &Counters) -> Finding {
    let kind = ConditionType::Deleting;
    if !facts.deleting {
        return Finding::no(kind, Reason::NotDeleting, "");
    }
    let message = match &facts.infrastructure {
        Infrastructure::Missing => format!("{} Nodes to remove", counters.node_refs.len()),
        Infrastructure::Known(_) | Infrastructure::Unreadable(_) => match &facts.machines {
            Machines::Known(pool) if !pool.machines.is_empty() => format!(
                "waiting for the infrastructure object to go, which waits for Machines: {}",
                named(pool.machines.iter().map(|machine| machine.name.as_str()))
            ),
            _ => "waiting for the infrastructure object to go".to_owned(),
        },
    };
    Finding::yes(kind, Reason::Deleting, message)
}
