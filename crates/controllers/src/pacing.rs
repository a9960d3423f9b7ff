//! How often an object is worked on: whoever tells of a change ten times in a second causes two
//! passes, one at once and one when the second is over.

use std::{collections::HashMap, time::Duration};

use futures::{Stream, StreamExt as _, stream};
use tokio_util::time::DelayQueue;

use crate::{kinds::Kind, watching::ObjectKey};

/// Between two passes over one object, as far as changes cause them. Ours: ten machines that come
/// up change their pool some fifty times within seconds, and each pass reads all of them anew. An
/// infrastructure pool waits for a cloud that takes longer, and a Cluster only counts. What a pass
/// asks for by itself is not held up.
pub(crate) fn interval(kind: Kind) -> Duration {
    Duration::from_secs(match kind {
        Kind::TerraformMachinePool | Kind::Cluster => 2,
        _ => 1,
    })
}

/// Lets a key through at once, and those like it that follow within `interval` as one at its end.
/// Ends with `woken`.
pub(crate) fn paced(
    woken: impl Stream<Item = ObjectKey> + Unpin + Send + 'static,
    interval: Duration,
) -> impl Stream<Item = ObjectKey> + Send {
    let pacer = Pacer {
        woken,
        interval,
        waiting: HashMap::new(),
        intervals: DelayQueue::new(),
    };
    stream::unfold(pacer, async |mut pacer| {
        let key = pacer.next().await?;
        Some((key, pacer))
    })
}

struct Pacer<S> {
    woken: S,
    interval: Duration,
    /// Keys whose interval runs, and whether they were woken in it.
    waiting: HashMap<ObjectKey, bool>,
    intervals: DelayQueue<ObjectKey>,
}

impl<S: Stream<Item = ObjectKey> + Unpin> Pacer<S> {
    async fn next(&mut self) -> Option<ObjectKey> {
        loop {
            let key = tokio::select! {
                biased;
                Some(over) = self.intervals.next(), if !self.intervals.is_empty() => {
                    self.over(over.into_inner())
                }
                key = self.woken.next() => self.woken(key?),
            };
            if let Some(key) = key {
                self.waiting.insert(key.clone(), false);
                self.intervals.insert(key.clone(), self.interval);
                return Some(key);
            }
        }
    }

    /// A key is woken; the key, if it may go on now.
    fn woken(&mut self, key: ObjectKey) -> Option<ObjectKey> {
        match self.waiting.get_mut(&key) {
            Some(again) => {
                *again = true;
                None
            }
            None => Some(key),
        }
    }

    /// An interval is over; the key, if it was woken meanwhile.
    fn over(&mut self, key: ObjectKey) -> Option<ObjectKey> {
        let again = self.waiting.remove(&key).unwrap_or(false);
        again.then_some(key)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::StreamExt as _;
    use tokio::{sync::mpsc, time::Instant};
    use tokio_stream::wrappers::UnboundedReceiverStream;

    use super::{ObjectKey, paced};

    const INTERVAL: Duration = Duration::from_secs(1);

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("team-a", name)
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_two_passes_and_a_single_change_one_at_once() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut paced = Box::pin(paced(UnboundedReceiverStream::new(receiver), INTERVAL));
        let begun = Instant::now();
        for _ in 0..50 {
            sender.send(key("a")).unwrap();
        }
        sender.send(key("b")).unwrap();
        let mut passes = Vec::new();
        while let Ok(Some(key)) = tokio::time::timeout(INTERVAL * 5, paced.next()).await {
            passes.push((key.name, begun.elapsed().as_secs()));
        }
        let expected = [("a", 0), ("b", 0), ("a", 1)];
        assert_eq!(passes, expected.map(|(name, at)| (name.to_owned(), at)));
        let late = Instant::now();
        sender.send(key("a")).unwrap();
        assert_eq!(paced.next().await, Some(key("a")));
        assert_eq!(late.elapsed(), Duration::ZERO, "it was quiet before");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_forgotten_while_changes_keep_coming() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut paced = Box::pin(paced(UnboundedReceiverStream::new(receiver), INTERVAL));
        let teller = tokio::spawn(async move {
            for _ in 0..35 {
                sender.send(key("a")).unwrap();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            tokio::time::sleep(INTERVAL * 2).await;
        });
        let begun = Instant::now();
        let mut passes = Vec::new();
        while paced.next().await.is_some() {
            passes.push(begun.elapsed().as_millis() / 1000);
        }
        teller.await.unwrap();
        assert_eq!(passes, [0, 1, 2, 3, 4]);
    }
}
