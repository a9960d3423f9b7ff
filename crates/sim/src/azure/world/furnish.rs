//! Putting things into the world.

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::json;

use super::World;
use crate::{
    addresses::Addresses,
    azure::{
        protocol::id,
        state::{Application, Federation, Group, State, Thing, region::Image, region::region_key},
    },
    capacity::Capacity,
    ids::uuid,
    secret::Hidden,
};

impl World {
    /// Adds a region with zones: `add_region("westeurope", &["1", "2", "3"])`.
    pub fn add_region(&self, name: &str, zones: &[&str]) {
        self.change(|state| {
            let region = state.fabric.regions.entry(region_key(name).into());
            let region = region.or_default();
            for zone in zones {
                region
                    .zones
                    .entry((*zone).into())
                    .or_insert_with(Capacity::default);
            }
        });
    }

    /// Adds a subscription of a tenant.
    pub fn add_subscription(&self, id: &str, tenant: &str) {
        self.change(|state| state.add_subscription(id, tenant));
    }

    /// Adds an application with a secret that may do everything in a subscription.
    pub fn add_application(&self, tenant: &str, client_id: &str, secret: &str, subscription: &str) {
        self.with_application(tenant, client_id, |application| {
            application.secrets.push((Hidden(secret.into()), None));
            application.subscriptions.insert(id::key(subscription));
        });
    }

    /// Lets a certificate, as DER, sign an application's assertions.
    pub fn add_certificate(&self, tenant: &str, client_id: &str, certificate: &[u8]) {
        self.with_application(tenant, client_id, |application| {
            application.certificates.push(STANDARD.encode(certificate));
        });
    }

    /// Lets tokens of an issuer, for a subject and an audience, stand for an application's own.
    pub fn add_federation(
        &self,
        tenant: &str,
        client_id: &str,
        (issuer, subject, audience): (&str, &str, &str),
    ) {
        self.with_application(tenant, client_id, |application| {
            application.federations.push(Federation {
                issuer: issuer.into(),
                subject: subject.into(),
                audience: audience.into(),
            });
        });
    }

    /// Lets the metadata service hand out tokens of an identity, and the identity do everything in
    /// a subscription.
    pub fn attach_identity(&self, tenant: &str, client_id: &str, subscription: &str) {
        self.with_application(tenant, client_id, |application| {
            application.managed = true;
            application.subscriptions.insert(id::key(subscription));
        });
    }

    /// Ends a secret of an application at a moment; `None`: it never ends.
    pub fn expire_secret(&self, client_id: &str, at: Option<Timestamp>) {
        self.change(|state| {
            if let Some(application) = state.directory.applications.get_mut(client_id) {
                for (_, expires) in &mut application.secrets {
                    *expires = at;
                }
            }
        });
    }

    /// Takes a caller's rights in a subscription away.
    pub fn revoke(&self, client_id: &str, subscription: &str) {
        self.change(|state| {
            if let Some(application) = state.directory.applications.get_mut(client_id) {
                application.subscriptions.remove(&id::key(subscription));
            }
        });
    }

    /// Removes an application and its secrets.
    pub fn remove_application(&self, client_id: &str) {
        self.change(|state| state.directory.applications.remove(client_id));
    }

    /// Ends all access tokens now.
    pub fn expire_tokens(&self) {
        self.change(|state| state.directory.expire_tokens(state.fabric.now));
    }

    /// Adds a resource group. Nothing happens when there is no such subscription.
    pub fn add_group(&self, subscription: &str, name: &str, location: &str) {
        self.in_subscription(subscription, |state, place| {
            let group = Group::new(name, &region_key(location), json!({}));
            let groups = &mut state.subscriptions[place].groups;
            groups.entry(id::key(name).into()).or_insert(group);
        });
    }

    /// Adds a subnet by its id, with a CIDR between /16 and /28 whose addresses are handed out
    /// from the `first_host`th on; false when the CIDR is none.
    pub fn add_subnet(&self, subnet_id: &str, cidr: &str, first_host: u32) -> bool {
        let Some(addresses) = Addresses::new(cidr, first_host) else {
            return false;
        };
        self.add_thing(subnet_id, Thing::Subnet(addresses));
        true
    }

    /// Adds a network security group by its id.
    pub fn add_network_security_group(&self, id: &str) {
        self.add_thing(id, Thing::NetworkSecurityGroup);
    }

    /// Adds an application security group by its id.
    pub fn add_application_security_group(&self, id: &str) {
        self.add_thing(id, Thing::ApplicationSecurityGroup);
    }

    /// Adds a user-assigned identity by its id.
    pub fn add_identity(&self, identity_id: &str, client_id: &str) {
        let principal_id = self.change(|state| uuid(&mut state.fabric.rng));
        let thing = Thing::Identity {
            client_id: client_id.into(),
            principal_id,
        };
        self.add_thing(identity_id, thing);
    }

    /// Takes away what a scale set may refer to.
    pub fn remove_resource(&self, resource_id: &str) {
        self.change(|state| {
            for subscription in state.subscriptions.iter_mut() {
                subscription.things.remove(&id::key(resource_id));
            }
        });
    }

    /// Adds an image by its id, in whatever gallery; what its kubelet reports.
    pub fn add_image(&self, image_id: &str, kubelet_version: Option<&str>) {
        let image = Image {
            kubelet_version: kubelet_version.map(str::to_owned),
        };
        self.change(|state| state.fabric.images.add(image_id, image));
    }

    /// Removes an image.
    pub fn remove_image(&self, image_id: &str) {
        self.change(|state| state.fabric.images.remove(image_id));
    }

    fn add_thing(&self, thing_id: &str, thing: Thing) {
        let subscription = id::part(thing_id, "subscriptions").unwrap_or_default();
        self.in_subscription(subscription, |state, place| {
            let things = &mut state.subscriptions[place].things;
            things.insert(id::key(thing_id), thing);
        });
    }

    fn with_application(
        &self,
        tenant: &str,
        client_id: &str,
        change: impl FnOnce(&mut Application),
    ) {
        self.change(|state| {
            let applications = &mut state.directory.applications;
            let application = applications.entry(client_id.to_owned()).or_default();
            tenant.clone_into(&mut application.tenant);
            change(application);
        });
    }

    fn in_subscription(&self, subscription: &str, change: impl FnOnce(&mut State, usize)) {
        self.change(|state| {
            if let Some(place) = state.place_of(subscription) {
                change(state, place);
            }
        });
    }
}
