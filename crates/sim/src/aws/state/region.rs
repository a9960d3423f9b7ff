//! What all accounts share in a region: zones with their capacity, and images.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Name;

/// A region.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Region {
    pub(crate) zones: BTreeMap<Name, Zone>,
    pub(crate) images: BTreeMap<Name, Image>,
}

/// An availability zone.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Zone {
    /// `use1-az1`.
    pub(crate) id: String,
    /// Most instances of a type at once; a type that is not listed has no limit.
    capacity: HashMap<String, u32>,
    used: HashMap<String, u32>,
}

impl Zone {
    pub(crate) fn new(id: String) -> Self {
        Self {
            id,
            ..Self::default()
        }
    }

    /// Limits a type; `None` lifts the limit. `*` limits every type without a limit of its own.
    pub(crate) fn limit(&mut self, instance_type: &str, instances: Option<u32>) {
        match instances {
            Some(most) => self.capacity.insert(instance_type.to_owned(), most),
            None => self.capacity.remove(instance_type),
        };
    }

    /// Whether one more instance of the type fits.
    pub(crate) fn has_room(&self, instance_type: &str) -> bool {
        let limit = self
            .capacity
            .get(instance_type)
            .or_else(|| self.capacity.get("*"));
        limit.is_none_or(|limit| self.used.get(instance_type).copied().unwrap_or(0) < *limit)
    }

    pub(crate) fn take(&mut self, instance_type: &str) {
        match self.used.get_mut(instance_type) {
            Some(used) => *used += 1,
            None => {
                self.used.insert(instance_type.to_owned(), 1);
            }
        }
    }

    pub(crate) fn give_back(&mut self, instance_type: &str) {
        if let Some(used) = self.used.get_mut(instance_type) {
            *used = used.saturating_sub(1);
        }
    }
}

/// A machine image.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Image {
    pub(crate) id: Name,
    pub(crate) name: String,
    pub(crate) owner: String,
    /// `amazon` or `aws-marketplace` for Amazon's own accounts.
    pub(crate) owner_alias: Option<String>,
    pub(crate) architecture: String,
    pub(crate) created: Timestamp,
    pub(crate) state: String,
    pub(crate) deprecated_since: Option<Timestamp>,
    pub(crate) public: bool,
    pub(crate) root_device_name: String,
    /// `v1.34.1`: what the kubelet in the image reports.
    pub(crate) kubelet_version: Option<String>,
}

impl Image {
    /// The kubelet's version: told, or read from the image's name (`…-v1.34.1-1760000000`).
    pub(crate) fn kubelet(&self) -> Option<String> {
        self.kubelet_version
            .clone()
            .or_else(|| version_in(&self.name))
    }
}

/// The first `<number>.<number>.<number>` with a part boundary before it, as `v…`. A dotted pair
/// (`24.04`) is an operating system's version.
fn version_in(name: &str) -> Option<String> {
    name.split('-').find_map(|part| {
        let part = part.strip_prefix('v').unwrap_or(part);
        let numbers: Vec<&str> = part.split('.').collect();
        let plain = numbers
            .iter()
            .all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        (numbers.len() == 3 && plain).then(|| format!("v{part}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kubelet_version_is_read_from_the_image_name() {
        let read = |name| version_in(name);
        assert_eq!(
            read("capa-ami-ubuntu-24.04-v1.34.1-1760000000").unwrap(),
            "v1.34.1"
        );
        assert_eq!(read("capa-ami-ubuntu-24.04-1.35.0-17").unwrap(), "v1.35.0");
        assert_eq!(read("plain-image"), None);
    }

    #[test]
    fn a_zone_counts_its_capacity() {
        let mut zone = Zone::new("use1-az1".into());
        zone.limit("m6i.large", Some(1));
        zone.take("m6i.large");
        assert!(!zone.has_room("m6i.large"));
        assert!(zone.has_room("m6i.xlarge"));
        zone.give_back("m6i.large");
        assert!(zone.has_room("m6i.large"));
    }
}
