//! How many instances of a type a zone holds at once.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Limits and use of one zone.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Capacity {
    /// Most instances of a type at once; a type that is not listed has no limit.
    limits: HashMap<String, u32>,
    used: HashMap<String, u32>,
}

impl Capacity {
    /// Limits a type; `None` lifts the limit. `*` limits every type without a limit of its own.
    pub(crate) fn limit(&mut self, instance_type: &str, instances: Option<u32>) {
        match instances {
            Some(most) => self.limits.insert(instance_type.to_owned(), most),
            None => self.limits.remove(instance_type),
        };
    }

    /// Whether one more instance of the type fits.
    pub(crate) fn has_room(&self, instance_type: &str) -> bool {
        let limit = self
            .limits
            .get(instance_type)
            .or_else(|| self.limits.get("*"));
        limit.is_none_or(|limit| self.used.get(instance_type).copied().unwrap_or(0) < *limit)
    }

    pub(crate) fn take(&mut self, instance_type: &str) {
        match self.used.get_mut(instance_type) {
            Some(used) => *used += 1,
            None => {
                self.used.insert(instance_type.to_owned(), 1);
            }
        }
    }

    pub(crate) fn give_back(&mut self, instance_type: &str) {
        if let Some(used) = self.used.get_mut(instance_type) {
            *used = used.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_counts_its_capacity() {
        let mut zone = Capacity::default();
        zone.limit("m6i.large", Some(1));
        zone.take("m6i.large");
        assert!(!zone.has_room("m6i.large"));
        assert!(zone.has_room("m6i.xlarge"));
        zone.give_back("m6i.large");
        assert!(zone.has_room("m6i.large"));
    }
}
