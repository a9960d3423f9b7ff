//! What a machine is told by its own cloud: the node agent's side of an event that ends it.

use async_trait::async_trait;
use remuda_plan::machines::agent::ScheduledEvent;

use crate::CloudError;

/// The metadata service of the machine that asks.
#[async_trait]
pub trait GuestService: Send + Sync {
    /// What events call the machine.
    ///
    /// # Errors
    /// Why it could not be asked.
    async fn machine(&self) -> Result<String, CloudError>;

    /// Everything that is announced: to this machine, and to others that the cloud tells of along
    /// with it.
    ///
    /// # Errors
    /// Why it could not be asked; says nothing about events.
    async fn events(&self) -> Result<Vec<ScheduledEvent>, CloudError>;

    /// Says that an event may begin. Safe to repeat; one that is over is no error.
    ///
    /// # Errors
    /// Why it could not be said.
    async fn acknowledge(&self, event: &str) -> Result<(), CloudError>;
}
