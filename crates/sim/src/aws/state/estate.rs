//! What one account owns in one region.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::{Name, events::EstateId, network::Subnet};
use crate::aws::{
    autoscaling::group::Group,
    ec2::{instance::Instance, instance_rows, template::LaunchTemplate},
};

/// Groups, and the compute they run on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Estate {
    pub(crate) groups: BTreeMap<Name, Group>,
    pub(crate) compute: Compute,
}

/// EC2's side of an estate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Compute {
    pub(crate) id: EstateId,
    pub(crate) account: Name,
    pub(crate) region: Name,
    pub(crate) subnets: BTreeMap<Name, Subnet>,
    pub(crate) security_groups: BTreeSet<Name>,
    pub(crate) key_pairs: BTreeSet<Name>,
    pub(crate) instance_profiles: BTreeSet<Name>,
    pub(crate) templates: BTreeMap<Name, LaunchTemplate>,
    /// Template name to id.
    pub(crate) template_ids: BTreeMap<Name, Name>,
    /// Client token of a create call to the template (and version) it made.
    pub(crate) client_tokens: HashMap<String, (String, Name, u64)>,
    #[serde(with = "instance_rows")]
    pub(crate) instances: BTreeMap<Name, Instance>,
    /// Group name to its instances, terminated ones included while they are visible.
    pub(crate) instances_by_group: HashMap<Name, BTreeSet<Name>>,
    pub(crate) quota: Quota,
}

/// vCPU quotas of an account in a region.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Quota {
    pub(crate) on_demand: Option<u32>,
    pub(crate) spot: Option<u32>,
    pub(crate) on_demand_used: u32,
    pub(crate) spot_used: u32,
}

impl Estate {
    pub(crate) fn new(id: EstateId, account: Name, region: Name) -> Self {
        let compute = Compute {
            id,
            account,
            region,
            subnets: BTreeMap::new(),
            security_groups: BTreeSet::new(),
            key_pairs: BTreeSet::new(),
            instance_profiles: BTreeSet::new(),
            templates: BTreeMap::new(),
            template_ids: BTreeMap::new(),
            client_tokens: HashMap::new(),
            instances: BTreeMap::new(),
            instances_by_group: HashMap::new(),
            quota: Quota::default(),
        };
        Self {
            groups: BTreeMap::new(),
            compute,
        }
    }
}
