//! What happens to a world, made from a seed: the same seed tells the same story.

use std::{fmt, time::Duration};

use fastrand::Rng;

/// A chapter lasts this long: things happen in its first part, the rest is for coming to rest.
pub(super) const CHAPTER: Duration = Duration::from_hours(2);
/// The part of a chapter in which things happen.
const BUSY: Duration = Duration::from_mins(50);
/// Disturbances end within this time.
const LONGEST: u64 = 12;
/// Most members the story asks for.
const MOST: u32 = 6;

/// Something that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// A person sets `spec.replicas`.
    Scale(u32),
    /// A person sets the next Kubernetes version.
    Upgrade,
    /// A person deletes the n-th Machine.
    DeleteMachine(usize),
    /// The Cluster Autoscaler's protocol: marks the n-th Machine and lowers the count by one.
    MarkAndShrink(usize),
    /// A person deletes the n-th infrastructure Machine.
    DeleteInfraMachine(usize),
    /// A person deletes the n-th Node.
    DeleteNode(usize),
    /// The cloud loses the n-th instance.
    LoseInstance(usize),
    /// Somebody stops the n-th instance.
    StopInstance(usize),
    /// Somebody ends the n-th instance in the cloud, which announces that and holds it for a while.
    EndInstance(usize),
    /// A person asks health checks to replace the n-th Machine.
    Remediate(usize),
    /// The cloud gives no further instance for that many minutes: the quota is used up.
    Quota(u64),
    /// The cloud throttles every second call for that many minutes.
    Throttle(u64),
    /// The workload cluster cannot be reached for that many minutes.
    Outage(u64),
    /// The pods' budget allows no disruption for that many minutes.
    StrictBudget(u64),
    /// The Cluster is paused for that many minutes.
    Pause(u64),
    /// The manager is killed and another one starts.
    Crash,
    /// The manager is killed right after its n-th write from now, whose answer it never sees, and
    /// another one starts.
    CrashInWrite(usize),
}

impl fmt::Display for Happening {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scale(replicas) => write!(out, "replicas become {replicas}"),
            Self::Upgrade => write!(out, "the next Kubernetes version is asked for"),
            Self::DeleteMachine(nth) => write!(out, "Machine {nth} is deleted"),
            Self::MarkAndShrink(nth) => write!(out, "Machine {nth} is marked, the count lowered"),
            Self::DeleteInfraMachine(nth) => write!(out, "infrastructure Machine {nth} is deleted"),
            Self::DeleteNode(nth) => write!(out, "Node {nth} is deleted"),
            Self::LoseInstance(nth) => write!(out, "instance {nth} is lost"),
            Self::StopInstance(nth) => write!(out, "instance {nth} is stopped"),
            Self::EndInstance(nth) => write!(out, "instance {nth} is ended in the cloud"),
            Self::Remediate(nth) => write!(out, "Machine {nth} is to be replaced"),
            Self::Quota(minutes) => write!(out, "the quota is used up for {minutes} min"),
            Self::Throttle(minutes) => write!(out, "the cloud throttles for {minutes} min"),
            Self::Outage(minutes) => write!(out, "the workload API is down for {minutes} min"),
            Self::StrictBudget(minutes) => write!(out, "no pod may go for {minutes} min"),
            Self::Pause(minutes) => write!(out, "the Cluster is paused for {minutes} min"),
            Self::Crash => write!(out, "the manager is killed"),
            Self::CrashInWrite(nth) => write!(out, "the manager is killed after {nth} writes"),
        }
    }
}

/// One stretch of a story, at the end of which the world must be at rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chapter {
    /// What happens, and how long after the chapter's beginning; in order.
    pub happenings: Vec<(Duration, Happening)>,
}

impl Chapter {
    /// Whether nothing but the manager's own work takes machines away: then the pool never has
    /// fewer ready members than its rollout allows.
    pub fn is_calm(&self) -> bool {
        self.happenings.iter().all(|(_, happening)| {
            matches!(
                happening,
                Happening::Upgrade
                    | Happening::Throttle(_)
                    | Happening::Crash
                    | Happening::CrashInWrite(_)
                    | Happening::Pause(_)
            )
        })
    }
}

/// The story of a seed.
pub fn story(seed: u64, hours: u64) -> Vec<Chapter> {
    let mut rng = Rng::with_seed(seed);
    let chapters = (hours * 60 * 60).div_ceil(CHAPTER.as_secs());
    (0..chapters).map(|_| chapter(&mut rng)).collect()
}

fn chapter(rng: &mut Rng) -> Chapter {
    let mut happenings = match rng.u8(0..8) {
        0 | 1 => several(rng, BUSY, calm_one),
        2 | 3 => rolling(rng),
        _ => several(rng, BUSY, any),
    };
    happenings.sort_by_key(|(at, _)| *at);
    Chapter { happenings }
}

type Happenings = Vec<(Duration, Happening)>;

fn several(rng: &mut Rng, within: Duration, one: fn(&mut Rng) -> Happening) -> Happenings {
    let count = rng.usize(1..=5);
    (0..count)
        .map(|_| (Duration::from_secs(rng.u64(0..within.as_secs())), one(rng)))
        .collect()
}

/// A roll, and what comes in its way.
fn rolling(rng: &mut Rng) -> Happenings {
    let mut happenings = several(rng, BUSY / 3, any);
    happenings.truncate(2);
    happenings.push((Duration::ZERO, Happening::Upgrade));
    let again = Duration::from_secs(rng.u64(0..BUSY.as_secs() / 3));
    if rng.bool() {
        happenings.push((again, Happening::Upgrade));
    }
    happenings
}

fn calm_one(rng: &mut Rng) -> Happening {
    match rng.u8(0..6) {
        0..=2 => Happening::Upgrade,
        3 => Happening::Throttle(rng.u64(1..LONGEST)),
        4 => Happening::CrashInWrite(rng.usize(1..40)),
        _ => Happening::Crash,
    }
}

fn any(rng: &mut Rng) -> Happening {
    let nth = rng.usize(0..8);
    let minutes = rng.u64(1..LONGEST);
    match rng.u8(0..20) {
        0 | 1 => Happening::Scale(rng.u32(0..=MOST)),
        2 | 3 => Happening::Upgrade,
        4 | 5 => Happening::DeleteMachine(nth),
        6 => Happening::MarkAndShrink(nth),
        7 => Happening::DeleteInfraMachine(nth),
        8 => Happening::DeleteNode(nth),
        9 => Happening::LoseInstance(nth),
        10 => Happening::StopInstance(nth),
        11 => Happening::EndInstance(nth),
        12 => Happening::Remediate(nth),
        13 => Happening::Throttle(minutes),
        14 => Happening::Quota(minutes),
        15 => Happening::Outage(minutes),
        16 => Happening::StrictBudget(minutes),
        17 => Happening::Pause(minutes),
        18 => Happening::Crash,
        _ => Happening::CrashInWrite(rng.usize(1..40)),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, mem::discriminant};

    use super::{Happening, story};

    #[test]
    fn a_seed_tells_one_story_and_another_seed_another() {
        assert_eq!(story(7, 24), story(7, 24));
        assert_ne!(story(7, 24), story(8, 24));
        assert_eq!(story(7, 24).len(), 12);
        assert_eq!(
            story(7, 24)[..2].to_vec(),
            story(7, 4),
            "a longer story goes on"
        );
    }

    #[test]
    fn everything_happens_to_somebody() {
        let stories = (0..40).flat_map(|seed| story(seed, 24));
        let mut calm = 0;
        let mut kinds = BTreeSet::new();
        for chapter in stories {
            calm += usize::from(chapter.is_calm());
            for (_, happening) in &chapter.happenings {
                kinds.insert(format!("{:?}", discriminant(happening)));
            }
        }
        assert_eq!(kinds.len(), 17, "kinds of happenings");
        assert!(calm > 50, "{calm} chapters judge the availability");
        let roll = [Happening::Upgrade, Happening::Upgrade];
        let twice = (0..40).flat_map(|seed| story(seed, 24)).any(|chapter| {
            let all = chapter.happenings.iter().map(|(_, it)| it.clone());
            all.filter(|it| *it == Happening::Upgrade).eq(roll.clone())
        });
        assert!(twice, "two changes in one roll");
    }
}
