//! What the new instances of a scale set are made of.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    azure::protocol::{duration, id, merge::take},
    secret::Hidden,
};

/// One version of a set's model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Model {
    /// `Standard_D4s_v5`.
    pub(crate) size: String,
    /// `virtualMachineProfile` without secrets.
    pub(crate) profile: Value,
    pub(crate) secrets: Secrets,
}

/// What ARM takes and never shows again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Secrets {
    pub(crate) custom_data: Option<Hidden>,
    pub(crate) user_data: Option<Hidden>,
}

impl Secrets {
    /// Takes the secrets out of a resource body; `None` for those it does not speak of.
    pub(crate) fn take_from(body: &mut Value) -> Self {
        const PROFILE: [&str; 2] = ["properties", "virtualMachineProfile"];
        let mut secret = |path: &[&str]| {
            let whole: Vec<&str> = PROFILE.iter().chain(path).copied().collect();
            take(body, &whole).and_then(|value| Some(Hidden(value.as_str()?.to_owned())))
        };
        let custom_data = secret(&["osProfile", "customData"]);
        let user_data = secret(&["userData"]);
        secret(&["osProfile", "adminPassword"]);
        Self {
            custom_data,
            user_data,
        }
    }

    /// These secrets, with the earlier ones where nothing was said.
    #[must_use]
    pub(crate) fn or(self, earlier: &Self) -> Self {
        Self {
            custom_data: self.custom_data.or_else(|| earlier.custom_data.clone()),
            user_data: self.user_data.or_else(|| earlier.user_data.clone()),
        }
    }
}

impl Model {
    /// The model of a resource.
    pub(crate) fn of(document: &Value, secrets: Secrets) -> Self {
        let size = document["sku"]["name"].as_str().unwrap_or_default();
        Self {
            size: size.to_owned(),
            profile: document["properties"]["virtualMachineProfile"].clone(),
            secrets,
        }
    }

    pub(crate) fn is_spot(&self) -> bool {
        let priority = self.profile["priority"].as_str().unwrap_or_default();
        ["spot", "low"].contains(&priority.to_ascii_lowercase().as_str())
    }

    /// An evicted instance is deleted, not deallocated.
    pub(crate) fn evicts_by_deletion(&self) -> bool {
        self.profile["evictionPolicy"]
            .as_str()
            .is_some_and(|policy| policy.eq_ignore_ascii_case("Delete"))
    }

    /// How long an instance is told ahead of its deletion.
    pub(crate) fn notice(&self) -> Duration {
        let notification = &self.profile["scheduledEventsProfile"]["terminateNotificationProfile"];
        if notification["enable"] != true {
            return Duration::ZERO;
        }
        notification["notBeforeTimeout"]
            .as_str()
            .and_then(duration::read)
            .unwrap_or(Duration::from_mins(5))
    }

    pub(crate) fn name_prefix(&self) -> &str {
        self.profile["osProfile"]["computerNamePrefix"]
            .as_str()
            .unwrap_or_default()
    }

    /// The primary network interface.
    pub(crate) fn interface(&self) -> Option<&Value> {
        primary(&self.profile["networkProfile"]["networkInterfaceConfigurations"])
    }

    /// The subnet of the primary address.
    pub(crate) fn subnet(&self) -> Option<&str> {
        let addresses = &self.interface()?["properties"]["ipConfigurations"];
        primary(addresses)?["properties"]["subnet"]["id"].as_str()
    }

    /// Id of the image, where it has one.
    pub(crate) fn image(&self) -> Option<&str> {
        image_of(&self.profile["storageProfile"]["imageReference"])
    }

    /// SHA-256 of the custom data, in hex.
    pub(crate) fn custom_data_sha256(&self) -> Option<String> {
        use std::fmt::Write;
        let data = self.secrets.custom_data.as_ref()?;
        let digest = Sha256::digest(data.0.as_bytes());
        Some(digest.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        }))
    }

    /// vCPUs of its size.
    pub(crate) fn vcpus(&self) -> u32 {
        vcpus(&self.size)
    }

    /// `arm64` or `x86_64`, as the size says (`Standard_D4ps_v5`).
    pub(crate) fn architecture(&self) -> &'static str {
        let size = id::name_of(&self.size);
        let family = size.split('_').nth(1).unwrap_or_default();
        let letters = family.trim_start_matches(|c: char| c.is_ascii_uppercase());
        let letters = letters.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        if letters.contains('p') {
            "arm64"
        } else {
            "x86_64"
        }
    }
}

/// The id in an image reference, of whichever kind.
pub(crate) fn image_of(reference: &Value) -> Option<&str> {
    ["id", "communityGalleryImageId", "sharedGalleryImageId"]
        .iter()
        .find_map(|kind| reference[*kind].as_str())
}

/// The primary entry of a list, or its only one.
fn primary(list: &Value) -> Option<&Value> {
    let list = list.as_array()?;
    list.iter()
        .find(|entry| entry["properties"]["primary"] == true)
        .or_else(|| list.first())
}

/// vCPUs of a size: the number after the family's letters (`Standard_D4s_v5` has 4).
pub(crate) fn vcpus(size: &str) -> u32 {
    let family = size.split('_').nth(1).unwrap_or_default();
    let digits = family.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().unwrap_or(2)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_tell_vcpus_and_architecture() {
        let model = |size: &str| Model::of(&json!({ "sku": { "name": size } }), Secrets::default());
        for (size, cpus, architecture) in [
            ("Standard_D4s_v5", 4, "x86_64"),
            ("Standard_B2ms", 2, "x86_64"),
            ("Standard_E16-4ds_v5", 16, "x86_64"),
            ("Standard_D8pds_v5", 8, "arm64"),
            ("Basic_A1", 1, "x86_64"),
        ] {
            assert_eq!(model(size).vcpus(), cpus, "{size}");
            assert_eq!(model(size).architecture(), architecture, "{size}");
        }
    }

    #[test]
    fn secrets_leave_the_body() {
        let mut body = json!({ "properties": { "virtualMachineProfile": {
            "userData": "dQ==",
            "osProfile": { "customData": "Yw==", "adminPassword": "p", "adminUsername": "captf" },
        } } });
        let secrets = Secrets::take_from(&mut body);
        assert_eq!(secrets.custom_data.unwrap().0, "Yw==");
        assert_eq!(secrets.user_data.unwrap().0, "dQ==");
        let profile = json!({ "osProfile": { "adminUsername": "captf" } });
        assert_eq!(body["properties"]["virtualMachineProfile"], profile);
    }
}
