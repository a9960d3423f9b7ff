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
            Self::Throttle(minutes) => write!(out, "the cloud throttles for {minutes} min"),
            Self::Outage(minutes) => write!(out, "the workload API is down for {minutes} min"),
            Self::StrictBudget(minutes) => write!(out, "no pod may go for {minutes} min"),
            Self::Pause(minutes) => write!(out, "the Cluster is paused for {minutes} min"),
            Self::Crash => write!(out, "the manager is killed"),
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
    let calm = rng.u8(0..4) == 0;
    let count = rng.usize(1..=5);
    let mut happenings: Vec<(Duration, Happening)> = (0..count)
        .map(|_| {
            let at = Duration::from_secs(rng.u64(0..BUSY.as_secs()));
            (at, if calm { calm_one(rng) } else { any(rng) })
        })
        .collect();
    happenings.sort_by_key(|(at, _)| *at);
    Chapter { happenings }
}

fn calm_one(rng: &mut Rng) -> Happening {
    match rng.u8(0..5) {
        0..=2 => Happening::Upgrade,
        3 => Happening::Throttle(rng.u64(1..LONGEST)),
        _ => Happening::Crash,
    }
}

fn any(rng: &mut Rng) -> Happening {
    let nth = rng.usize(0..8);
    let minutes = rng.u64(1..LONGEST);
    match rng.u8(0..14) {
        0 | 1 => Happening::Scale(rng.u32(0..=MOST)),
        2 => Happening::Upgrade,
        3 | 4 => Happening::DeleteMachine(nth),
        5 => Happening::MarkAndShrink(nth),
        6 => Happening::DeleteInfraMachine(nth),
        7 => Happening::DeleteNode(nth),
        8 => Happening::LoseInstance(nth),
        9 => Happening::StopInstance(nth),
        10 => Happening::Throttle(minutes),
        11 => Happening::Outage(minutes),
        12 => Happening::StrictBudget(minutes),
        _ => {
            if rng.bool() {
                Happening::Crash
            } else {
                Happening::Pause(minutes)
            }
        }
    }
}
