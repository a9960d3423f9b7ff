//! Putting things into the world.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
    sync::Arc,
};

use bytes::Bytes;
use jiff::Timestamp;

use super::World;
use crate::{
    addresses::Addresses,
    aws::{
        InstanceState, State,
        autoscaling::group::{Group, Lifecycle, Member},
        ec2::instance::Instance,
        s3::Bucket,
        state::{
            Fabric, Name,
            events::EstateId,
            identity::{Key, Principal, Rights, Role},
            network::Subnet,
            region::{Image, Zone},
        },
    },
    secret::Hidden,
};

/// A machine image to add.
#[derive(Debug, Clone)]
pub struct ImageSpec {
    /// `ami-0123456789abcdef0`.
    pub id: String,
    /// `capa-ami-ubuntu-24.04-v1.34.1-1760000000`.
    pub name: String,
    /// Account of 12 digits.
    pub owner: String,
    /// `amazon` or `aws-marketplace`, for Amazon's accounts.
    pub owner_alias: Option<String>,
    /// `x86_64` or `arm64`.
    pub architecture: String,
    /// When it was made.
    pub created: Timestamp,
    /// `v1.34.1`; without it the version in the name counts.
    pub kubelet_version: Option<String>,
}

impl ImageSpec {
    /// An `x86_64` image made at `created`.
    pub fn new(id: &str, name: &str, owner: &str, created: Timestamp) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            owner: owner.into(),
            owner_alias: None,
            architecture: "x86_64".into(),
            created,
            kubelet_version: None,
        }
    }

    /// The same image for `arm64`.
    #[must_use]
    pub fn arm64(mut self) -> Self {
        self.architecture = "arm64".into();
        self
    }
}

/// A subnet to add.
#[derive(Debug, Clone)]
pub struct SubnetSpec<'a> {
    /// `subnet-0aaa0000000000001`.
    pub id: &'a str,
    /// `vpc-…`.
    pub vpc: &'a str,
    /// `us-east-1a`.
    pub zone: &'a str,
    /// `10.0.1.0/24`; between /16 and /28.
    pub cidr: &'a str,
    /// The first address handed out, counted from the CIDR's base.
    pub first_host: u32,
}

/// An instance put in by hand, in any state.
#[derive(Debug, Clone)]
pub struct PlacedInstance {
    /// `i-0aaa0000000000001`.
    pub id: String,
    /// Group it is tagged with, and made a member of if the group exists.
    pub group: String,
    /// `us-east-1a`.
    pub zone: String,
    /// Its state; transitions go on from there only when something else happens to it.
    pub state: InstanceState,
    /// Its private address, if it has one.
    pub private_ip: Option<Ipv4Addr>,
}

impl World {
    /// Adds a long-lived key of an account's administrator.
    pub fn add_account_key(&self, account: &str, access_key_id: &str, secret: &str) {
        let principal = Principal {
            account: account.into(),
            arn: format!("arn:aws:iam::{account}:user/administrator"),
            user_id: "AIDASIMULATED0000000".into(),
            role: None,
            rights: Rights::Everything,
        };
        let secret = Hidden(secret.into());
        let key = Key {
            secret,
            session_token: None,
            expires: None,
            principal,
        };
        self.hand().identity.keys.insert(access_key_id.into(), key);
    }

    /// Removes a key: requests signed with it are refused from now on.
    pub fn remove_key(&self, access_key_id: &str) {
        self.hand().identity.keys.remove(access_key_id);
    }

    /// Ends all sessions of roles now.
    pub fn expire_sessions(&self) {
        let mut state = self.hand();
        let now = state.fabric.now;
        for key in state.identity.keys.values_mut() {
            if key.expires.is_some() {
                key.expires = Some(now);
            }
        }
    }

    /// Adds an administrator role that keys of `trusted` accounts may assume; its ARN.
    pub fn add_role(
        &self,
        account: &str,
        name: &str,
        trusted: &[&str],
        external_id: Option<&str>,
    ) -> String {
        self.put_role(Role {
            account: account.into(),
            name: name.into(),
            rights: Rights::Everything,
            trusted_accounts: trusted
                .iter()
                .map(|account| (*account).to_owned())
                .collect(),
            web_identity_subject: None,
            external_id: external_id.map(str::to_owned),
        })
    }

    /// Adds an administrator role for web identities with this subject
    /// (`system:serviceaccount:remuda:manager`); its ARN.
    pub fn add_web_identity_role(&self, account: &str, name: &str, subject: &str) -> String {
        self.put_role(Role {
            account: account.into(),
            name: name.into(),
            rights: Rights::Everything,
            trusted_accounts: Vec::new(),
            web_identity_subject: Some(subject.into()),
            external_id: None,
        })
    }

    /// Adds an instance profile and the worker role of the same name behind it.
    pub fn add_instance_profile(&self, account: &str, region: &str, name: &str) {
        let arn = self.put_role(Role {
            account: account.into(),
            name: name.into(),
            rights: Rights::Worker,
            trusted_accounts: Vec::new(),
            web_identity_subject: None,
            external_id: None,
        });
        let mut state = self.hand();
        state
            .identity
            .profiles
            .insert((account.into(), name.into()), arn);
        if let Some(id) = state.estate_id(account, region) {
            state.estates[id]
                .compute
                .instance_profiles
                .insert(name.into());
        }
    }

    /// Adds a region with zones named by their letters: `add_region("us-east-1", "abc")`.
    pub fn add_region(&self, name: &str, zone_letters: &str) {
        let short = short_name(name);
        let mut state = self.hand();
        let region = state.fabric.regions.entry(name.into()).or_default();
        for (number, letter) in zone_letters.chars().enumerate() {
            let zone = Zone::new(format!("{short}-az{}", number + 1));
            region
                .zones
                .entry(format!("{name}{letter}").into())
                .or_insert(zone);
        }
    }

    /// Adds a subnet; false when the region, the zone or the CIDR is none.
    pub fn add_subnet(&self, account: &str, region: &str, subnet: &SubnetSpec<'_>) -> bool {
        let mut state = self.hand();
        let zones = state.fabric.regions.get(region).map(|region| &region.zones);
        if !zones.is_some_and(|zones| zones.contains_key(subnet.zone)) {
            return false;
        }
        let addresses = Addresses::new(subnet.cidr, subnet.first_host);
        let (Some(addresses), Some(id)) = (addresses, state.estate_id(account, region)) else {
            return false;
        };
        let made = Subnet {
            id: subnet.id.into(),
            vpc_id: subnet.vpc.into(),
            zone: subnet.zone.into(),
            addresses,
        };
        state.estates[id]
            .compute
            .subnets
            .insert(subnet.id.into(), made);
        true
    }

    /// Takes a subnet away, as a person would who tore down half a cluster.
    pub fn remove_subnet(&self, id: &str) {
        for estate in self.hand().estates.iter_mut() {
            estate.compute.subnets.remove(id);
        }
    }

    /// Adds a security group.
    pub fn add_security_group(&self, account: &str, region: &str, id: &str) {
        self.with_estate(account, region, |state, estate| {
            state.estates[estate]
                .compute
                .security_groups
                .insert(id.into());
        });
    }

    /// Adds an EC2 key pair.
    pub fn add_key_pair(&self, account: &str, region: &str, name: &str) {
        self.with_estate(account, region, |state, estate| {
            state.estates[estate].compute.key_pairs.insert(name.into());
        });
    }

    /// Adds a bucket whose policy lets `reader` (a role's name) get objects under the prefixes.
    pub fn add_bucket(
        &self,
        account: &str,
        region: &str,
        name: &str,
        reader: &str,
        prefixes: &[&str],
    ) {
        let mut state = self.hand();
        let readers = prefixes
            .iter()
            .map(|prefix| (reader.to_owned(), (*prefix).to_owned()))
            .collect();
        let bucket = Bucket {
            account: account.into(),
            region: region.into(),
            readers,
            objects: BTreeMap::new(),
            created: state.fabric.now,
        };
        state.buckets.insert(name.into(), bucket);
    }

    /// Takes a bucket and its objects away.
    pub fn remove_bucket(&self, name: &str) {
        self.hand().buckets.remove(name);
    }

    /// The bytes of an object.
    pub fn object(&self, bucket: &str, key: &str) -> Option<Bytes> {
        let state = self.state();
        state
            .buckets
            .get(bucket)?
            .objects
            .get(key)
            .map(|object| object.body.clone())
    }

    /// The tags of an object.
    pub fn object_tags(&self, bucket: &str, key: &str) -> Option<BTreeMap<String, String>> {
        let state = self.state();
        state
            .buckets
            .get(bucket)?
            .objects
            .get(key)
            .map(|object| object.tags.clone())
    }

    /// The keys in a bucket.
    pub fn object_keys(&self, bucket: &str) -> Vec<String> {
        let state = self.state();
        state
            .buckets
            .get(bucket)
            .map_or_else(Vec::new, |b| b.objects.keys().cloned().collect())
    }

    /// Deletes an object behind everyone's back.
    pub fn remove_object(&self, bucket: &str, key: &str) {
        if let Some(bucket) = self.hand().buckets.get_mut(bucket) {
            bucket.objects.remove(key);
        }
    }

    /// Adds a public image to a region.
    pub fn add_image(&self, region: &str, spec: ImageSpec) {
        let mut state = self.hand();
        let Some(region) = state.fabric.regions.get_mut(region) else {
            return;
        };
        let id: Name = spec.id.into();
        let image = Image {
            id: id.clone(),
            name: spec.name,
            owner: spec.owner,
            owner_alias: spec.owner_alias,
            architecture: spec.architecture.into(),
            created: spec.created,
            state: "available".into(),
            deprecated_since: None,
            public: true,
            root_device_name: "/dev/sda1".into(),
            kubelet_version: spec.kubelet_version,
        };
        region.images.insert(id, image);
    }

    /// Deregisters an image.
    pub fn remove_image(&self, region: &str, id: &str) {
        if let Some(region) = self.hand().fabric.regions.get_mut(region) {
            region.images.remove(id);
        }
    }

    /// Marks an image as deprecated from now on.
    pub fn deprecate_image(&self, region: &str, id: &str) {
        let mut state = self.hand();
        let now = state.fabric.now;
        let region = state.fabric.regions.get_mut(region);
        if let Some(image) = region.and_then(|region| region.images.get_mut(id)) {
            image.deprecated_since = Some(now);
        }
    }

    /// Puts an instance into the world without launching it; false when the zone has no subnet.
    pub fn place_instance(&self, account: &str, region: &str, placed: PlacedInstance) -> bool {
        self.change(|state| {
            let Some(estate) = state.estate_id(account, region) else {
                return false;
            };
            place(state, estate, placed)
        })
    }

    fn put_role(&self, role: Role) -> String {
        let arn = role.arn();
        self.hand().identity.roles.insert(arn.clone(), role);
        arn
    }

    fn with_estate(&self, account: &str, region: &str, change: impl FnOnce(&mut State, EstateId)) {
        let mut state = self.hand();
        if let Some(id) = state.estate_id(account, region) {
            change(&mut state, id);
        }
    }
}

/// `use1` for `us-east-1`: what zone ids start with.
fn short_name(region: &str) -> String {
    let short = |part: &str| match part {
        "northeast" => "ne".to_owned(),
        "northwest" => "nw".to_owned(),
        "southeast" => "se".to_owned(),
        "southwest" => "sw".to_owned(),
        "north" | "south" | "east" | "west" | "central" => part[..1].to_owned(),
        other => other.to_owned(),
    };
    region.split('-').map(short).collect()
}

fn place(state: &mut State, estate: EstateId, placed: PlacedInstance) -> bool {
    let site = state.site(estate);
    let compute = &mut site.estate.compute;
    let subnet = compute
        .subnets
        .values_mut()
        .find(|subnet| *subnet.zone == *placed.zone);
    let Some(subnet) = subnet else { return false };
    if let Some(address) = placed.private_ip {
        subnet.addresses.take_this(address);
    }
    let id: Name = placed.id.into();
    let group: Name = placed.group.into();
    let tags = BTreeMap::from([("aws:autoscaling:groupName".to_owned(), group.to_string())]);
    let instance = Instance {
        id: id.clone(),
        image_id: "ami-00000000000000000".into(),
        instance_type: "m6i.large".into(),
        zone: placed.zone.into(),
        subnet_id: subnet.id.clone(),
        vpc_id: subnet.vpc_id.clone(),
        private_ip: placed.private_ip,
        public_ip: None,
        launched: site.fabric.now,
        state: placed.state,
        reason: None,
        spot: false,
        architecture: "x86_64".into(),
        root_device: "/dev/sda1".into(),
        group: Some(group.clone()),
        origin: None,
        tags: Arc::new(tags),
        holds_capacity: false,
        interrupted: false,
    };
    if let Some(group) = site.estate.groups.get_mut(&group)
        && !placed.state.is_ending()
    {
        attach(group, &instance, site.fabric);
    }
    let index: &mut BTreeSet<Name> = compute.instances_by_group.entry(group).or_default();
    index.insert(id.clone());
    compute.instances.insert(id, instance);
    true
}

fn attach(group: &mut Group, instance: &Instance, fabric: &mut Fabric) {
    let in_service = instance.state != InstanceState::Pending;
    let activity = group.activities.begin(
        fabric.new_uuid(),
        format!("Attaching an existing EC2 instance: {}", instance.id),
        "An instance was put in by hand.".into(),
        fabric.now,
    );
    let member = Member {
        id: instance.id.clone(),
        zone: instance.zone.clone(),
        instance_type: instance.instance_type.clone(),
        image_id: instance.image_id.clone(),
        template: None,
        version: 0,
        launched: instance.launched,
        lifecycle: if in_service {
            Lifecycle::InService
        } else {
            Lifecycle::Pending
        },
        healthy: true,
        unwell_since: None,
        protected: false,
        in_service_since: in_service.then_some(instance.launched),
        waits: Vec::new(),
        replace: None,
        activity,
    };
    group.members.insert(instance.id.clone(), member);
}
