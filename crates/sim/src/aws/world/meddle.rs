//! Doing to the world what a cloud does by itself, or a person does by hand.

use super::{World, estate_of_group, estate_of_instance};
use crate::{
    aws::{
        autoscaling::{
            self,
            group::{Replace, Transition},
        },
        ec2,
        protocol::{AwsError, Params},
        service::Handler,
        state::{Name, Site, View, events::Event},
    },
    clock::iso,
};

impl World {
    /// Limits how many instances of a type (`*`: of any type) a zone holds at once; `None` lifts
    /// the limit. Instances that run already stay.
    pub fn set_capacity(&self, zone: &str, instance_type: &str, instances: Option<u32>) {
        self.change(|state| {
            for region in state.fabric.regions.values_mut() {
                if let Some(zone) = region.zones.get_mut(zone) {
                    zone.capacity.limit(instance_type, instances);
                }
            }
        });
    }

    /// Sets the vCPU quotas of an account in a region: on demand, and Spot; `None`: no limit.
    pub fn set_vcpu_quota(
        &self,
        account: &str,
        region: &str,
        on_demand: Option<u32>,
        spot: Option<u32>,
    ) {
        self.change(|state| {
            if let Some(id) = state.estate_id(account, region) {
                let quota = &mut state.estates[id].compute.quota;
                quota.on_demand = on_demand;
                quota.spot = spot;
            }
        });
    }

    /// Puts a group under load: `percent` is its average CPU at the present number of instances.
    /// False when there is no such group.
    pub fn set_cpu(&self, group: &str, percent: f64) -> bool {
        self.at_group(group, |site, name| site.set_cpu(&name, percent))
            .unwrap_or(false)
    }

    /// Terminates an instance outside its group's doing. False when there is no such instance.
    pub fn terminate_instance(&self, id: &str) -> bool {
        let reason = (
            "Server.InternalError",
            "Server.InternalError: Internal error on launch",
        );
        self.at_instance(id, |site, id| site.end_outside_group(&id, reason))
    }

    /// Stops an instance outside its group's doing. False when there is no such instance.
    pub fn stop_instance(&self, id: &str) -> bool {
        self.at_instance(id, |site, id| {
            site.estate.compute.stop(site.fabric, &id);
            site.notice_health(&id);
        })
    }

    /// Starts a stopped instance. False when there is no such instance.
    pub fn start_instance(&self, id: &str) -> bool {
        self.at_instance(id, |site, id| site.estate.compute.start(site.fabric, &id))
    }

    /// Gives a Spot instance its two minutes' notice. A group with capacity rebalancing launches a
    /// replacement at once, and calls the terminating lifecycle hook at once if it has one. False
    /// when there is no such instance.
    pub fn interrupt_spot(&self, id: &str) -> bool {
        self.at_instance(id, |site, id| {
            let estate = site.estate.compute.id;
            let Some(instance) = site.estate.compute.instances.get_mut(&id) else {
                return;
            };
            if !instance.spot || instance.interrupted || instance.state.is_ending() {
                return;
            }
            instance.interrupted = true;
            let group = instance.group.clone();
            site.fabric.after(
                site.fabric.timing.spot_notice,
                Event::SpotEnds(estate, id.clone()),
            );
            let Some(mut turn) = group.and_then(|group| site.turn(&group)) else {
                return;
            };
            if !turn.group.capacity_rebalance {
                return;
            }
            let mut hooks = turn.group.hooks.values();
            if hooks.any(|hook| hook.transition == Transition::Terminating) {
                let cause = format!(
                    "At {} an instance was taken out of service in response to a Spot Instance \
                     interruption notice.",
                    iso(turn.fabric.now)
                );
                turn.terminate(&id, &cause, true);
            } else if let Some(member) = turn.group.members.get_mut(&id) {
                member.replace = Some(Replace::AtRisk);
            }
            let reaction = turn.fabric.timing.group_reaction;
            turn.group.poke(turn.fabric, estate, reaction);
        })
    }

    /// Carries out an EC2 or Auto Scaling action as the account's administrator would in the
    /// console: without a signature, faults or an entry in the journal. The answer's XML, or code
    /// and message of the refusal.
    ///
    /// # Errors
    /// What the service refuses, as `Code: message`.
    pub fn by_hand(
        &self,
        account: &str,
        region: &str,
        action: &str,
        params: &[(&str, &str)],
    ) -> Result<String, String> {
        let form = form_urlencoded::Serializer::new(format!("Action={action}"))
            .extend_pairs(params)
            .finish();
        let params = Params::parse(form.as_bytes());
        let handler = autoscaling::handler(action)
            .or_else(|| ec2::handler(action))
            .ok_or_else(|| format!("InvalidAction: {action} is not simulated"))?;
        let text = |error: AwsError| format!("{}: {}", error.code, error.message);
        self.change(|state| {
            let id = state
                .estate_id(account, region)
                .ok_or_else(|| format!("InvalidRegion: there is no region {region}"))?;
            let answer = match handler {
                Handler::Read(read) => read(
                    View {
                        estate: &state.estates[id],
                        fabric: &state.fabric,
                    },
                    &params,
                ),
                Handler::Write(write) => write(&mut state.site(id), &params),
            };
            answer.map(crate::aws::protocol::Xml::finish).map_err(text)
        })
    }

    fn at_instance(&self, id: &str, act: impl FnOnce(&mut Site<'_>, Name)) -> bool {
        self.change(|state| match estate_of_instance(state, id) {
            Some(estate) => {
                act(&mut state.site(estate), id.into());
                true
            }
            None => false,
        })
    }

    fn at_group<T>(&self, name: &str, act: impl FnOnce(&mut Site<'_>, Name) -> T) -> Option<T> {
        self.change(|state| {
            let estate = estate_of_group(state, name)?;
            Some(act(&mut state.site(estate), name.into()))
        })
    }
}
