//! Launching an instance from a template version: the checks EC2 makes, and the instance.

use std::{collections::BTreeMap, net::Ipv4Addr, sync::Arc};

use super::{
    instance::{Instance, InstanceState, Origin, vcpus},
    template::TemplateVersion,
    template_data::LaunchData,
};
use crate::{
    aws::state::{Compute, Fabric, Name, events::Event, region::Image},
    faults::Effect,
};

/// Why a launch failed, in EC2's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaunchFailure {
    pub(crate) code: String,
    pub(crate) message: String,
}

impl LaunchFailure {
    fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
    }

    /// Whether another zone may do better.
    pub(crate) fn is_of_the_zone(&self) -> bool {
        matches!(
            self.code.as_str(),
            "InsufficientInstanceCapacity"
                | "UnfulfillableCapacity"
                | "InsufficientFreeAddressesInSubnet"
                | "Unsupported"
        )
    }
}

/// What to launch and where.
pub(crate) struct Launch<'a> {
    pub(crate) group: &'a Name,
    pub(crate) origin: &'a Origin,
    pub(crate) subnet: &'a Name,
    pub(crate) tags: Arc<BTreeMap<String, String>>,
}

impl Compute {
    /// Launches one instance; its id.
    pub(crate) fn launch(
        &mut self,
        fabric: &mut Fabric,
        launch: Launch<'_>,
    ) -> Result<Name, LaunchFailure> {
        let data = &launch.origin.version.launch;
        let instance_type = data.instance_type.clone();
        let instance_type = &instance_type.unwrap_or_else(|| "m1.small".into());
        let Some(zone) = self
            .subnets
            .get(launch.subnet)
            .map(|subnet| subnet.zone.clone())
        else {
            return Err(LaunchFailure::new(
                "InvalidSubnetID.NotFound",
                format!("The subnet ID '{}' does not exist", launch.subnet),
            ));
        };
        if let Some(failure) = scripted(fabric, launch.group, &zone, instance_type) {
            return Err(failure);
        }
        let image = self.check(fabric, data)?;
        let (image_id, architecture) = (image.id.clone(), image.architecture.clone());
        let root_device = image.root_device_name.clone();
        self.check_quota(data.spot, instance_type)?;
        self.check_capacity(fabric, &zone, instance_type)?;
        let (vpc_id, private_ip) = self.take_address(launch.subnet)?;
        let public = data.public_ip == Some(true);
        let id = fabric.new_id("i");
        let instance = Instance {
            id: id.clone(),
            image_id,
            instance_type: instance_type.clone(),
            vpc_id,
            zone,
            subnet_id: launch.subnet.clone(),
            private_ip: Some(private_ip),
            public_ip: public.then(|| {
                let low = fabric.rng.u16(..).to_be_bytes();
                Ipv4Addr::new(203, 0, low[0], low[1])
            }),
            launched: fabric.now,
            state: InstanceState::Pending,
            reason: None,
            spot: data.spot,
            architecture,
            root_device,
            group: Some(launch.group.clone()),
            origin: Some(launch.origin.clone()),
            tags: launch.tags,
            holds_capacity: false,
            interrupted: false,
        };
        self.instances_by_group
            .entry(launch.group.clone())
            .or_default()
            .insert(id.clone());
        self.instances.insert(id.clone(), instance);
        self.hold_capacity(fabric, &id);
        fabric.after(fabric.timing.pending, Event::Running(self.id, id.clone()));
        Ok(id)
    }

    fn take_address(&mut self, subnet: &Name) -> Result<(Name, Ipv4Addr), LaunchFailure> {
        let found = self.subnets.get_mut(subnet);
        found
            .and_then(|subnet| Some((subnet.vpc_id.clone(), subnet.addresses.take()?)))
            .ok_or_else(|| {
                LaunchFailure::new(
                    "InsufficientFreeAddressesInSubnet",
                    format!("Not enough free addresses in subnet '{subnet}'"),
                )
            })
    }

    /// Checks that everything a template names exists; the image.
    pub(crate) fn check<'f>(
        &self,
        fabric: &'f Fabric,
        data: &LaunchData,
    ) -> Result<&'f Image, LaunchFailure> {
        let Some(image_id) = &data.image_id else {
            return Err(LaunchFailure::new(
                "MissingParameter",
                "The request must contain the parameter ImageId",
            ));
        };
        let image = fabric
            .regions
            .get(&self.region)
            .and_then(|region| region.images.get(image_id.as_str()))
            .filter(|image| image.state == "available")
            .filter(|image| image.public || *image.owner == *self.account)
            .ok_or_else(|| {
                LaunchFailure::new(
                    "InvalidAMIID.NotFound",
                    format!("The image id '[{image_id}]' does not exist"),
                )
            })?;
        let missing = data
            .security_groups
            .iter()
            .find(|group| !self.security_groups.contains(&***group));
        if let Some(group) = missing {
            return Err(LaunchFailure::new(
                "InvalidGroup.NotFound",
                format!("The security group '{group}' does not exist"),
            ));
        }
        if let Some(key) = data
            .key_name
            .as_deref()
            .filter(|key| !self.key_pairs.contains(*key))
        {
            return Err(LaunchFailure::new(
                "InvalidKeyPair.NotFound",
                format!("The key pair '{key}' does not exist"),
            ));
        }
        let profile = data.instance_profile.as_deref();
        if let Some(profile) = profile.filter(|name| !self.instance_profiles.contains(*name)) {
            return Err(LaunchFailure::new(
                "InvalidParameterValue",
                format!(
                    "Value ({profile}) for parameter iamInstanceProfile.name is invalid. Invalid \
                     IAM Instance Profile name"
                ),
            ));
        }
        Ok(image)
    }

    fn check_quota(&self, spot: bool, instance_type: &str) -> Result<(), LaunchFailure> {
        let (limit, used) = if spot {
            (self.quota.spot, self.quota.spot_used)
        } else {
            (self.quota.on_demand, self.quota.on_demand_used)
        };
        let Some(limit) = limit.filter(|limit| used + vcpus(instance_type) > *limit) else {
            return Ok(());
        };
        Err(if spot {
            LaunchFailure::new(
                "MaxSpotInstanceCountExceeded",
                "Max spot instance count exceeded",
            )
        } else {
            LaunchFailure::new(
                "VcpuLimitExceeded",
                format!(
                    "You have requested more vCPU capacity than your current vCPU limit of \
                     {limit} allows for the instance bucket that the specified instance type \
                     belongs to."
                ),
            )
        })
    }

    fn check_capacity(
        &self,
        fabric: &Fabric,
        zone: &str,
        instance_type: &str,
    ) -> Result<(), LaunchFailure> {
        let region = fabric.regions.get(&self.region);
        if region
            .and_then(|region| region.zones.get(zone))
            .is_some_and(|z| z.capacity.has_room(instance_type))
        {
            return Ok(());
        }
        Err(LaunchFailure::new(
            "InsufficientInstanceCapacity",
            format!(
                "We currently do not have sufficient {instance_type} capacity in the Availability \
                 Zone you requested ({zone}). Our system will be working on provisioning \
                 additional capacity."
            ),
        ))
    }
}

fn scripted(
    fabric: &Fabric,
    group: &str,
    zone: &str,
    instance_type: &str,
) -> Option<LaunchFailure> {
    match fabric.judge_launch(group, zone, instance_type).refusal? {
        Effect::Refuse { code, message, .. } => Some(LaunchFailure { code, message }),
        Effect::Denied => Some(LaunchFailure::new(
            "UnauthorizedOperation",
            "You are not authorized to perform this operation.",
        )),
        Effect::Throttle => Some(LaunchFailure::new(
            "RequestLimitExceeded",
            "Request limit exceeded.",
        )),
        _ => Some(LaunchFailure::new(
            "InternalError",
            "An internal error has occurred",
        )),
    }
}

/// The tags an instance starts with: its template's, the group's that propagate, and AWS's own.
pub(crate) fn launch_tags(
    version: &TemplateVersion,
    origin: &Origin,
    group: &str,
    propagated: impl Iterator<Item = (String, String)>,
) -> BTreeMap<String, String> {
    let mut tags = version.launch.instance_tags.clone();
    tags.extend(propagated);
    tags.insert("aws:autoscaling:groupName".into(), group.into());
    tags.insert(
        "aws:ec2launchtemplate:id".into(),
        origin.template_id.to_string(),
    );
    tags.insert(
        "aws:ec2launchtemplate:version".into(),
        version.number.to_string(),
    );
    tags
}
