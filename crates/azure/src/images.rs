//! Image lookups, shared between pools (Azure document 10.1, E-IMAGE-NOT-FOUND).

use std::sync::Arc;

use remuda_cloud::{CloudError, answer::Answer, lookups::Lookups};
use remuda_plan::{
    azure::{image::ImageReference, place::Place},
    error::FailureClass,
    pool::read::Read,
};
use serde::de::IgnoredAny;

use crate::{calls, clients::Clients, wire::address};

/// Images by the address they are looked up at, for one credential, subscription and region.
#[derive(Debug)]
pub(crate) struct Images {
    clients: Arc<Clients>,
    found: Lookups<String, ()>,
}

impl Images {
    pub(crate) fn new(clients: Arc<Clients>) -> Self {
        Self {
            clients,
            found: Lookups::default(),
        }
    }

    /// Whether an image exists. A reference that cannot be looked up is not asked about. Images
    /// rarely go, and whoever makes a set of one that went is told so by that call.
    pub(crate) async fn exists(&self, place: &Place, image: &ImageReference) -> Read<bool> {
        let Some(address) = address::image(place, image) else {
            return Read::NotAsked;
        };
        let found = self
            .found
            .find(address.clone(), self.look_up(address))
            .await;
        found.map(|found| found.is_some()).into_read()
    }

    async fn look_up(&self, address: String) -> Result<Option<()>, CloudError> {
        match self
            .clients
            .get::<IgnoredAny>(&calls::GET_IMAGE, address)
            .await
        {
            Ok(_) => Ok(Some(())),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Galleries have codes of their own for what is not there.
fn is_missing(error: &CloudError) -> bool {
    error.class() == FailureClass::NotFound || error.failure.code.ends_with("ImageNotFound")
}
