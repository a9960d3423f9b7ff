//! Updates of a page while somebody looks at it, as server-sent events.
//!
//! Watches say when to look; what is sent are the fragments that came out differently. A person who
//! may read and not watch gets the same at a slower pace.

use std::{collections::HashMap, convert::Infallible, sync::Arc, time::Duration};

use axum::response::sse::{Event, KeepAlive, Sse};
use futures::{Stream, StreamExt, stream};
use kube::{
    Api, Client,
    api::DynamicObject,
    core::PartialObjectMeta,
    runtime::{WatchStreamExt, watcher},
};
use serde_json::{Map, Value, json};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    time::{Instant, sleep_until},
};
use tokio_stream::wrappers::ReceiverStream;

use crate::{
    client::Refusal,
    kinds::Kind,
    pages::Fragment,
    place::Place,
    server::{Inner, Person},
};

/// Changes that come together make one update.
const GATHER: Duration = Duration::from_millis(150);
/// Ages on a page, and what no watch tells, are looked at this often.
const TICK: Duration = Duration::from_secs(10);
/// A page that took long to make is made again after this many times as long, at the earliest.
const REST: u32 = 5;

/// The updates of a page for a person, for as long as somebody listens.
pub(crate) fn updates(
    inner: Arc<Inner>,
    person: Person,
    place: Place,
    permit: OwnedSemaphorePermit,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (send, receive) = mpsc::channel(2);
    tokio::spawn(async move {
        let _permit = permit;
        let follow = follow(&inner, &person, &place, &send);
        tokio::select! {
            () = follow => {}
            () = send.closed() => {}
        }
    });
    let events = ReceiverStream::new(receive).map(Ok);
    Sse::new(events).keep_alive(KeepAlive::default())
}

async fn follow(inner: &Arc<Inner>, person: &Person, place: &Place, send: &mpsc::Sender<Event>) {
    let mut changes = changes(&person.api.client(), place);
    let mut sent: HashMap<&'static str, String> = HashMap::new();
    loop {
        let begun = Instant::now();
        // A session that ended must not go on reading.
        if !inner.is_signed_in(person) {
            let _ = send.send(Event::default().event("gone").data("")).await;
            return;
        }
        match inner.page(person, place).await {
            Ok(page) => {
                if let Some(event) = differences(&page.fragments, &mut sent)
                    && send.send(event).await.is_err()
                {
                    return;
                }
            }
            Err(Refusal::SignIn | Refusal::Missing | Refusal::Forbidden(_)) => {
                let _ = send.send(Event::default().event("gone").data("")).await;
                return;
            }
            Err(error) => tracing::debug!(%error, "an update of a page"),
        }
        let rest = Instant::now() + GATHER.max(begun.elapsed() * REST);
        tokio::select! {
            _ = changes.next() => {}
            () = sleep_until(begun + TICK) => {}
        }
        sleep_until(rest.max(Instant::now() + GATHER)).await;
        // What changed in the meantime is part of the next look.
        while futures::FutureExt::now_or_never(changes.next())
            .flatten()
            .is_some()
        {}
    }
}

/// An event with the fragments that differ from those sent before.
fn differences(fragments: &[Fragment], sent: &mut HashMap<&'static str, String>) -> Option<Event> {
    let mut changed = Map::new();
    for fragment in fragments {
        if sent.get(fragment.id) != Some(&fragment.html) {
            sent.insert(fragment.id, fragment.html.clone());
            changed.insert(fragment.id.to_owned(), Value::from(fragment.html.as_str()));
        }
    }
    if changed.is_empty() {
        return None;
    }
    Event::default()
        .event("change")
        .json_data(json!(changed))
        .ok()
}

/// Says when something that a page shows may have changed.
fn changes(client: &Client, place: &Place) -> stream::BoxStream<'static, ()> {
    let (namespace, kinds): (Option<&str>, &[Kind]) = match place {
        Place::Overview(filter) => (
            filter.namespace.as_deref(),
            &[Kind::MachinePool, Kind::TerraformMachinePool, Kind::Machine],
        ),
        Place::Pool { namespace, .. } | Place::Member { namespace, .. } => (
            Some(namespace),
            &[
                Kind::MachinePool,
                Kind::TerraformMachinePool,
                Kind::Machine,
                Kind::TerraformMachinePoolMachine,
            ],
        ),
        Place::Machine { namespace, .. } => (Some(namespace), &[Kind::Machine]),
        Place::Calls => (None, &[]),
    };
    let watches = kinds.iter().map(|kind| {
        let resource = kind.resource();
        // Only the fact of a change counts: metadata are enough.
        let api: Api<PartialObjectMeta<DynamicObject>> = match namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        let changes = watcher(api, watcher::Config::default()).default_backoff();
        let changes = changes.filter_map(|change| async move {
            match change {
                Ok(watcher::Event::Apply(_) | watcher::Event::Delete(_)) => Some(()),
                _ => None,
            }
        });
        changes.boxed()
    });
    stream::select_all(watches).chain(stream::pending()).boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(html: &str) -> Fragment {
        Fragment {
            id: "pool-head",
            width: "full",
            html: html.to_owned(),
        }
    }

    #[test]
    fn what_is_the_same_is_not_sent_again() {
        let mut sent = HashMap::new();
        assert!(differences(&[fragment("a")], &mut sent).is_some());
        assert!(differences(&[fragment("a")], &mut sent).is_none());
        assert!(differences(&[fragment("b")], &mut sent).is_some());
    }
}
