//! What all subscriptions share: regions with their zones and capacity, and images.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Name;
use crate::{azure::protocol::id, capacity::Capacity};

/// A region.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Region {
    /// Zones by name (`1`); none in a region without zones.
    pub(crate) zones: BTreeMap<Name, Capacity>,
    /// Capacity for instances outside zones.
    pub(crate) regional: Capacity,
}

impl Region {
    /// The capacity of a zone, or of the region outside zones.
    pub(crate) fn capacity(&mut self, zone: Option<&str>) -> Option<&mut Capacity> {
        match zone {
            Some(zone) => self.zones.get_mut(zone),
            None => Some(&mut self.regional),
        }
    }
}

/// A region's name as ARM compares it: without spaces and case.
pub(crate) fn region_key(location: &str) -> String {
    location
        .chars()
        .filter(|c| !c.is_whitespace())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Images by key of their id, those of galleries with their version.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Images(BTreeMap<String, Image>);

/// A machine image.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Image {
    /// `v1.34.1`: what the kubelet in the image reports.
    pub(crate) kubelet_version: Option<String>,
}

impl Images {
    pub(crate) fn add(&mut self, image_id: &str, image: Image) {
        self.0.insert(id::key(image_id), image);
    }

    pub(crate) fn remove(&mut self, image_id: &str) {
        self.0.remove(&id::key(image_id));
    }

    /// The image of an id; of a gallery image without a version, or with `latest`, the last one.
    pub(crate) fn find(&self, image_id: &str) -> Option<&Image> {
        let key = id::key(image_id);
        if let Some(image) = self.0.get(&key) {
            return Some(image);
        }
        let definition = key.strip_suffix("/versions/latest").unwrap_or(&key);
        if definition.contains("/versions/") {
            return None;
        }
        let prefix = format!("{definition}/versions/");
        let versions = self.0.range(prefix.clone()..);
        versions
            .take_while(|(known, _)| known.starts_with(&prefix))
            .max_by_key(|(known, _)| version(known))
            .map(|(_, image)| image)
    }
}

fn version(image_id: &str) -> Vec<u64> {
    id::name_of(image_id)
        .split('.')
        .map(|number| number.parse().unwrap_or(0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_a_version_is_the_last_one() {
        let mut images = Images::default();
        for version in ["1.9.0", "1.34.1", "1.34.0"] {
            let image = Image {
                kubelet_version: Some(format!("v{version}")),
            };
            images.add(
                &format!("/communityGalleries/G/images/i/versions/{version}"),
                image,
            );
        }
        let found = |id: &str| {
            images
                .find(id)
                .and_then(|image| image.kubelet_version.clone())
        };
        assert_eq!(found("/communitygalleries/g/images/i").unwrap(), "v1.34.1");
        assert_eq!(
            found("/communityGalleries/G/images/i/versions/latest").unwrap(),
            "v1.34.1"
        );
        assert_eq!(
            found("/communityGalleries/G/images/i/versions/1.9.0").unwrap(),
            "v1.9.0"
        );
        assert_eq!(found("/communityGalleries/G/images/i/versions/2.0.0"), None);
        assert_eq!(found("/communityGalleries/G/images/other"), None);
    }
}
