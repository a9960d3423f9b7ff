//! One arm per action, one call per arm. All are safe to repeat.

mod instances;

use bytes::Bytes;
use http::{Response, StatusCode};
use remuda_cloud::{Applied, CloudError, answer::gone_already, calls::Call};
use remuda_plan::{
    azure::{action::Action, observed::Handle, place::Place},
    error::FailureClass,
};
use serde_json::Value;

use crate::{
    calls,
    clients::Outgoing,
    observe::Region,
    operations,
    wire::{address, scale_set, setting},
};

use instances::when_idle;

impl Region {
    /// Makes one call for the pool of `handle`.
    pub(crate) async fn apply(
        &self,
        handle: &Handle,
        action: &Action,
    ) -> Result<Applied, CloudError> {
        let place = &handle.place;
        let applied = Box::pin(self.make_call(place, action)).await;
        // Whatever came of it: a failed write may have arrived all the same.
        match action {
            Action::CreateSet { set, .. } => self.sweep.void_set(place, &set.name),
            Action::UpdateSet(patch) => self.sweep.void_set(place, &patch.set),
            Action::EmptySet { set, .. }
            | Action::DeleteSet { set }
            | Action::DeleteInstances { set, .. }
            | Action::ResizeSet { set, .. } => {
                self.sweep.void_set(place, set);
            }
            Action::PutSetting(spec) => self.sweep.void_setting(place, &spec.set_name),
            Action::DeleteSetting { name } => {
                let set = name.strip_suffix("-autoscale").unwrap_or(name);
                self.sweep.void_setting(place, set);
            }
        }
        applied
    }

    async fn make_call(&self, place: &Place, action: &Action) -> Result<Applied, CloudError> {
        match action {
            Action::CreateSet { set, capacity } => {
                let body = scale_set::create(set, *capacity, &place.region);
                let create = Outgoing {
                    if_none_match: true,
                    ..Outgoing::with_body(address::set(place, &set.name), &body)
                };
                let sent = self.clients.send(&calls::CREATE_SET, &create).await;
                let answer = sent.map_err(naming_group(place))?;
                Ok(operations::accepted(
                    &answer,
                    format!("scale set {} to be made", set.name),
                ))
            }
            Action::UpdateSet(patch) => {
                let body = scale_set::patch(patch);
                let what = format!("scale set {} to be updated", patch.set);
                let comes_to = |answer: &Response<Bytes>| operations::accepted(answer, what);
                if let Some(from) = patch.sku.as_ref().and_then(|sku| sku.only_from) {
                    return self
                        .patch_if_counted(place, &patch.set, from, &body, comes_to)
                        .await;
                }
                let answer = self.patch_set(place, &patch.set, &body).await?;
                Ok(comes_to(&answer))
            }
            Action::EmptySet { set, vm_size } => {
                let sent = self
                    .patch_set(place, set, &scale_set::empty(vm_size))
                    .await
                    .map(|answer| {
                        operations::accepted(
                            &answer,
                            format!("scale set {set} to lose its instances"),
                        )
                    });
                gone_already(sent)
            }
            Action::DeleteSet { set } => {
                let what = format!("scale set {set} to be deleted");
                let delete = Outgoing::to(address::set(place, set));
                self.delete(&calls::DELETE_SET, &delete, |answer| {
                    operations::accepted(answer, what)
                })
                .await
            }
            Action::DeleteInstances { set, instance_ids } => {
                let sent = self.end_instances(place, set, instance_ids).await;
                when_idle(gone_already(sent), set)
            }
            Action::ResizeSet {
                set,
                vm_size,
                from,
                to,
            } => {
                let sent = self.resize_set(place, set, vm_size, *from, *to).await;
                when_idle(sent, set)
            }
            Action::PutSetting(spec) => {
                let body = setting::put(spec, place);
                let put = Outgoing::with_body(address::setting(place, &spec.name), &body);
                self.clients.send(&calls::PUT_SETTING, &put).await?;
                Ok(Applied::Done)
            }
            Action::DeleteSetting { name } => {
                let delete = Outgoing::to(address::setting(place, name));
                self.delete(&calls::DELETE_SETTING, &delete, |_| Applied::Done)
                    .await
            }
        }
    }

    async fn patch_set(
        &self,
        place: &Place,
        set: &str,
        body: &Value,
    ) -> Result<Response<Bytes>, CloudError> {
        let patch = Outgoing::with_body(address::set(place, set), body);
        self.clients.send(&calls::PATCH_SET, &patch).await
    }

    async fn delete(
        &self,
        call: &'static Call,
        delete: &Outgoing,
        comes_to: impl FnOnce(&Response<Bytes>) -> Applied,
    ) -> Result<Applied, CloudError> {
        let sent = self.clients.send(call, delete).await.map(|answer| {
            if answer.status() == StatusCode::NO_CONTENT {
                Applied::AlreadySo
            } else {
                comes_to(&answer)
            }
        });
        gone_already(sent)
    }
}

/// Nothing of ours can make a missing group: the cluster's owner must (Azure document 10.3, Gone).
fn naming_group(place: &Place) -> impl Fn(CloudError) -> CloudError + '_ {
    move |mut error| {
        if error.class() == FailureClass::NotFound {
            error.failure.class = FailureClass::Rejected;
            error.failure.message = format!(
                "resource group {} does not exist or is being deleted: {}",
                place.resource_group_name, error.failure.message
            );
        }
        error
    }
}
