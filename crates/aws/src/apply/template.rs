//! The launch template: parameters of its calls.

use std::collections::{BTreeMap, BTreeSet};

use remuda_cloud::{Applied, CloudError, answer::gone_already, calls::Call};

use crate::{calls, ec2::Parameters, observe::Region, wire};

impl Region {
    pub(super) async fn send_template(
        &self,
        call: &'static Call,
        subject: &str,
        parameters: Parameters,
    ) -> Result<Applied, CloudError> {
        self.clients.ec2(call, subject, parameters).await?;
        Ok(Applied::Done)
    }

    pub(super) async fn set_default_version(
        &self,
        name: &str,
        version: i64,
    ) -> Result<Applied, CloudError> {
        let mut parameters = Parameters::new();
        wire::push(&mut parameters, "LaunchTemplateName", name);
        wire::push(&mut parameters, "SetDefaultVersion", version);
        self.send_template(&calls::MODIFY_TEMPLATE, name, parameters)
            .await
    }

    pub(super) async fn tag_template(
        &self,
        id: &str,
        tags: &BTreeMap<String, String>,
    ) -> Result<Applied, CloudError> {
        let mut parameters = Parameters::new();
        wire::push(&mut parameters, "ResourceId.1", id);
        wire::tags(&mut parameters, "Tag", tags);
        self.send_template(&calls::CREATE_EC2_TAGS, id, parameters)
            .await
    }

    /// A tag is named without a value, and so goes whatever its value is.
    pub(super) async fn untag_template(
        &self,
        id: &str,
        keys: &BTreeSet<String>,
    ) -> Result<Applied, CloudError> {
        let mut parameters = Parameters::new();
        wire::push(&mut parameters, "ResourceId.1", id);
        for (index, key) in keys.iter().enumerate() {
            wire::push(&mut parameters, format!("Tag.{}.Key", index + 1), key);
        }
        self.send_template(&calls::DELETE_EC2_TAGS, id, parameters)
            .await
    }

    pub(super) async fn delete_template(&self, name: &str) -> Result<Applied, CloudError> {
        let mut parameters = Parameters::new();
        wire::push(&mut parameters, "LaunchTemplateName", name);
        gone_already(
            self.send_template(&calls::DELETE_TEMPLATE, name, parameters)
                .await,
        )
    }
}
