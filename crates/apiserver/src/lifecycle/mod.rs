//! The loop of an instance: what Kubernetes leaves to its controllers, as far as the API itself
//! depends on it. Owner references, the end of a namespace, the end of a definition, the status of
//! disruption budgets, the age of events, the signing of certificate requests, roles that gather,
//! what each namespace has from the start.
//!
//! In: the feed of committed changes. Out: writes on the same road that clients use. The loop
//! keeps nothing that it cannot rebuild from the store, so a restart is an ordinary event.

mod accounts;
mod budgets;
mod certificates;
mod definitions;
mod events;
mod gc;
mod graph;
mod namespaces;
mod roles;

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::instance::{Instance, WeakInstance};
use crate::registry::{CRD_SHELF, NAMESPACE_SHELF};
use crate::store::Changed;
use gc::Collector;

/// How long a refused step waits for its next attempt: ours, a step between the first and the last
/// wait of Kubernetes' controllers.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Starts the loop on the current runtime. It ends with the instance.
pub(crate) fn spawn(instance: &Instance) {
    let feed = instance.space().feed();
    let weak = instance.downgrade();
    tokio::spawn(run(weak, feed));
}

async fn run(weak: WeakInstance, mut feed: mpsc::UnboundedReceiver<Changed>) {
    let mut collector = Collector::default();
    let mut sweep = tokio::time::interval(events::SWEEP_EVERY);
    // When refused steps are tried again.
    let mut retry: Option<Instant> = None;
    if let Some(instance) = weak.upgrade()
        && recover(&instance, &mut collector).await
    {
        retry = Some(Instant::now() + RETRY_AFTER);
    }
    loop {
        let due = retry.unwrap_or_else(Instant::now);
        let change = tokio::select! {
            change = feed.recv() => change,
            _ = sweep.tick() => {
                let Some(instance) = weak.upgrade() else { return };
                events::sweep(&instance).await;
                continue;
            }
            () = sleep_until(due), if retry.is_some() => {
                let Some(instance) = weak.upgrade() else { return };
                retry = None;
                if settle(&instance, &mut collector).await {
                    retry = Some(Instant::now() + RETRY_AFTER);
                }
                continue;
            }
        };
        let Some((shelf, event)) = change else { return };
        let Some(instance) = weak.upgrade() else {
            return;
        };
        collector.note(&shelf, &event);
        let mut refused = namespaces::note(&instance, &shelf, &event).await;
        refused |= definitions::note(&instance, &shelf, &event).await;
        budgets::note(&instance, &shelf, &event).await;
        certificates::note(&instance, &shelf, &event).await;
        roles::note(&instance, &shelf, &event).await;
        accounts::note(&instance, &shelf, &event).await;
        collector.work(&instance).await;
        if (refused || collector.has_refused()) && retry.is_none() {
            retry = Some(Instant::now() + RETRY_AFTER);
        }
    }
}

/// Goes on with everything that waits; whether something was refused.
async fn settle(instance: &Instance, collector: &mut Collector) -> bool {
    let mut refused = false;
    for (place, _) in instance.space().list(NAMESPACE_SHELF, None).records {
        refused |= namespaces::settle(instance, &place.1).await;
    }
    for (place, _) in instance.space().list(CRD_SHELF, None).records {
        refused |= definitions::settle(instance, &place.1).await;
    }
    collector.try_again();
    collector.work(instance).await;
    refused || collector.has_refused()
}

/// Takes up what an earlier process left half done; whether something was refused.
async fn recover(instance: &Instance, collector: &mut Collector) -> bool {
    for shelf in instance.space().shelf_names() {
        for (place, record) in instance.space().list(&shelf, None).records {
            collector.learn(&shelf, place, &record);
        }
    }
    collector.check_all();
    for (place, _) in instance.space().list(NAMESPACE_SHELF, None).records {
        accounts::settle(instance, &place.1).await;
    }
    for (place, _) in instance.space().list(accounts::SECRETS, None).records {
        accounts::fill(instance, &place.0, &place.1).await;
    }
    roles::settle(instance).await;
    for (place, _) in instance.space().list(certificates::SHELF, None).records {
        certificates::settle(instance, &place.1).await;
    }
    settle(instance, collector).await
}
