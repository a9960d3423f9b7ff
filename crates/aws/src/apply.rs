//! One arm per action, one call per arm. All are safe to repeat.

use aws_sdk_s3::{primitives::ByteStream, types::ServerSideEncryption};
use bytes::Bytes;
use remuda_cloud::{Applied, CloudError};
use remuda_plan::{
    aws::{
        action::{Action, GroupUpdate},
        desired::{GroupSpec, PayloadSpec},
        observed::Handle,
    },
    error::FailureClass,
};

use crate::{
    calls::{self, Call},
    ec2::Parameters,
    errors,
    observe::Region,
    operations,
    wire::{self, group, payload, template},
};

impl Region {
    /// Makes one call for the pool of `handle`.
    pub(crate) async fn apply(
        &self,
        handle: &Handle,
        action: &Action,
    ) -> Result<Applied, CloudError> {
        let applied = match action {
            Action::PutPayload(spec) => self.put_payload(spec).await,
            Action::TagPayload { bucket, key, tags } => self.tag_payload(bucket, key, tags).await,
            Action::DeletePayload { bucket, key } => {
                gone_already(self.delete_payload(bucket, key).await)
            }
            Action::CreateTemplate { .. }
            | Action::CreateTemplateVersion { .. }
            | Action::SetDefaultVersion { .. }
            | Action::TagTemplate { .. }
            | Action::UntagTemplate { .. }
            | Action::DeleteTemplate { .. } => self.apply_to_template(action).await,
            Action::CreateGroup {
                group,
                template_name,
            } => self.create_group(group, template_name).await,
            Action::UpdateGroup(update) => self.update_group(update).await,
            Action::DeleteGroup { group } => gone_already(self.delete_group(group).await),
            Action::StartRefresh {
                group,
                warmup_seconds,
            } => operations::start_refresh(&self.clients, group, *warmup_seconds).await,
            Action::CancelRefresh { group } => {
                operations::cancel_refresh(&self.clients, group).await
            }
            _ => self.apply_beside_group(action).await,
        };
        // Whatever came of it: a failed write may have arrived all the same.
        if touches_group(action) {
            self.sweep.void(&handle.group_name);
        }
        applied
    }

    async fn put_payload(&self, spec: &PayloadSpec) -> Result<Applied, CloudError> {
        let body = Bytes::from(spec.body.reveal().clone());
        let tagging = payload::tagging(&spec.tags);
        self.clients
            .call(&calls::PUT_OBJECT, &spec.bucket, || {
                self.clients
                    .s3
                    .put_object()
                    .bucket(&spec.bucket)
                    .key(&spec.key)
                    .body(ByteStream::from(body.clone()))
                    .content_type("application/octet-stream")
                    .server_side_encryption(ServerSideEncryption::Aes256)
                    .tagging(&tagging)
                    .send()
            })
            .await
            .map_err(|error| naming_bucket(error, &spec.bucket))?;
        Ok(Applied::Done)
    }

    async fn tag_payload(
        &self,
        bucket: &str,
        key: &str,
        tags: &std::collections::BTreeMap<String, String>,
    ) -> Result<Applied, CloudError> {
        let set = tags
            .iter()
            .map(|(key, value)| {
                aws_sdk_s3::types::Tag::builder()
                    .key(key)
                    .value(value)
                    .build()
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unbuildable(&calls::PUT_OBJECT_TAGGING, error))?;
        let tagging = aws_sdk_s3::types::Tagging::builder()
            .set_tag_set(Some(set))
            .build()
            .map_err(|error| unbuildable(&calls::PUT_OBJECT_TAGGING, error))?;
        self.clients
            .call(&calls::PUT_OBJECT_TAGGING, bucket, || {
                self.clients
                    .s3
                    .put_object_tagging()
                    .bucket(bucket)
                    .key(key)
                    .tagging(tagging.clone())
                    .send()
            })
            .await
            .map_err(|error| naming_bucket(error, bucket))?;
        Ok(Applied::Done)
    }

    async fn delete_payload(&self, bucket: &str, key: &str) -> Result<Applied, CloudError> {
        self.clients
            .call(&calls::DELETE_OBJECT, bucket, || {
                self.clients
                    .s3
                    .delete_object()
                    .bucket(bucket)
                    .key(key)
                    .send()
            })
            .await?;
        Ok(Applied::Done)
    }

    async fn apply_to_template(&self, action: &Action) -> Result<Applied, CloudError> {
        let mut parameters = Parameters::new();
        let (call, subject) = match action {
            Action::CreateTemplate {
                name,
                description,
                data,
                tags,
            } => {
                parameters = template::create(name, description, data, tags);
                (&calls::CREATE_TEMPLATE, name)
            }
            Action::CreateTemplateVersion {
                name,
                description,
                data,
            } => {
                parameters = template::create_version(name, description, data);
                (&calls::CREATE_TEMPLATE_VERSION, name)
            }
            Action::SetDefaultVersion { name, version } => {
                wire::push(&mut parameters, "LaunchTemplateName", name);
                wire::push(&mut parameters, "SetDefaultVersion", version);
                (&calls::MODIFY_TEMPLATE, name)
            }
            Action::TagTemplate { id, tags } => {
                wire::push(&mut parameters, "ResourceId.1", id);
                wire::tags(&mut parameters, "Tag", tags);
                (&calls::CREATE_EC2_TAGS, id)
            }
            Action::UntagTemplate { id, keys } => {
                wire::push(&mut parameters, "ResourceId.1", id);
                for (index, key) in keys.iter().enumerate() {
                    wire::push(&mut parameters, format!("Tag.{}.Key", index + 1), key);
                }
                (&calls::DELETE_EC2_TAGS, id)
            }
            Action::DeleteTemplate { name } => {
                wire::push(&mut parameters, "LaunchTemplateName", name);
                let sent = self
                    .clients
                    .ec2(&calls::DELETE_TEMPLATE, name, parameters)
                    .await;
                return gone_already(sent.map(|_| Applied::Done));
            }
            _ => {
                return Err(unbuildable(
                    &calls::CREATE_TEMPLATE,
                    "not a template action",
                ));
            }
        };
        self.clients.ec2(call, subject, parameters).await?;
        Ok(Applied::Done)
    }

    async fn create_group(
        &self,
        spec: &GroupSpec,
        template_name: &str,
    ) -> Result<Applied, CloudError> {
        let (min, max, desired) = group::bounds(spec);
        let tags = group::tags(&spec.name, &spec.tags);
        self.clients
            .call(&calls::CREATE_GROUP, &spec.name, || {
                self.clients
                    .autoscaling
                    .create_auto_scaling_group()
                    .auto_scaling_group_name(&spec.name)
                    .min_size(min)
                    .max_size(max)
                    .desired_capacity(desired)
                    .launch_template(group::template_by_name(template_name))
                    .vpc_zone_identifier(group::subnets(&spec.subnets))
                    .capacity_rebalance(spec.capacity_rebalance)
                    .health_check_type(group::HEALTH_CHECK_TYPE)
                    .health_check_grace_period(group::HEALTH_CHECK_GRACE_PERIOD_SECONDS)
                    .new_instances_protected_from_scale_in(false)
                    .set_tags(Some(tags.clone()))
                    .send()
            })
            .await?;
        Ok(Applied::Done)
    }

    async fn update_group(&self, update: &GroupUpdate) -> Result<Applied, CloudError> {
        let size = |size: Option<i64>| size.map(group::count);
        self.clients
            .call(&calls::UPDATE_GROUP, &update.group, || {
                self.clients
                    .autoscaling
                    .update_auto_scaling_group()
                    .auto_scaling_group_name(&update.group)
                    .set_min_size(size(update.min_size))
                    .set_max_size(size(update.max_size))
                    .set_desired_capacity(size(update.desired_capacity))
                    .set_launch_template(
                        update.template_name.as_deref().map(group::template_by_name),
                    )
                    .set_vpc_zone_identifier(update.subnets.as_ref().map(group::subnets))
                    .set_capacity_rebalance(update.capacity_rebalance)
                    .set_health_check_type(update.health_check_type.clone())
                    .set_health_check_grace_period(size(update.health_check_grace_period_seconds))
                    .set_new_instances_protected_from_scale_in(update.new_instances_protected)
                    .send()
            })
            .await?;
        Ok(Applied::Done)
    }

    async fn delete_group(&self, name: &str) -> Result<Applied, CloudError> {
        self.clients
            .call(&calls::DELETE_GROUP, name, || {
                self.clients
                    .autoscaling
                    .delete_auto_scaling_group()
                    .auto_scaling_group_name(name)
                    .force_delete(false)
                    .send()
            })
            .await?;
        Ok(Applied::Done)
    }

    /// Tags, processes, policy and protection: calls beside the group itself.
    async fn apply_beside_group(&self, action: &Action) -> Result<Applied, CloudError> {
        let api = &self.clients.autoscaling;
        match action {
            Action::TagGroup { group, tags } => {
                let tags = group::tags(group, tags);
                self.clients
                    .call(&calls::TAG_GROUP, group, || {
                        api.create_or_update_tags()
                            .set_tags(Some(tags.clone()))
                            .send()
                    })
                    .await?;
            }
            Action::UntagGroup { group, keys } => {
                let tags = keys
                    .iter()
                    .map(|key| (key.clone(), String::new()))
                    .collect();
                let tags = group::tags(group, &tags)
                    .into_iter()
                    // Without a value a tag is deleted whatever its value is.
                    .map(|mut tag| {
                        tag.value = None;
                        tag
                    })
                    .collect::<Vec<_>>();
                self.clients
                    .call(&calls::UNTAG_GROUP, group, || {
                        api.delete_tags().set_tags(Some(tags.clone())).send()
                    })
                    .await?;
            }
            Action::SuspendProcesses { group, processes } => {
                self.clients
                    .call(&calls::SUSPEND_PROCESSES, group, || {
                        api.suspend_processes()
                            .auto_scaling_group_name(group)
                            .set_scaling_processes(Some(processes.iter().cloned().collect()))
                            .send()
                    })
                    .await?;
            }
            Action::ResumeProcesses { group, processes } => {
                self.clients
                    .call(&calls::RESUME_PROCESSES, group, || {
                        api.resume_processes()
                            .auto_scaling_group_name(group)
                            .set_scaling_processes(Some(processes.iter().cloned().collect()))
                            .send()
                    })
                    .await?;
            }
            Action::PutCpuPolicy {
                group,
                target_percent,
            } => {
                let tracking = group::cpu_tracking(*target_percent);
                self.clients
                    .call(&calls::PUT_POLICY, group, || {
                        api.put_scaling_policy()
                            .auto_scaling_group_name(group)
                            .policy_name(group::CPU_POLICY)
                            .policy_type("TargetTrackingScaling")
                            .target_tracking_configuration(tracking.clone())
                            .send()
                    })
                    .await?;
            }
            Action::DeleteCpuPolicy { group } => {
                let sent = self
                    .clients
                    .call(&calls::DELETE_POLICY, group, || {
                        api.delete_policy()
                            .auto_scaling_group_name(group)
                            .policy_name(group::CPU_POLICY)
                            .send()
                    })
                    .await;
                return gone_already(sent.map(|_| Applied::Done));
            }
            Action::UnprotectInstances {
                group,
                instance_ids,
            } => return operations::unprotect(&self.clients, group, instance_ids).await,
            _ => return Err(unbuildable(&calls::UPDATE_GROUP, "not a group action")),
        }
        Ok(Applied::Done)
    }
}

/// The sweep holds groups and instances; a write to anything else leaves it true.
fn touches_group(action: &Action) -> bool {
    !matches!(
        action,
        Action::PutPayload(_)
            | Action::TagPayload { .. }
            | Action::DeletePayload { .. }
            | Action::CreateTemplate { .. }
            | Action::CreateTemplateVersion { .. }
            | Action::SetDefaultVersion { .. }
            | Action::TagTemplate { .. }
            | Action::UntagTemplate { .. }
            | Action::DeleteTemplate { .. }
    )
}

/// Deleting what is not there has succeeded before.
pub(crate) fn gone_already(sent: Result<Applied, CloudError>) -> Result<Applied, CloudError> {
    match sent {
        Err(error) if error.class() == FailureClass::NotFound => Ok(Applied::AlreadySo),
        sent => sent,
    }
}

/// a missing bucket is named; nothing of ours can make it.
fn naming_bucket(mut error: CloudError, bucket: &str) -> CloudError {
    if error.class() == FailureClass::NotFound {
        error.failure.message =
            format!("bucket {bucket} does not exist: {}", error.failure.message);
    }
    error
}

/// A request that the SDK refuses to build is a fault of ours.
fn unbuildable(call: &Call, why: impl ToString) -> CloudError {
    errors::failure(FailureClass::Bug, call.name, why.to_string()).into()
}
