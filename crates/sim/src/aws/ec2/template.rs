//! Launch templates and their versions.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::template_data::LaunchData;
use crate::aws::{
    protocol::{AwsError, Packed, Params},
    state::{Compute, Name},
};

/// A launch template.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LaunchTemplate {
    pub(crate) id: Name,
    pub(crate) name: Name,
    pub(crate) created: Timestamp,
    pub(crate) created_by: String,
    pub(crate) default_version: u64,
    pub(crate) latest_version: u64,
    pub(crate) versions: BTreeMap<u64, Arc<TemplateVersion>>,
    pub(crate) tags: BTreeMap<String, String>,
}

/// One version; it never changes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TemplateVersion {
    pub(crate) number: u64,
    pub(crate) description: Option<String>,
    pub(crate) created: Timestamp,
    pub(crate) created_by: String,
    pub(crate) data: Packed,
    pub(crate) launch: LaunchData,
}

impl TemplateVersion {
    /// Base64, as sent.
    pub(crate) fn user_data(&self) -> Option<&str> {
        self.data.text("UserData").filter(|data| !data.is_empty())
    }
}

impl LaunchTemplate {
    /// The version `$Latest`, `$Default` or a number names; nothing means the default.
    pub(crate) fn version(&self, wanted: &str) -> Option<&Arc<TemplateVersion>> {
        let number = match wanted {
            "$Latest" => self.latest_version,
            "$Default" | "" => self.default_version,
            number => number.parse().ok()?,
        };
        self.versions.get(&number)
    }
}

impl Compute {
    /// The template with that id.
    pub(crate) fn template(&self, id: &str) -> Option<&LaunchTemplate> {
        self.templates.get(id)
    }

    /// The id of the template that parameters name, by id or by name.
    pub(crate) fn named_template(&self, params: &Params) -> Result<Name, AwsError> {
        match (
            params.text("LaunchTemplateId"),
            params.text("LaunchTemplateName"),
        ) {
            (Some(_), Some(_)) => Err(AwsError::new(
                "InvalidParameterCombination",
                "Either a launch template ID or a launch template name must be specified, not both",
            )),
            (Some(id), None) => self
                .templates
                .get_key_value(id)
                .map(|(id, _)| id.clone())
                .ok_or_else(|| no_id(id)),
            (None, Some(name)) => self.template_ids.get(name).cloned().ok_or_else(no_name),
            (None, None) => Err(AwsError::new(
                "MissingParameter",
                "Either a launch template ID or a launch template name must be specified",
            )),
        }
    }
}

pub(crate) fn no_id(id: &str) -> AwsError {
    AwsError::new(
        "InvalidLaunchTemplateId.NotFound",
        format!("The specified launch template, with template ID {id}, does not exist."),
    )
}

pub(crate) fn no_name() -> AwsError {
    AwsError::new(
        "InvalidLaunchTemplateName.NotFoundException",
        "At least one of the launch templates specified in the request does not exist.",
    )
}
