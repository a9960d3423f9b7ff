//! Image lookups, shared between pools (AWS document 6).

use std::sync::Arc;

use remuda_cloud::{CloudError, lookups::Lookups};
use remuda_plan::aws::desired::ImageQuery;

use crate::{calls, clients::Clients, wire::image};

/// Newest image by query, for one credential and region.
#[derive(Debug)]
pub(crate) struct Images {
    clients: Arc<Clients>,
    found: Lookups<ImageQuery, String>,
}

impl Images {
    pub(crate) fn new(clients: Arc<Clients>) -> Self {
        Self {
            clients,
            found: Lookups::default(),
        }
    }

    /// The newest match; `None` when nothing matches.
    pub(crate) async fn newest(&self, query: &ImageQuery) -> Result<Option<String>, CloudError> {
        self.found.find(query.clone(), self.look_up(query)).await
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
            let page = page.root();
            newest = image::candidates(page).into_iter().chain(newest).max();
            next_token = page.text_at(&["nextToken"]).map(ToOwned::to_owned);
            if next_token.is_none() {
                return Ok(newest.map(|(_, id)| id));
            }
        }
    }
}
