//! Calls that pool Machines ask for: instances that end by name, and a count that follows.
//!
//! Azure answers these with operations of its own, which nobody follows: the instances and the
//! set tell how they go.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::Response;
use remuda_cloud::{Applied, CloudError};
use remuda_plan::{azure::place::Place, error::FailureClass};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    calls,
    clients::Outgoing,
    observe::Region,
    wire::{address, scale_set},
};

/// Between two looks at a set that Azure works on (Azure document 4.6).
const LOOK_SECONDS: u32 = 10;

/// What of a set decides on its count.
#[derive(Deserialize)]
struct Counted {
    etag: Option<String>,
    sku: Option<Sku>,
}

#[derive(Deserialize)]
struct Sku {
    capacity: Option<i64>,
}

impl Region {
    /// Ends instances of a set. ARM refuses the whole call for one that is gone already, so those
    /// that are left are asked for again.
    pub(super) async fn end_instances(
        &self,
        place: &Place,
        set: &str,
        ids: &BTreeSet<String>,
    ) -> Result<Applied, CloudError> {
        let body = json!({ "instanceIds": ids });
        let post = Outgoing::with_body(address::delete_instances(place, set), &body);
        let sent = self.clients.send(&calls::DELETE_INSTANCES, &post).await;
        match sent {
            Ok(_) => Ok(Applied::Done),
            Err(error) if names_instances(&error) => Ok(look_again(format!(
                "the instances of scale set {set} to be read again"
            ))),
            Err(error) => Err(error),
        }
    }

    /// Sets the count of a set that still has the count that was seen.
    pub(super) async fn resize_set(
        &self,
        place: &Place,
        set: &str,
        vm_size: &str,
        from: i64,
        to: i64,
    ) -> Result<Applied, CloudError> {
        let body = scale_set::resize(vm_size, to);
        self.patch_if_counted(place, set, from, &body, |_| Applied::Done)
            .await
    }

    /// Sends a patch that carries a count to a set that still has the count that was seen.
    pub(super) async fn patch_if_counted(
        &self,
        place: &Place,
        set: &str,
        from: i64,
        body: &Value,
        comes_to: impl FnOnce(&Response<Bytes>) -> Applied,
    ) -> Result<Applied, CloudError> {
        let at = address::set(place, set);
        let now: Counted = self.clients.get(&calls::GET_SET, at.clone()).await?;
        let capacity = now.sku.and_then(|sku| sku.capacity);
        if capacity != Some(from) {
            return Ok(look_again(format!(
                "the count of scale set {set} to be read again"
            )));
        }
        let patch = Outgoing {
            if_match: now.etag.filter(|tag| !tag.is_empty()),
            ..Outgoing::with_body(at, body)
        };
        match self.clients.send(&calls::PATCH_SET, &patch).await {
            Ok(answer) => Ok(comes_to(&answer)),
            Err(error) if error.class() == FailureClass::AlreadyExists => Ok(look_again(format!(
                "scale set {set}, which somebody changed, to be read again"
            ))),
            Err(error) => Err(error),
        }
    }
}

/// The instances of the call are what ARM did not like of it.
fn names_instances(error: &CloudError) -> bool {
    error.class() == FailureClass::Rejected && error.failure.message.contains("instanceId")
}

/// A set that Azure works on takes the call later; that is no failure.
pub(super) fn when_idle(
    sent: Result<Applied, CloudError>,
    set: &str,
) -> Result<Applied, CloudError> {
    match sent {
        Err(error) if error.class() == FailureClass::Contended => {
            Ok(look_again(format!("scale set {set} to come to rest")))
        }
        sent => sent,
    }
}

fn look_again(what: String) -> Applied {
    Applied::Pending {
        what,
        look_again_seconds: LOOK_SECONDS,
    }
}
