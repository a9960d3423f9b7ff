//! Subnets.

use serde::{Deserialize, Serialize};

use super::Name;
use crate::addresses::Addresses;

/// A subnet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Subnet {
    pub(crate) id: Name,
    pub(crate) vpc_id: Name,
    pub(crate) zone: Name,
    pub(crate) addresses: Addresses,
}
