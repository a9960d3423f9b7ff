//! Where things are: paths below the ARM endpoint (Azure document 4.1).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use remuda_plan::azure::{image::ImageReference, names, place::Place};

use crate::calls::version;

/// What may stand in a segment of a path as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// The place with its names made fit for a path.
fn in_path(place: &Place) -> Place {
    Place {
        subscription_id: segment(&place.subscription_id),
        resource_group_name: segment(&place.resource_group_name),
        region: segment(&place.region),
    }
}

/// All sets of a group.
pub(crate) fn sets(place: &Place) -> String {
    format!(
        "{}/providers/Microsoft.Compute/virtualMachineScaleSets?api-version={}",
        names::group_id(&in_path(place)),
        version::COMPUTE
    )
}

fn below_set(place: &Place, set: &str, below: &str) -> String {
    format!("{}{below}", names::set_id(&in_path(place), &segment(set)))
}

/// One set.
pub(crate) fn set(place: &Place, set: &str) -> String {
    below_set(place, set, &format!("?api-version={}", version::COMPUTE))
}

/// Where instances of a set are deleted.
pub(crate) fn delete_instances(place: &Place, set: &str) -> String {
    below_set(
        place,
        set,
        &format!("/delete?api-version={}", version::COMPUTE),
    )
}

/// Instances of a set with their views.
pub(crate) fn instances(place: &Place, set: &str) -> String {
    let query = format!(
        "/virtualMachines?$expand=instanceView&api-version={}",
        version::COMPUTE
    );
    below_set(place, set, &query)
}

/// Network interfaces of all instances of a set.
pub(crate) fn nics(place: &Place, set: &str) -> String {
    let query = format!("/networkInterfaces?api-version={}", version::NETWORK);
    below_set(place, set, &query)
}

/// What the caller may do in a group.
pub(crate) fn permissions(place: &Place) -> String {
    format!(
        "{}/providers/Microsoft.Authorization/permissions?api-version={}",
        names::group_id(&in_path(place)),
        version::AUTHORIZATION
    )
}

/// How much of a region's quotas is used.
pub(crate) fn usages(place: &Place) -> String {
    let place = in_path(place);
    format!(
        "/subscriptions/{}/providers/Microsoft.Compute/locations/{}/usages?api-version={}",
        place.subscription_id,
        place.region,
        version::COMPUTE
    )
}

/// How many addresses of a subnet's network are used, by subnet; `None` for what is no subnet.
pub(crate) fn subnet_usages(subnet: &str) -> Option<String> {
    let at = subnet.to_lowercase().find("/subnets/")?;
    let network = path(&subnet[..at]);
    Some(format!(
        "{network}/usages?api-version={}",
        version::VIRTUAL_NETWORKS
    ))
}

/// All autoscale settings of a group.
pub(crate) fn settings(place: &Place) -> String {
    format!(
        "{}/providers/Microsoft.Insights/autoscalesettings?api-version={}",
        names::group_id(&in_path(place)),
        version::INSIGHTS
    )
}

/// One autoscale setting.
pub(crate) fn setting(place: &Place, name: &str) -> String {
    format!(
        "{}?api-version={}",
        names::setting_id(&in_path(place), &segment(name)),
        version::INSIGHTS
    )
}

/// Where an image, an image definition or a version is read; `None` for a reference that is not
/// ours. Galleries that others share are read below the region, which has to hold them.
pub(crate) fn image(place: &Place, image: &ImageReference) -> Option<String> {
    let (path, version) = match image {
        ImageReference::Community(text) | ImageReference::Shared(text) => {
            let below = format!(
                "/subscriptions/{}/providers/Microsoft.Compute/locations/{}",
                segment(&place.subscription_id),
                segment(&place.region),
            );
            (format!("{below}{}", path(text)), version::GALLERY)
        }
        ImageReference::Id(text) if part(text, "galleries").is_some() => {
            (path(text), version::GALLERY)
        }
        ImageReference::Id(text) => (path(text), version::COMPUTE),
        ImageReference::Other(_) => return None,
    };
    // The newest version has no address of its own: its definition has to do.
    let path = path.strip_suffix("/versions/latest").unwrap_or(&path);
    Some(format!("{path}?api-version={version}"))
}

/// A path whose segments are made fit for one.
fn path(text: &str) -> String {
    let segments: Vec<String> = text.split('/').map(segment).collect();
    segments.join("/")
}

/// The last part of an ARM ID.
pub(crate) fn name_of(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// The part of an ARM ID that follows `kind`, whose case carries no meaning.
pub(crate) fn part<'a>(id: &'a str, kind: &str) -> Option<&'a str> {
    let mut parts = id.split('/');
    parts.find(|part| part.eq_ignore_ascii_case(kind))?;
    parts.next().filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_their_segment() {
        let place = Place {
            subscription_id: "s".to_owned(),
            resource_group_name: "a/b (c)".to_owned(),
            region: "westeurope".to_owned(),
        };
        let path = set(&place, "x?y");
        assert!(
            path.starts_with("/subscriptions/s/resourceGroups/a%2Fb%20%28c%29/providers/"),
            "{path}"
        );
        assert!(
            path.contains("/virtualMachineScaleSets/x%3Fy?api-version="),
            "{path}"
        );
    }

    #[test]
    fn parts_are_found_in_any_case() {
        let id = "/Subscriptions/s/RESOURCEGROUPS/g/x/virtualmachines/7/networkInterfaces/primary";
        assert_eq!(part(id, "virtualMachines"), Some("7"));
        assert_eq!(part(id, "absent"), None);
        assert_eq!(name_of(id), "primary");
    }
}
