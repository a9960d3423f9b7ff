//! What counts the calls to a cloud.

use std::{fmt, sync::Arc};

use remuda_cloud::measured::{CallMeter, CallRecord, SweepAnswer};
use remuda_plan::error::FailureClass;

use super::{Metrics, class};

/// Counts the calls to one cloud.
pub(super) struct CloudMeter {
    pub(super) cloud: &'static str,
    pub(super) metrics: Arc<Metrics>,
}

impl fmt::Debug for CloudMeter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CloudMeter").field(&self.cloud).finish()
    }
}

impl CallMeter for CloudMeter {
    fn record(&self, call: &CallRecord) {
        let metrics = &self.metrics;
        let result = call.failed.map_or("success", class);
        let region = || call.region.clone().into();
        metrics
            .calls
            .count([self.cloud.into(), region(), call.call.into(), result.into()]);
        metrics
            .call_seconds
            .observe([self.cloud.into(), call.call.into()], call.latency);
        if call.failed == Some(FailureClass::Throttled) {
            let by = "cloud";
            metrics
                .throttles
                .count([self.cloud.into(), region(), by.into()]);
        }
    }

    fn held_back(&self, region: &str) {
        let region = region.to_owned().into();
        let by = "budget";
        self.metrics
            .throttles
            .count([self.cloud.into(), region, by.into()]);
    }

    fn answered(&self, answer: &SweepAnswer<'_>) {
        let metrics = &self.metrics;
        metrics.sweep_age.observe([self.cloud.into()], answer.age);
        let age = i64::try_from(answer.age.as_secs()).unwrap_or(i64::MAX);
        let read_at = metrics.clock.now().as_second().saturating_sub(age);
        let region = answer.region.to_owned().into();
        let newest = metrics.sweep_last.gauge([self.cloud.into(), region]);
        if newest.get() < read_at {
            newest.set(read_at);
        }
    }
}
