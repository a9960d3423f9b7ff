//! Reads only: what exists of one pool. Only the calls that the depth needs are made, and each
//! that fails is `Unknown` on its own.

use std::{collections::BTreeMap, sync::Arc, time::UNIX_EPOCH};

use aws_sdk_autoscaling::types::Activity as ScalingActivity;
use aws_sdk_s3::types::ServerSideEncryption;
use remuda_cloud::{CloudError, answer::Answer};
use remuda_plan::{
    aws::{
        names,
        observed::{
            Activity, Departure, Group, Handle, Hook, Instance, Observed, PayloadHead, Policy,
            Refresh, Template,
        },
    },
    error::FailureClass,
    pool::read::{Depth, Freshness, Read},
};

use crate::{
    batch::Sweep,
    calls,
    clients::Clients,
    images::Images,
    wire::{group, template},
};

/// Refreshes looked at: the newest one decides, the one before it may have failed. Ours.
const REFRESHES: i32 = 5;

/// Activities looked at for failed launches. Ours: a group that fails to launch tries a few times
/// an hour for each missing instance.
const ACTIVITIES: i32 = 20;

/// Activities looked at for why held instances leave. Ours: AWS's largest page; a group that ends
/// more than that at once tells the cause of the newest.
const DEPARTURES: i32 = 100;

/// Failed activities older than this are history (shape of `Observed`).
const ACTIVITY_WINDOW_SECONDS: i64 = 3600;

/// One credential in one region.
#[derive(Debug)]
pub struct Region {
    pub(crate) clients: Arc<Clients>,
    pub(crate) sweep: Arc<Sweep>,
    pub(crate) images: Images,
}

impl Region {
    /// Reads what exists of a pool.
    pub(crate) async fn observe(
        &self,
        handle: &Handle,
        depth: Depth,
        freshness: Freshness,
    ) -> Observed {
        match depth {
            Depth::Members | Depth::Leaving => {
                let answer = self.sweep.read(&handle.group_name, freshness).await;
                Observed {
                    departures: self.departures(handle, &answer.group).await,
                    group: answer.group,
                    instances: answer.instances,
                    policy: Read::NotAsked,
                    templates: Read::NotAsked,
                    payload: Read::NotAsked,
                    old_payload: Read::NotAsked,
                    image: Read::NotAsked,
                    refreshes: Read::NotAsked,
                    failed_activities: Read::NotAsked,
                    hook: Read::NotAsked,
                }
            }
            Depth::Full => Box::pin(self.observe_fully(handle, freshness)).await,
        }
    }

    async fn observe_fully(&self, handle: &Handle, freshness: Freshness) -> Observed {
        let group_side = async {
            let answer = self.sweep.read(&handle.group_name, freshness).await;
            let (policy, refreshes, failed_activities, hook) = match &answer.group {
                Read::Known(Some(group)) => futures::join!(
                    self.policy(&group.name),
                    self.refreshes(&group.name),
                    self.failed_activities(group, &answer.instances),
                    self.hook(handle),
                ),
                // No group, no policy: nothing needs to be asked.
                Read::Known(None) => (
                    Read::Known(None),
                    Read::Known(Vec::new()),
                    Read::NotAsked,
                    Read::Known(None),
                ),
                Read::Unknown(failure) => (
                    Read::Unknown(failure.clone()),
                    Read::Unknown(failure.clone()),
                    Read::NotAsked,
                    Read::Unknown(failure.clone()),
                ),
                Read::NotAsked => (
                    Read::NotAsked,
                    Read::NotAsked,
                    Read::NotAsked,
                    Read::NotAsked,
                ),
            };
            let departures = self.departures(handle, &answer.group).await;
            (
                answer,
                policy,
                refreshes,
                failed_activities,
                hook,
                departures,
            )
        };
        let image = async {
            match &handle.image {
                Some(query) => self.images.newest(query).await.into_read(),
                None => Read::NotAsked,
            }
        };
        let (group_side, templates, payload, old_payload, image) = futures::join!(
            group_side,
            self.templates(&handle.template_prefix),
            self.payload(handle.payload.as_ref()),
            self.payload(handle.old_payload.as_ref()),
            image,
        );
        let (answer, policy, refreshes, failed_activities, hook, departures) = group_side;
        Observed {
            group: answer.group,
            instances: answer.instances,
            policy,
            templates,
            payload,
            old_payload,
            image,
            refreshes,
            failed_activities,
            hook,
            departures,
        }
    }

    /// Our lifecycle hook.
    async fn hook(&self, handle: &Handle) -> Read<Option<Hook>> {
        if !handle.hook {
            return Read::NotAsked;
        }
        let name = &handle.group_name;
        let answer = self
            .clients
            .call(&calls::DESCRIBE_HOOKS, name, || {
                self.clients
                    .autoscaling
                    .describe_lifecycle_hooks()
                    .auto_scaling_group_name(name)
                    .lifecycle_hook_names(names::HOOK)
                    .send()
            })
            .await;
        answer
            .map(|page| group::read_hook(page.lifecycle_hooks()))
            .or_absent(None)
            .into_read()
    }

    /// Why instances leave; asked for only while the group holds one that nobody explained yet.
    async fn departures(
        &self,
        handle: &Handle,
        group: &Read<Option<Group>>,
    ) -> Read<BTreeMap<String, Departure>> {
        let (Some(explained), Read::Known(Some(group))) = (&handle.explained, group) else {
            return Read::NotAsked;
        };
        let is_new = group.instances.iter().any(|instance| {
            instance.lifecycle_state == group::HELD && !explained.contains(&instance.instance_id)
        });
        if !is_new {
            return Read::NotAsked;
        }
        self.activities(&group.name, DEPARTURES)
            .await
            .map(|activities| {
                // Newest first: the last word on an instance is the one that counts.
                let mut told = BTreeMap::new();
                for (id, departure) in activities.iter().filter_map(group::read_departure) {
                    told.entry(id).or_insert(departure);
                }
                told
            })
            .or_absent(BTreeMap::new())
            .into_read()
    }

    /// The newest activities of a group, newest first.
    async fn activities(&self, name: &str, most: i32) -> Result<Vec<ScalingActivity>, CloudError> {
        let page = self
            .clients
            .call(&calls::DESCRIBE_ACTIVITIES, name, || {
                self.clients
                    .autoscaling
                    .describe_scaling_activities()
                    .auto_scaling_group_name(name)
                    .max_records(most)
                    .send()
            })
            .await?;
        Ok(page.activities.unwrap_or_default())
    }

    async fn policy(&self, name: &str) -> Read<Option<Policy>> {
        let answer = self
            .clients
            .call(&calls::DESCRIBE_POLICIES, name, || {
                self.clients
                    .autoscaling
                    .describe_policies()
                    .auto_scaling_group_name(name)
                    .policy_names(group::CPU_POLICY)
                    .send()
            })
            .await;
        answer
            .map(|page| group::read_cpu_policy(page.scaling_policies()))
            .or_absent(None)
            .into_read()
    }

    async fn refreshes(&self, name: &str) -> Read<Vec<Refresh>> {
        let answer = self
            .clients
            .call(&calls::DESCRIBE_REFRESHES, name, || {
                self.clients
                    .autoscaling
                    .describe_instance_refreshes()
                    .auto_scaling_group_name(name)
                    .max_records(REFRESHES)
                    .send()
            })
            .await;
        answer
            .map(|page| {
                page.instance_refreshes()
                    .iter()
                    .filter_map(group::read_refresh)
                    .collect()
            })
            .or_absent(Vec::new())
            .into_read()
    }

    /// Asked for only when members are missing: a full group has nothing to explain.
    async fn failed_activities(
        &self,
        group: &Group,
        instances: &Read<Vec<Instance>>,
    ) -> Read<Vec<Activity>> {
        let short = instances.known().is_some_and(|instances| {
            let members = instances.iter().filter(|instance| !instance.ending).count();
            i64::try_from(members).is_ok_and(|count| count < group.desired_capacity)
        });
        if !short {
            return Read::NotAsked;
        }
        let since = self.now_epoch_seconds() - ACTIVITY_WINDOW_SECONDS;
        self.activities(&group.name, ACTIVITIES)
            .await
            .map(|activities| {
                activities
                    .iter()
                    .filter_map(|activity| group::read_failed_activity(activity, since))
                    .collect()
            })
            .or_absent(Vec::new())
            .into_read()
    }

    fn now_epoch_seconds(&self) -> i64 {
        self.clients
            .time_source
            .now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|since| i64::try_from(since.as_secs()).ok())
            .unwrap_or_default()
    }

    async fn templates(&self, prefix: &str) -> Read<BTreeMap<String, Template>> {
        self.read_templates(prefix).await.into_read()
    }

    async fn read_templates(&self, prefix: &str) -> Result<BTreeMap<String, Template>, CloudError> {
        let mut found = BTreeMap::new();
        let mut next_token: Option<String> = None;
        loop {
            let page = self
                .clients
                .ec2(
                    &calls::DESCRIBE_TEMPLATES,
                    prefix,
                    template::describe_by_prefix(prefix, next_token.as_deref()),
                )
                .await?;
            let page = page.root();
            found.extend(
                template::templates(page)
                    .into_iter()
                    .filter(|template| template.name.starts_with(prefix))
                    .map(|template| (template.name.clone(), template)),
            );
            next_token = page.text_at(&["nextToken"]).map(ToOwned::to_owned);
            if next_token.is_none() {
                break;
            }
        }
        let mut gone = Vec::new();
        for template in found.values_mut() {
            let answer = self
                .clients
                .ec2(
                    &calls::DESCRIBE_TEMPLATE_VERSIONS,
                    &template.name,
                    template::describe_latest(&template.id),
                )
                .await;
            match answer {
                Ok(answer) => template::complete(template, answer.root()),
                // Deleted between the two reads.
                Err(error) if error.class() == FailureClass::NotFound => {
                    gone.push(template.name.clone());
                }
                Err(error) => return Err(error),
            }
        }
        for name in gone {
            found.remove(&name);
        }
        Ok(found)
    }

    async fn payload(&self, place: Option<&(String, String)>) -> Read<Option<PayloadHead>> {
        match place {
            Some((bucket, key)) => self
                .read_payload(bucket, key)
                .await
                .map(Some)
                .or_absent(None)
                .into_read(),
            None => Read::NotAsked,
        }
    }

    /// Looks at an object.
    ///
    /// Without the right to list the bucket S3 answers 403 for an object that does not exist
    /// (S3 API, `HeadObject`), and the permissions of AWS document 4.9 do not hold that right. So
    /// a 403 reads as absence: an identity that may not look at its own object puts it again,
    /// which changes nothing, and one that may not put it is told so by that call.
    async fn read_payload(&self, bucket: &str, key: &str) -> Result<PayloadHead, CloudError> {
        let clients = &self.clients;
        let head = clients
            .call(&calls::HEAD_OBJECT, bucket, || {
                clients.s3.head_object().bucket(bucket).key(key).send()
            })
            .await
            .map_err(|mut error| {
                if error.class() == FailureClass::Denied {
                    error.failure.class = FailureClass::NotFound;
                }
                error
            })?;
        let tagging = clients
            .call(&calls::GET_OBJECT_TAGGING, bucket, || {
                clients
                    .s3
                    .get_object_tagging()
                    .bucket(bucket)
                    .key(key)
                    .send()
            })
            .await?;
        let is_digest = head.server_side_encryption == Some(ServerSideEncryption::Aes256);
        Ok(PayloadHead {
            content_length: head.content_length.unwrap_or_default(),
            etag: head.e_tag.filter(|etag| is_digest && !etag.contains('-')),
            tags: tagging
                .tag_set
                .into_iter()
                .map(|tag| (tag.key, tag.value))
                .collect(),
        })
    }
}
