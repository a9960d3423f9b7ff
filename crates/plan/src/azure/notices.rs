//! What people should be told beside outputs and failed calls (Azure document 5.3). Autoscale tells of
//! failed scaling in the activity log only, which is not read.

use super::desired::Desired;
use crate::pool::notice::{Notice, NoticeKind};

/// What should be told: pinned zones that left the exports, once for each set of them.
pub fn notices(desired: &Desired) -> Vec<Notice> {
    if desired.missing_zones.is_empty() {
        return Vec::new();
    }
    let zones: Vec<&str> = desired.missing_zones.iter().map(String::as_str).collect();
    let zones = zones.join(", ");
    vec![Notice {
        kind: NoticeKind::ZoneNotExported,
        id: format!("zones {zones}"),
        message: format!(
            "the cluster's exports no longer hold the pool's zones {zones}; the pool goes on with \
             them. Set failureDomains of the MachinePool to move it"
        ),
    }]
}
