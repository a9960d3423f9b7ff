//! What AWS says about what a pool needs: reads, and dry runs where AWS has them. Nothing changes.

use remuda_cloud::{
    CloudError,
    calls::Call,
    examined::{Answer, Fact, Need},
};
use remuda_plan::{
    aws::{desired::Desired, observed::Handle},
    pool::read::{Depth, Freshness, Read},
};

use crate::{calls, ec2::Parameters, observe::Region, wire};

/// EC2's answer to a dry run of a call that would be allowed.
const WOULD_SUCCEED: &str = "DryRunOperation";

impl Region {
    /// Asks for everything that a pool needs. `desired` is what it wants, where that is known.
    pub(crate) async fn examine(&self, handle: &Handle, desired: Option<&Desired>) -> Vec<Fact> {
        let observed = Box::pin(self.observe(handle, Depth::Full, Freshness::Fresh)).await;
        let mut facts = Vec::new();
        readable(&calls::DESCRIBE_GROUPS, &observed.group, &mut facts);
        readable(&calls::DESCRIBE_INSTANCES, &observed.instances, &mut facts);
        readable(&calls::DESCRIBE_TEMPLATES, &observed.templates, &mut facts);
        readable(&calls::HEAD_OBJECT, &observed.payload, &mut facts);
        readable(&calls::DESCRIBE_IMAGES, &observed.image, &mut facts);
        if let (Some(query), Read::Known(found)) = (&handle.image, &observed.image) {
            let answer = match found {
                Some(image) => Answer::Yes(image.clone()),
                None => Answer::No(format!("no image of {} has that name", query.owner)),
            };
            facts.push(Fact::new(Need::Image, &query.name, answer));
        }
        facts.push(self.group_quota().await);
        if let Some(desired) = desired {
            facts.push(self.may_make_template(desired).await);
            facts.extend(self.free_addresses(desired).await);
        }
        facts
    }

    /// A dry run: EC2 checks the right and makes nothing.
    async fn may_make_template(&self, desired: &Desired) -> Fact {
        let name = format!("{}-doctor", desired.group.name);
        let mut parameters = Parameters::new();
        wire::push(&mut parameters, "DryRun", true);
        wire::push(&mut parameters, "LaunchTemplateName", &name);
        let kind = &desired.template.instance_type;
        wire::push(&mut parameters, "LaunchTemplateData.InstanceType", kind);
        // Tagged like the real one: a policy may allow to make only what is a pool's.
        let tags = "TagSpecification.1";
        wire::push(
            &mut parameters,
            format!("{tags}.ResourceType"),
            "launch-template",
        );
        wire::tags(
            &mut parameters,
            &format!("{tags}.Tag"),
            &desired.template_tags,
        );
        let call = &calls::TRY_CREATE_TEMPLATE;
        let outcome = self.clients.ec2(call, &name, parameters).await;
        match outcome {
            Err(error) if error.failure.code == WOULD_SUCCEED => {
                Fact::permission(call.name, Ok(()))
            }
            other => Fact::permission(call.name, other.as_ref().map_err(|error| &error.failure)),
        }
    }

    async fn free_addresses(&self, desired: &Desired) -> Vec<Fact> {
        let subnets = &desired.group.subnets;
        let mut parameters = Parameters::new();
        for (index, subnet) in subnets.iter().enumerate() {
            wire::push(&mut parameters, format!("SubnetId.{}", index + 1), subnet);
        }
        let call = &calls::DESCRIBE_SUBNETS;
        let found = match self.clients.ec2(call, "", parameters).await {
            Ok(found) => found,
            Err(error) => {
                let unknown = |subnet: &String| {
                    let answer = Answer::Unknown(error.failure.clone());
                    Fact::new(Need::Addresses, subnet, answer)
                };
                return subnets.iter().map(unknown).collect();
            }
        };
        let of = |subnet: &String| {
            let mut items = found.root().items("subnetSet");
            let item = items.find(|item| item.text_at(&["subnetId"]) == Some(subnet));
            let free = item.and_then(|item| item.text_at(&["availableIpAddressCount"]));
            let answer = match free.and_then(|free| free.parse().ok()) {
                Some(left) => Answer::Left { left, of: None },
                None => Answer::No("EC2 does not know it".to_owned()),
            };
            Fact::new(Need::Addresses, subnet, answer)
        };
        subnets.iter().map(of).collect()
    }

    async fn group_quota(&self) -> Fact {
        let call = &calls::DESCRIBE_ACCOUNT_LIMITS;
        let limits = self.clients.call(call, "", || {
            self.clients.autoscaling.describe_account_limits().send()
        });
        let answer = match limits.await {
            Ok(limits) => {
                let most = limits.max_number_of_auto_scaling_groups.map(i64::from);
                let used = limits.number_of_auto_scaling_groups.map_or(0, i64::from);
                let left = most.unwrap_or(i64::from(i32::MAX)) - used;
                Answer::Left { left, of: most }
            }
            Err(CloudError { failure, .. }) => Answer::Unknown(failure),
        };
        Fact::new(Need::Quota, "Auto Scaling groups of the region", answer)
    }
}

/// What a read shows about the right to make it.
fn readable<T>(call: &Call, read: &Read<T>, facts: &mut Vec<Fact>) {
    match read {
        Read::Known(_) => facts.push(Fact::permission(call.name, Ok(()))),
        // The failure names the very call, where several fill one answer.
        Read::Unknown(failure) => facts.push(Fact::permission::<()>(&failure.call, Err(failure))),
        Read::NotAsked => {}
    }
}
