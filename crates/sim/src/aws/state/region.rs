//! What all accounts share in a region: zones with their capacity, and images.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Name;
use crate::capacity::Capacity;

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
    pub(crate) capacity: Capacity,
}

impl Zone {
    pub(crate) fn new(id: String) -> Self {
        Self {
            id,
            capacity: Capacity::default(),
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
    pub(crate) architecture: Name,
    pub(crate) created: Timestamp,
    pub(crate) state: String,
    pub(crate) deprecated_since: Option<Timestamp>,
    pub(crate) public: bool,
    pub(crate) root_device_name: Name,
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
}
