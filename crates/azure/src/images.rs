//! Image lookups, shared between pools (Azure document 10.1, E-IMAGE-NOT-FOUND).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use remuda_cloud::CloudError;
use remuda_plan::{
    azure::{image::ImageReference, place::Place},
    error::FailureClass,
    pool::read::Read,
};
use serde::de::IgnoredAny;
use tokio::{sync::Mutex as AsyncMutex, time::Instant};

use crate::{calls, clients::Clients, locked, wire::address};

/// A found image is not looked up again this long. Ours, as on AWS: images rarely go, and whoever
/// makes a set of one that went is told so by that call.
const KEPT: Duration = Duration::from_mins(5);

/// Images by what they are asked for with, for one credential, subscription and region.
#[derive(Debug)]
pub(crate) struct Images {
    clients: Arc<Clients>,
    slots: Mutex<BTreeMap<String, Arc<AsyncMutex<Option<Instant>>>>>,
}

impl Images {
    pub(crate) fn new(clients: Arc<Clients>) -> Self {
        Self {
            clients,
            slots: Mutex::default(),
        }
    }

    /// Whether an image exists. "No" is not kept: someone is about to publish the image they are
    /// missing. A reference that cannot be looked up is not asked about.
    pub(crate) async fn exists(&self, place: &Place, image: &ImageReference) -> Read<bool> {
        let Some(address) = address::image(place, image) else {
            return Read::NotAsked;
        };
        let slot = {
            let mut slots = locked(&self.slots);
            Arc::clone(slots.entry(address.clone()).or_default())
        };
        let mut found_at = slot.lock().await;
        if found_at.is_some_and(|at| at.elapsed() <= KEPT) {
            return Read::Known(true);
        }
        let at = Instant::now();
        match self.look_up(address).await {
            Ok(exists) => {
                *found_at = exists.then_some(at);
                Read::Known(exists)
            }
            Err(error) => Read::Unknown(error.failure),
        }
    }

    async fn look_up(&self, address: String) -> Result<bool, CloudError> {
        match self
            .clients
            .get::<IgnoredAny>(&calls::GET_IMAGE, address)
            .await
        {
            Ok(_) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Galleries have codes of their own for what is not there.
fn is_missing(error: &CloudError) -> bool {
    error.class() == FailureClass::NotFound || error.failure.code.ends_with("ImageNotFound")
}
