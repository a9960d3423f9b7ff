//! What Azure says about what a pool needs: reads only. ARM has no dry run, but tells which actions
//! a caller may take on a resource group.

use remuda_cloud::{
    CloudError,
    calls::Call,
    examined::{Answer, Fact, Need},
};
use remuda_plan::{
    azure::{desired::Desired, observed::Handle, place::Place},
    error::FailureClass,
    pool::read::{Depth, Freshness, Read},
};
use serde::Deserialize;

use crate::{calls, errors, observe::Region, wire::address};

/// What a pool does in its resource group, in Azure's words for roles.
const ACTIONS: [&str; 9] = [
    "Microsoft.Compute/virtualMachineScaleSets/read",
    "Microsoft.Compute/virtualMachineScaleSets/write",
    "Microsoft.Compute/virtualMachineScaleSets/delete",
    "Microsoft.Compute/virtualMachineScaleSets/delete/action",
    "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read",
    "Microsoft.Compute/virtualMachineScaleSets/networkInterfaces/read",
    "Microsoft.Insights/autoscaleSettings/read",
    "Microsoft.Insights/autoscaleSettings/write",
    "Microsoft.Insights/autoscaleSettings/delete",
];

/// Quotas that a scale set counts against, by Azure's names.
const QUOTAS: [&str; 2] = ["cores", "virtualMachineScaleSets"];

/// What one of a caller's roles allows.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Permission {
    actions: Vec<String>,
    not_actions: Vec<String>,
}

/// How much of a quota is used.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    #[serde(default)]
    id: String,
    name: UsageName,
    current_value: f64,
    limit: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageName {
    value: String,
}

impl Region {
    /// Asks for everything that a pool needs. `desired` is what it wants, where that is known.
    pub(crate) async fn examine(&self, handle: &Handle, desired: Option<&Desired>) -> Vec<Fact> {
        let observed = Box::pin(self.observe(handle, Depth::Full, Freshness::Fresh)).await;
        let mut facts = Vec::new();
        readable(&calls::LIST_SETS, &observed.sets, &mut facts);
        readable(&calls::LIST_SETTINGS, &observed.settings, &mut facts);
        readable(&calls::GET_IMAGE, &observed.image, &mut facts);
        for members in observed.members.values() {
            readable(&calls::LIST_INSTANCES, members, &mut facts);
        }
        if let (Some(image), Read::Known(exists)) = (&handle.image, &observed.image) {
            let answer = if *exists {
                Answer::Yes("it is there".to_owned())
            } else {
                Answer::No("there is no such image".to_owned())
            };
            facts.push(Fact::new(Need::Image, image.text(), answer));
        }
        facts.extend(self.permissions(&handle.place).await);
        facts.extend(self.quotas(&handle.place).await);
        if let Some(desired) = desired {
            facts.extend(
                self.free_addresses(desired.set.model.network.subnet_id.as_str())
                    .await,
            );
        }
        facts
    }

    async fn permissions(&self, place: &Place) -> Vec<Fact> {
        let call = &calls::LIST_PERMISSIONS;
        let listed = self
            .clients
            .list::<Permission>(call, address::permissions(place));
        let answer = |action: &str, granted: &Result<Vec<Permission>, CloudError>| match granted {
            Ok(granted) if allows(granted, action) => Answer::Yes("allowed".to_owned()),
            Ok(_) => Answer::No(format!(
                "no role of the identity allows it on the resource group {}",
                place.resource_group_name
            )),
            Err(error) => Answer::Unknown(error.failure.clone()),
        };
        let granted = listed.await;
        ACTIONS
            .iter()
            .map(|action| Fact::new(Need::Permission, *action, answer(action, &granted)))
            .collect()
    }

    async fn quotas(&self, place: &Place) -> Vec<Fact> {
        let call = &calls::LIST_USAGES;
        let listed = self
            .clients
            .list::<Usage>(call, address::usages(place))
            .await;
        QUOTAS
            .iter()
            .map(|quota| {
                let subject = format!("{quota} in {}", place.region);
                let answer = match &listed {
                    Ok(usages) => usages
                        .iter()
                        .find(|usage| usage.name.value.eq_ignore_ascii_case(quota))
                        .map_or_else(|| untold(call, &subject), Usage::left),
                    Err(error) => Answer::Unknown(error.failure.clone()),
                };
                Fact::new(Need::Quota, subject, answer)
            })
            .collect()
    }

    async fn free_addresses(&self, subnet: &str) -> Option<Fact> {
        let call = &calls::LIST_SUBNET_USAGES;
        let listed = self
            .clients
            .list::<Usage>(call, address::subnet_usages(subnet)?)
            .await;
        let answer = match listed {
            Ok(usages) => usages
                .iter()
                .find(|usage| usage.id.eq_ignore_ascii_case(subnet))
                .map_or_else(
                    || Answer::No("its network does not have it".to_owned()),
                    Usage::left,
                ),
            Err(error) if error.class() == FailureClass::NotFound => {
                Answer::No("its network does not exist".to_owned())
            }
            Err(error) => Answer::Unknown(error.failure),
        };
        Some(Fact::new(Need::Addresses, subnet, answer))
    }
}

impl Usage {
    fn left(&self) -> Answer {
        Answer::Left {
            left: whole(self.limit - self.current_value),
            of: Some(whole(self.limit)),
        }
    }
}

/// Azure writes counts as numbers with a fraction.
#[allow(
    clippy::cast_possible_truncation,
    reason = "counts; one beyond the range is as good as its end"
)]
fn whole(count: f64) -> i64 {
    count as i64
}

fn untold(call: &Call, subject: &str) -> Answer {
    let why = format!("Azure does not tell of {subject}");
    Answer::Unknown(errors::failure(FailureClass::Bug, call.name, why))
}

/// Whether any role allows an action: one that its `actions` name, and its `notActions` do not.
fn allows(granted: &[Permission], action: &str) -> bool {
    let named = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, action));
    granted
        .iter()
        .any(|role| named(&role.actions) && !named(&role.not_actions))
}

/// Whether a role's pattern names an action: `*` stands for any text, case does not count.
fn matches(pattern: &str, action: &str) -> bool {
    let (pattern, action) = (pattern.to_lowercase(), action.to_lowercase());
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == action;
    };
    let Some(mut left) = action.strip_prefix(first) else {
        return false;
    };
    let mut parts = rest.split('*').collect::<Vec<_>>();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

/// What a read shows about the right to make it.
fn readable<T>(call: &Call, read: &Read<T>, facts: &mut Vec<Fact>) {
    match read {
        Read::Known(_) => facts.push(Fact::permission(call.name, Ok(()))),
        Read::Unknown(failure) => facts.push(Fact::permission::<()>(&failure.call, Err(failure))),
        Read::NotAsked => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(actions: &[&str], not_actions: &[&str]) -> Permission {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        Permission {
            actions: owned(actions),
            not_actions: owned(not_actions),
        }
    }

    #[test]
    fn roles_are_read_as_azure_reads_them() {
        let write = "Microsoft.Compute/virtualMachineScaleSets/write";
        assert!(allows(&[role(&["*"], &[])], write));
        assert!(allows(&[role(&["*/write"], &[])], write));
        assert!(allows(&[role(&["microsoft.compute/*"], &[])], write));
        assert!(allows(
            &[role(
                &["Microsoft.Compute/*/write"],
                &["Microsoft.Network/*"]
            )],
            write
        ));
        assert!(!allows(&[role(&["*/read"], &[])], write));
        assert!(!allows(
            &[role(&["*"], &["Microsoft.Compute/*/write"])],
            write
        ));
        assert!(!allows(&[], write));
        assert!(!allows(
            &[role(&["Microsoft.Compute/virtualMachineScaleSets"], &[])],
            write
        ));
        // What one role leaves out another may allow.
        let both = [role(&["*"], &["*/write"]), role(&[write], &[])];
        assert!(allows(&both, write));
    }
}
