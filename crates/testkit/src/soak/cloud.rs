//! The cloud a story plays in, as far as the stage needs to know it.

use std::{collections::BTreeSet, fmt};

use jiff::Timestamp;
use remuda_sim::{
    Faults,
    aws::{self, AwsSim},
    azure::{self, AzureSim},
};
use serde_json::Value;

use crate::{
    demo::{AZURE_POOL, Demo, POOL},
    tripwire::Write,
    world::World,
};

/// Who publishes the images that the pool on AWS asks for (AWS document, `machine_image`).
const IMAGE_OWNER: &str = "819546954734";

/// Which cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cloud {
    /// The simulated AWS.
    Aws,
    /// The simulated Azure.
    Azure,
}

impl fmt::Display for Cloud {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Aws => "AWS",
            Self::Azure => "Azure",
        })
    }
}

/// What a call to the cloud does to instances, where it takes any away.
pub(super) enum Taking {
    /// It ends these, by the end of their provider ids.
    Named(Vec<String>),
    /// It leaves the cloud this many of those that the group or set has, and the choice.
    Choice { left: usize, of: usize },
}

impl Cloud {
    /// Name of the pool and of its MachinePool.
    pub(super) fn pool(self) -> &'static str {
        match self {
            Self::Aws => POOL,
            Self::Azure => AZURE_POOL,
        }
    }

    /// Name of the Cluster.
    pub(super) fn cluster(self) -> &'static str {
        match self {
            Self::Aws => "demo",
            Self::Azure => "demo-azure",
        }
    }

    /// The objects.
    pub(super) fn demo(self) -> Demo {
        match self {
            Self::Aws => Demo::default(),
            Self::Azure => Demo::azure(),
        }
    }
}

/// That cloud in one world.
#[derive(Clone)]
pub(super) struct Place {
    /// Which.
    pub(super) cloud: Cloud,
    aws: AwsSim,
    azure: AzureSim,
}

impl Place {
    /// The cloud in this world.
    pub(super) fn of(cloud: Cloud, world: &World) -> Self {
        let (aws, azure) = (world.aws.clone(), world.azure.clone());
        Self { cloud, aws, azure }
    }

    /// Everything a Kubernetes version needs to be had.
    pub(super) fn offer(&self, version: &str) {
        match self.cloud {
            Cloud::Aws => {
                let digits = version.trim_start_matches('v').replace('.', "");
                let id = format!("ami-{digits:0>17}");
                let name = format!("capa-ami-ubuntu-24.04-{version}-1780000000");
                let made = Timestamp::UNIX_EPOCH;
                let image = aws::ImageSpec::new(&id, &name, IMAGE_OWNER, made);
                self.aws.world().add_image(aws::DEMO_REGION, image);
            }
            Cloud::Azure => {
                let number = version.trim_start_matches('v');
                let image = format!("{}/versions/{number}", azure::DEMO_GALLERY);
                self.azure.world().add_image(&image, Some(version));
            }
        }
    }

    /// Provider ids of all instances, those that run badly or are on their way out included.
    pub(super) fn instances(&self) -> BTreeSet<String> {
        use aws::InstanceState as State;
        match self.cloud {
            Cloud::Aws => {
                let instances = self.aws.world().instances().into_iter();
                instances
                    .filter(|it| !matches!(it.state, State::ShuttingDown | State::Terminated))
                    .map(|it| it.provider_id)
                    .collect()
            }
            Cloud::Azure => {
                let sets = self.azure.world().scale_sets().into_iter();
                sets.flat_map(|set| set.instances)
                    .map(|it| format!("azure://{}", it.id))
                    .collect()
            }
        }
    }

    /// How many groups or sets there are.
    pub(super) fn groups(&self) -> usize {
        match self.cloud {
            Cloud::Aws => self.aws.world().groups().len(),
            Cloud::Azure => self.azure.world().scale_sets().len(),
        }
    }

    /// Instances that exist and are not on their way out.
    fn members(&self) -> Vec<Member> {
        match self.cloud {
            Cloud::Aws => {
                let groups = self.aws.world().groups().into_iter();
                groups
                    .flat_map(|group| group.members)
                    .map(|member| Member::Aws(member.instance_id))
                    .collect()
            }
            Cloud::Azure => {
                let sets = self.azure.world().scale_sets().into_iter();
                sets.flat_map(|set| {
                    let name = set.name.clone();
                    let staying = set.instances.into_iter();
                    staying
                        .filter(|it| it.provisioning_state != "Deleting")
                        .map(move |it| Member::Azure(name.clone(), it.instance_id))
                })
                .collect()
            }
        }
    }

    /// The n-th member; none where there are none.
    pub(super) fn member(&self, nth: usize) -> Option<Member> {
        let mut members = self.members();
        let at = nth.checked_rem(members.len())?;
        Some(members.swap_remove(at))
    }

    /// The fault scripts.
    pub(super) fn faults(&self) -> Faults {
        match self.cloud {
            Cloud::Aws => self.aws.faults(),
            Cloud::Azure => self.azure.faults(),
        }
    }

    /// No further instance fits into the quota, or any number does again.
    pub(super) fn quota(&self, is_full: bool) {
        let limit = is_full.then_some(0);
        match self.cloud {
            Cloud::Aws => {
                let place = (aws::DEMO_ACCOUNT, aws::DEMO_REGION);
                self.aws
                    .world()
                    .set_vcpu_quota(place.0, place.1, limit, None);
            }
            Cloud::Azure => {
                let place = (azure::DEMO_SUBSCRIPTION, azure::DEMO_REGION);
                self.azure
                    .world()
                    .set_core_quota(place.0, place.1, limit, None);
            }
        }
    }

    /// The groups or sets, for people.
    pub(super) fn described(&self) -> String {
        match self.cloud {
            Cloud::Aws => format!("{:#?}", self.aws.world().groups()),
            Cloud::Azure => {
                let sets = self.azure.world().scale_sets();
                let told = |set: azure::ScaleSetInfo| (set.name, set.capacity, set.instances);
                format!("{:#?}", sets.into_iter().map(told).collect::<Vec<_>>())
            }
        }
    }

    /// What a call takes away; `None`: nothing.
    pub(super) fn taking(&self, write: &Write) -> Option<Taking> {
        match self.cloud {
            Cloud::Aws => aws_taking(&self.aws, write),
            Cloud::Azure => azure_taking(&self.azure, write),
        }
    }
}

/// One instance.
pub(super) enum Member {
    /// Its id.
    Aws(String),
    /// Its set and its number.
    Azure(String, String),
}

impl Member {
    fn operate(&self, place: &Place, verb: &str) {
        if let Self::Azure(set, number) = self {
            let number = number.parse().unwrap_or_default();
            place.azure.world().operate(set, number, verb);
        }
    }

    /// The cloud loses it without a word.
    pub(super) fn is_lost(&self, place: &Place) {
        match self {
            Self::Aws(id) => {
                place.aws.world().terminate_instance(id);
            }
            Self::Azure(..) => {
                // Its guest answers the announcement at once: nobody has time for a drain.
                self.operate(place, "delete");
                self.operate(place, "approve");
            }
        }
    }

    /// Somebody stops it.
    pub(super) fn is_stopped(&self, place: &Place) {
        match self {
            Self::Aws(id) => {
                place.aws.world().stop_instance(id);
            }
            Self::Azure(..) => self.operate(place, "deallocate"),
        }
    }

    /// Somebody ends it through its group, which announces that and holds it for a while.
    pub(super) fn is_ended(&self, place: &Place) {
        match self {
            Self::Aws(id) => {
                let what = [
                    ("InstanceId", id.as_str()),
                    ("ShouldDecrementDesiredCapacity", "false"),
                ];
                let (account, region) = (aws::DEMO_ACCOUNT, aws::DEMO_REGION);
                let action = "TerminateInstanceInAutoScalingGroup";
                // One that ends already is refused: then it ends.
                let _ = place.aws.world().by_hand(account, region, action, &what);
            }
            Self::Azure(..) => self.operate(place, "delete"),
        }
    }
}

fn aws_taking(aws: &AwsSim, write: &Write) -> Option<Taking> {
    let field = |name: &str| {
        let mut pairs = write
            .body
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        pairs
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.to_owned())
    };
    let named = |id: String| Taking::Named(vec![format!("/{id}")]);
    match write.name.as_str() {
        "aws TerminateInstanceInAutoScalingGroup" | "aws CompleteLifecycleAction" => {
            field("InstanceId").map(named)
        }
        "aws DeleteAutoScalingGroup" => {
            let group = aws.world().group(&field("AutoScalingGroupName")?)?;
            choice(0, group.members.len())
        }
        _ => None,
    }
}

fn azure_taking(azure: &AzureSim, write: &Write) -> Option<Taking> {
    let (method, path) = write.name.strip_prefix("azure ")?.split_once(' ')?;
    let path = path.trim_end_matches('/');
    let (_, rest) = path.split_once("/virtualMachineScaleSets/")?;
    let body: Value = serde_json::from_str(&write.body).unwrap_or_default();
    match (method, rest.split('/').collect::<Vec<_>>().as_slice()) {
        ("POST", [set, "delete"]) => {
            let ids = body["instanceIds"].as_array().into_iter().flatten();
            let ids = ids.filter_map(Value::as_str);
            let ended = |id| format!("/{set}/virtualMachines/{id}").to_lowercase();
            Some(Taking::Named(ids.map(ended).collect()))
        }
        ("DELETE", [set]) => choice(0, staying(azure, set)?),
        ("PATCH" | "PUT", [set]) => {
            let capacity = body.pointer("/sku/capacity").and_then(Value::as_u64)?;
            choice(usize::try_from(capacity).ok()?, staying(azure, set)?)
        }
        _ => None,
    }
}

/// Instances of a set that are not on their way out.
fn staying(azure: &AzureSim, set: &str) -> Option<usize> {
    let set = azure.world().scale_set(set)?;
    let staying = set.instances.iter();
    Some(
        staying
            .filter(|it| it.provisioning_state != "Deleting")
            .count(),
    )
}

fn choice(left: usize, of: usize) -> Option<Taking> {
    (left < of).then_some(Taking::Choice { left, of })
}

#[cfg(test)]
mod tests {
    use super::{Taking, aws_taking, azure_taking};
    use crate::tripwire::Write;
    use remuda_sim::{aws::AwsSim, azure::AzureSim};

    fn write(name: &str, body: &str) -> Write {
        Write {
            name: name.to_owned(),
            body: body.to_owned(),
        }
    }

    fn named(taking: Option<Taking>) -> Vec<String> {
        match taking {
            Some(Taking::Named(ids)) => ids,
            _ => Vec::new(),
        }
    }

    #[tokio::test]
    async fn calls_that_end_instances_are_seen_and_others_are_not() {
        let aws = AwsSim::builder().demo();
        let body = "Action=TerminateInstanceInAutoScalingGroup&InstanceId=i-0a1&Version=1";
        let end = write("aws TerminateInstanceInAutoScalingGroup", body);
        assert_eq!(named(aws_taking(&aws, &end)), ["/i-0a1"]);
        let grow = write("aws UpdateAutoScalingGroup", "DesiredCapacity=5");
        assert!(aws_taking(&aws, &grow).is_none());

        let azure = AzureSim::builder().demo();
        let set = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/\
                   virtualMachineScaleSets/Workers";
        let end = write(
            &format!("azure POST {set}/delete"),
            r#"{"instanceIds":["0","2"]}"#,
        );
        let ended = named(azure_taking(&azure, &end));
        assert_eq!(
            ended,
            ["/workers/virtualmachines/0", "/workers/virtualmachines/2"]
        );
        let label = write(&format!("azure PATCH {set}"), r#"{"tags":{}}"#);
        assert!(azure_taking(&azure, &label).is_none());
    }
}
