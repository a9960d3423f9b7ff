//! Image lookup: the name filter and the choice among what it finds (AWS document 6).

use jiff::Timestamp;

use super::{
    desired::{ImageChoice, ImageQuery},
    vars::MachineImage,
};
use crate::pool::inputs::stripped_version;

/// An image as `DescribeImages` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// `ami-0123456789abcdef0`.
    pub image_id: String,
    /// RFC 3339 time, as AWS writes it: `2025-10-09T12:00:00.000Z`.
    pub creation_date: String,
}

/// Where the image id comes from; `None` when neither an id nor a version says.
pub fn wanted(image: &MachineImage, kubernetes_version: Option<&str>) -> Option<ImageChoice> {
    if let Some(id) = &image.id {
        return Some(ImageChoice::Pinned(id.clone()));
    }
    kubernetes_version.map(|version| {
        ImageChoice::Lookup(ImageQuery {
            owner: image.owner.clone(),
            name: name_filter(&image.name_format, version),
            architecture: image.architecture.clone(),
        })
    })
}

/// The EC2 name filter: `{semver}` is the stripped version, `{version}` the same after a `v`;
/// everything else, EC2's own wildcards included, stays.
pub fn name_filter(name_format: &str, kubernetes_version: &str) -> String {
    let semver = stripped_version(kubernetes_version);
    name_format
        .replace("{semver}", semver)
        .replace("{version}", &format!("v{semver}"))
}

/// The newest image; of equally old ones the highest id, so that the choice is stable. A date that
/// cannot be read counts as oldest.
pub fn newest(candidates: &[Candidate]) -> Option<&Candidate> {
    candidates.iter().max_by(|a, b| {
        let age = |c: &Candidate| c.creation_date.parse::<Timestamp>().ok();
        age(a)
            .cmp(&age(b))
            .then_with(|| a.image_id.cmp(&b.image_id))
    })
}
