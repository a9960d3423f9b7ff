//! What a client does in a sequence.

use std::collections::BTreeMap;

/// The keys of a spec.
pub(super) const KEYS: [&str; 3] = ["a", "b", "c"];

/// Texts by key.
pub(super) type Texts = BTreeMap<String, String>;

/// One thing that a client does.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Create {
        name: String,
        label: String,
        spec: Texts,
        held: bool,
        dry: bool,
    },
    /// With the newest revision, or an old one.
    Replace {
        name: String,
        spec: Texts,
        stale: bool,
    },
    /// A merge patch of one key; `None` takes it away.
    Merge {
        name: String,
        key: String,
        value: Option<String>,
        dry: bool,
    },
    /// A JSON patch that sets a key where another has this value.
    Swap {
        name: String,
        key: String,
        expected: String,
        value: String,
    },
    Relabel {
        name: String,
        label: String,
    },
    Apply {
        name: String,
        manager: String,
        spec: Texts,
        force: bool,
    },
    Status {
        name: String,
        note: String,
    },
    Release {
        name: String,
    },
    Delete {
        name: String,
        guarded: bool,
        dry: bool,
    },
    DeleteAll {
        label: String,
    },
    Get {
        name: String,
    },
    List {
        label: Option<String>,
        limit: usize,
    },
    /// The state some revisions ago.
    Past {
        back: u64,
    },
}

fn pick(rng: &mut fastrand::Rng, words: &[&str]) -> String {
    rng.choice(words).copied().unwrap_or_default().to_owned()
}

fn name(rng: &mut fastrand::Rng) -> String {
    pick(rng, &["w-0", "w-1", "w-2"])
}

fn label(rng: &mut fastrand::Rng) -> String {
    pick(rng, &["red", "blue"])
}

fn text(rng: &mut fastrand::Rng) -> String {
    pick(rng, &["0", "1", "2"])
}

/// At least one key.
fn spec(rng: &mut fastrand::Rng) -> Texts {
    let mut spec = Texts::new();
    for _ in 0..=rng.usize(..KEYS.len()) {
        spec.insert(pick(rng, &KEYS), text(rng));
    }
    spec
}

fn rarely(rng: &mut fastrand::Rng) -> bool {
    rng.u8(..5) == 0
}

impl Operation {
    /// Any operation.
    pub(super) fn any(rng: &mut fastrand::Rng) -> Self {
        let name = name(rng);
        match rng.u8(..18) {
            0..=2 => Self::Create {
                name,
                label: label(rng),
                spec: spec(rng),
                held: rng.bool(),
                dry: rarely(rng),
            },
            3 => Self::Replace {
                name,
                spec: spec(rng),
                stale: rarely(rng),
            },
            4 | 5 => Self::Merge {
                name,
                key: pick(rng, &KEYS),
                value: rng.bool().then(|| text(rng)),
                dry: rarely(rng),
            },
            6 => Self::Swap {
                name,
                key: pick(rng, &KEYS),
                expected: text(rng),
                value: text(rng),
            },
            7 => Self::Relabel {
                name,
                label: label(rng),
            },
            8..=10 => Self::Apply {
                name,
                manager: pick(rng, &["x", "y"]),
                spec: spec(rng),
                force: rng.bool(),
            },
            11 => Self::Status {
                name,
                note: text(rng),
            },
            12 => Self::Release { name },
            13 => Self::Delete {
                name,
                guarded: rarely(rng),
                dry: rarely(rng),
            },
            14 => Self::DeleteAll { label: label(rng) },
            15 => Self::Get { name },
            16 => Self::List {
                label: rng.bool().then(|| label(rng)),
                limit: rng.usize(..3),
            },
            _ => Self::Past {
                back: rng.u64(..12),
            },
        }
    }
}
