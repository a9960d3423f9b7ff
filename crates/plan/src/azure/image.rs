//! Image references: their forms, the version filled in, and where they are sent (Azure document
//! 2.3, 4.2).

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::pool::inputs::stripped_version;

/// Which property of `imageReference` carries the image; no other is set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ImageReference {
    /// `communityGalleryImageId`: `/communityGalleries/<gallery>/images/<image>[/versions/<v>]`.
    Community(String),
    /// `sharedGalleryImageId`: `/sharedGalleries/<gallery>/images/<image>[/versions/<v>]`.
    Shared(String),
    /// `id`: a managed image, or an image or version of a gallery, by its ARM ID.
    Id(String),
    /// Anything else; only ever observed. Holds what was seen, for people.
    Other(String),
}

impl ImageReference {
    /// The text of the reference.
    pub fn text(&self) -> &str {
        match self {
            Self::Community(text) | Self::Shared(text) | Self::Id(text) | Self::Other(text) => text,
        }
    }

    /// The same reference with what ignores case in lower case: ARM IDs.
    #[must_use]
    pub fn normalised(&self) -> Self {
        match self {
            Self::Id(text) => Self::Id(text.to_lowercase()),
            Self::Community(_) | Self::Shared(_) | Self::Other(_) => self.clone(),
        }
    }
}

static ARM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\A/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/(?:images/[^/]+|galleries/[^/]+/images/[^/]+(?:/versions/[^/]+)?)\z",
    )
    .expect("a constant pattern")
});

static GALLERY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A/(communityGalleries|sharedGalleries)/[^/]+/images/[^/]+(?:/versions/[^/]+)?\z")
        .expect("a constant pattern")
});

/// The accepted forms, for messages.
pub const FORMS: &str = "must be `/communityGalleries/<gallery>/images/<image>` or \
`/sharedGalleries/<gallery>/images/<image>`, each with an optional `/versions/<version>`, or the ARM ID \
of a Microsoft.Compute image, gallery image or gallery image version, for example \
`/communityGalleries/ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019/images/capi-ubun2-2404/versions/{semver}`";

/// Whether an `image_id` has one of the accepted forms.
pub fn is_accepted(image_id: &str) -> bool {
    ARM.is_match(image_id) || GALLERY.is_match(image_id)
}

/// Whether an `image_id` asks for the Kubernetes version.
pub fn needs_version(image_id: &str) -> bool {
    image_id.contains("{version}") || image_id.contains("{semver}")
}

/// The reference of an accepted `image_id`: `{semver}` is `1.34.1`, `{version}` is `v1.34.1`.
/// `None` when it asks for a version and there is none.
pub fn reference(image_id: &str, kubernetes_version: Option<&str>) -> Option<ImageReference> {
    if needs_version(image_id) && kubernetes_version.is_none() {
        return None;
    }
    let semver = stripped_version(kubernetes_version.unwrap_or_default());
    let text = image_id
        .replace("{semver}", semver)
        .replace("{version}", &format!("v{semver}"));
    Some(if text.starts_with("/communityGalleries/") {
        ImageReference::Community(text)
    } else if text.starts_with("/sharedGalleries/") {
        ImageReference::Shared(text)
    } else {
        ImageReference::Id(text)
    })
}
