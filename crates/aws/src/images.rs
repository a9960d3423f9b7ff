//! Image lookups, shared between pools (AWS document 6).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use remuda_cloud::CloudError;
use remuda_plan::aws::desired::ImageQuery;
use tokio::{sync::Mutex as AsyncMutex, time::Instant};

use crate::{calls, clients::Clients, wire::image};

/// A found image is handed out this long (AWS document 6).
const KEPT: Duration = Duration::from_mins(5);

/// Newest image by query, for one credential and region.
#[derive(Debug)]
pub(crate) struct Images {
    clients: Arc<Clients>,
    slots: Mutex<BTreeMap<ImageQuery, Arc<AsyncMutex<Option<Found>>>>>,
}

#[derive(Debug, Clone)]
struct Found {
    image: String,
    at: Instant,
}

impl Images {
    pub(crate) fn new(clients: Arc<Clients>) -> Self {
        Self {
            clients,
            slots: Mutex::default(),
        }
    }

    /// The newest match; `None` when nothing matches. "Nothing" is not kept: someone is about to
    /// publish the image they are missing. Pools with the same query share one lookup.
    pub(crate) async fn newest(&self, query: &ImageQuery) -> Result<Option<String>, CloudError> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry(query.clone()).or_default())
        };
        let mut found = slot.lock().await;
        if let Some(found) = found.as_ref().filter(|found| found.at.elapsed() <= KEPT) {
            return Ok(Some(found.image.clone()));
        }
        let at = Instant::now();
        let newest = self.look_up(query).await?;
        *found = newest.clone().map(|image| Found { image, at });
        Ok(newest)
    }

    async fn look_up(&self, query: &ImageQuery) -> Result<Option<String>, CloudError> {
        let mut newest: Option<image::Candidate> = None;
        let mut next_token: Option<String> = None;
        loop {
            let page = self
                .clients
                .ec2(
                    &calls::DESCRIBE_IMAGES,
                    &query.name,
                    image::describe(query, next_token.as_deref()),
                )
                .await?;
            newest = image::candidates(&page).into_iter().chain(newest).max();
            next_token = page.text_at(&["nextToken"]).map(ToOwned::to_owned);
            if next_token.is_none() {
                return Ok(newest.map(|(_, id)| id));
            }
        }
    }
}
