//! How often an object is worked on: whoever tells of a change ten times in a second causes two
//! passes, one at once and one when the second is over.

use std::{collections::HashMap, time::Duration};

use futures::{Stream, StreamExt as _, stream};
use tokio_util::time::DelayQueue;

use crate::{kinds::Kind, watching::ObjectKey};

/// How often passes follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Between two passes over one object, as far as changes cause them.
    pub interval: Duration,
    /// Passes a second that changes may cause over all objects; where more objects keep changing,
    /// each waits longer, up to [`LONGEST`].
    pub per_second: u32,
}

/// No object waits longer for a pass: a person looks at one of a thousand that change.
const LONGEST: Duration = Duration::from_secs(5);

impl Pace {
    /// The pace of a kind. Ours: ten machines that come up change their pool some fifty times within
    /// seconds, and each pass looks at all of them. An infrastructure pool waits for a cloud that
    /// takes longer, and a Cluster only counts. What a pass asks for by itself is not held up.
    pub(crate) fn of(kind: Kind) -> Self {
        let (seconds, per_second) = match kind {
            Kind::TerraformMachinePool | Kind::Cluster => (2, 50),
            Kind::MachinePool => (1, 50),
            _ => (1, 1_000),
        };
        Self {
            interval: Duration::from_secs(seconds),
            per_second,
        }
    }

    /// How long an object waits while so many had a pass a moment ago.
    fn wait(self, recent: usize) -> Duration {
        let recent = u32::try_from(recent).unwrap_or(u32::MAX);
        let shared = Duration::from_secs(1).saturating_mul(recent) / self.per_second;
        shared.min(LONGEST).max(self.interval)
    }
}

/// Lets a key through at once, and those like it that follow within its wait as one at its end.
/// Ends with `woken`.
pub(crate) fn paced(
    woken: impl Stream<Item = ObjectKey> + Unpin + Send + 'static,
    pace: Pace,
) -> impl Stream<Item = ObjectKey> + Send {
    let pacer = Pacer {
        woken,
        pace,
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
    pace: Pace,
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
                let wait = self.pace.wait(self.waiting.len());
                self.intervals.insert(key.clone(), wait);
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

    use super::{LONGEST, ObjectKey, Pace, paced};

    const INTERVAL: Duration = Duration::from_secs(1);
    const PACE: Pace = Pace {
        interval: INTERVAL,
        per_second: 10,
    };

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("team-a", name)
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_two_passes_and_a_single_change_one_at_once() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut paced = Box::pin(paced(UnboundedReceiverStream::new(receiver), PACE));
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
        let mut paced = Box::pin(paced(UnboundedReceiverStream::new(receiver), PACE));
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

    #[test]
    fn the_more_objects_change_the_longer_each_waits_within_bounds() {
        let waits = [1, 10, 30, 50, 100_000].map(|recent| PACE.wait(recent));
        let seconds = [1, 1, 3, 5, 5].map(Duration::from_secs);
        assert_eq!(waits, seconds);
        assert_eq!(seconds[4], LONGEST);
    }

    #[tokio::test(start_paused = true)]
    async fn objects_that_keep_changing_share_the_passes_of_a_second() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut paced = Box::pin(paced(UnboundedReceiverStream::new(receiver), PACE));
        tokio::spawn(async move {
            for _ in 0..300 {
                for number in 0..40 {
                    sender.send(key(&number.to_string())).unwrap();
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        let mut passes = 0;
        while paced.next().await.is_some() {
            passes += 1;
        }
        // 40 at once, then 10 a second for 30 seconds; the first wait less, as few came before them.
        assert!((300..=400).contains(&passes), "{passes}");
    }
}
