//! Instances and their network interfaces (Azure document 7.3 to 7.5).

use remuda_plan::{
    azure::{names, observed, place::Place},
    pool::members::{Address, Member, MemberState},
};
use serde::Deserialize;

use super::address;

/// An instance of a list.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Instance {
    #[serde(default)]
    id: String,
    #[serde(rename = "instanceId")]
    number: Option<String>,
    zones: Option<Vec<String>>,
    properties: Option<Properties>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Properties {
    vm_id: Option<String>,
    provisioning_state: Option<String>,
    time_created: Option<String>,
    os_profile: Option<OsProfile>,
    instance_view: Option<InstanceView>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OsProfile {
    computer_name: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct InstanceView {
    statuses: Option<Vec<Status>>,
}

#[derive(Debug, Clone, Deserialize)]
struct Status {
    code: Option<String>,
}

impl Instance {
    /// `7`.
    pub(crate) fn instance_id(&self) -> &str {
        match self.number.as_deref() {
            Some(id) if !id.is_empty() => id,
            _ => address::name_of(&self.id),
        }
    }

    /// Identifies the machine behind an instance id, which may be used again.
    pub(crate) fn vm_id(&self) -> Option<&str> {
        let id = self.properties.as_ref()?.vm_id.as_deref()?;
        (!id.is_empty()).then_some(id)
    }

    /// The instance in the plan's shape, at an address where one is known.
    pub(crate) fn seen(
        &self,
        place: &Place,
        set: &str,
        internal_ip: Option<&str>,
    ) -> observed::Instance {
        let properties = self.properties.as_ref();
        observed::Instance {
            member: self.member(place, set, internal_ip),
            is_deleting: properties
                .and_then(|properties| properties.provisioning_state.as_deref())
                .is_some_and(|state| state.eq_ignore_ascii_case("Deleting")),
            created_at: properties
                .and_then(|properties| properties.time_created.as_deref()?.parse().ok()),
        }
    }

    fn member(&self, place: &Place, set: &str, internal_ip: Option<&str>) -> Member {
        let (state, reason) = self.state();
        let hostname = self
            .properties
            .as_ref()
            .and_then(|properties| properties.os_profile.as_ref()?.computer_name.as_deref());
        let addresses = [("InternalIP", internal_ip), ("Hostname", hostname)]
            .into_iter()
            .filter_map(|(kind, address)| {
                let address = address.filter(|address| !address.is_empty())?;
                Some(Address {
                    kind: kind.to_owned(),
                    address: address.to_owned(),
                })
            })
            .collect();
        Member {
            provider_id: names::member_provider_id(place, set, self.instance_id()),
            instance_id: self.instance_id().to_owned(),
            addresses,
            failure_domain: self
                .zones
                .as_ref()
                .and_then(|zones| zones.first())
                .filter(|zone| !zone.is_empty())
                .cloned(),
            state,
            reason,
        }
    }

    /// Azure document 7.4.
    fn state(&self) -> (MemberState, Option<String>) {
        let reason = |code: &str| Some(format!("PowerState/{code}"));
        match self.power().as_deref() {
            Some("running") => (MemberState::Running, None),
            Some(code @ "starting") => (MemberState::Pending, reason(code)),
            None => (MemberState::Pending, reason("unknown")),
            Some(code @ ("stopping" | "stopped" | "deallocating" | "deallocated")) => {
                (MemberState::Stopped, reason(code))
            }
            Some(_) => (MemberState::Unknown, Some("UnknownState".to_owned())),
        }
    }

    /// The power state in lower case; `None` when none is told.
    fn power(&self) -> Option<String> {
        let statuses = self
            .properties
            .as_ref()?
            .instance_view
            .as_ref()?
            .statuses
            .as_ref()?;
        statuses
            .iter()
            .filter_map(|status| status.code.as_deref()?.split_once('/'))
            .find(|(kind, _)| kind.eq_ignore_ascii_case("PowerState"))
            .map(|(_, power)| power.to_lowercase())
            .filter(|power| !power.is_empty())
    }
}

/// A network interface of a list.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Nic {
    #[serde(default)]
    id: String,
    properties: Option<NicProperties>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NicProperties {
    primary: Option<bool>,
    ip_configurations: Option<Vec<IpConfiguration>>,
}

#[derive(Debug, Clone, Deserialize)]
struct IpConfiguration {
    properties: Option<IpProperties>,
}

#[derive(Debug, Clone, Deserialize)]
struct IpProperties {
    primary: Option<bool>,
    #[serde(rename = "privateIPAddress")]
    private_ip_address: Option<String>,
}

impl Nic {
    /// The instance it belongs to.
    pub(crate) fn instance_id(&self) -> Option<&str> {
        address::part(&self.id, "virtualMachines")
    }

    /// It is the instance's primary one.
    pub(crate) fn is_primary(&self) -> bool {
        self.properties
            .as_ref()
            .is_some_and(|properties| properties.primary == Some(true))
    }

    /// The address of the primary IP configuration, else of the first that has one.
    pub(crate) fn internal_ip(&self) -> Option<&str> {
        let configurations = self.properties.as_ref()?.ip_configurations.as_ref()?;
        let address = |primary_only: bool| {
            configurations
                .iter()
                .filter_map(|configuration| configuration.properties.as_ref())
                .filter(|properties| !primary_only || properties.primary == Some(true))
                .find_map(|properties| {
                    let address = properties.private_ip_address.as_deref()?;
                    (!address.is_empty()).then_some(address)
                })
        };
        address(true).or_else(|| address(false))
    }
}
