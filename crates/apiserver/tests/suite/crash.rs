//! A server that is killed in the middle of a storm of writes, again and again, over one folder.
//!
//! A child process serves a few clients that create, update and delete, and tells on its standard
//! output what it is about to do, what was acknowledged and what a watch saw. The test kills it at
//! a random line and holds the next child's first list against what it was told.
#![allow(clippy::panic, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::on_disk;

mod child;

/// Tells the child where to work, and from which seed.
const FOLDER: &str = "APISERVER_CRASH_FOLDER";
const SEED: &str = "APISERVER_CRASH_SEED";
/// Every line of the child that the test reads starts with this.
const MARK: &str = "crash:";
const ROUNDS: u64 = 200;
const CLIENTS: usize = 4;
/// Objects of each client; those of odd number are Secrets, the others ConfigMaps.
const OBJECTS: usize = 5;

/// An object as a list or an event shows it: its revision and its value.
type State = (u64, String);

/// What a client said it is about to do.
#[derive(Clone, Debug)]
struct Intent {
    name: String,
    /// The new value; `None` deletes.
    value: Option<String>,
}

/// What the test knows.
#[derive(Default)]
struct Known {
    /// Acknowledged states.
    objects: BTreeMap<String, State>,
    /// Writes under way, by client.
    pending: BTreeMap<String, Intent>,
    /// The events of the watch, the newest of each object: `None` for a deletion.
    seen: BTreeMap<String, (u64, Option<String>)>,
    /// What a reader of list and watch knows.
    replayed: BTreeMap<String, State>,
    revisions: BTreeSet<u64>,
    newest: u64,
    acknowledged: usize,
    /// Writes that happened without being acknowledged.
    unacknowledged: usize,
}

impl Known {
    /// Holds the first list of a child against what came before.
    fn compare(&mut self, found: &BTreeMap<String, State>, at: u64) {
        assert!(
            at >= self.newest,
            "revision {} is forgotten: {at}",
            self.newest
        );
        let intents: BTreeMap<&str, &Intent> = self
            .pending
            .values()
            .map(|intent| (intent.name.as_str(), intent))
            .collect();
        let names: BTreeSet<&String> = found.keys().chain(self.objects.keys()).collect();
        for name in names {
            let (now, before) = (found.get(name), self.objects.get(name));
            let happened = now != before;
            if happened {
                let intent = intents.get(name.as_str());
                let intent = intent.unwrap_or_else(|| panic!("{name}: {before:?} became {now:?}"));
                assert_eq!(
                    now.map(|(_, value)| value),
                    intent.value.as_ref(),
                    "{name}: neither before nor after the write under way, {before:?}"
                );
                if let Some((revision, _)) = now {
                    let old = before.map_or(0, |(revision, _)| *revision);
                    assert!(*revision > old, "{name}: {revision} after {old}");
                    assert!(
                        !self.revisions.contains(revision),
                        "{name}: {revision} is used"
                    );
                }
                self.unacknowledged += 1;
            }
            if let Some((revision, value)) = self.seen.get(name) {
                let shown = now.map(|(revision, value)| (*revision, value.clone()));
                let kept = match value {
                    Some(value) => shown == Some((*revision, value.clone())),
                    None => shown.is_none(),
                };
                // Newer than the event is the only other thing it may be.
                let newer = now.map_or(happened, |(now, _)| now > revision) || before.is_none();
                assert!(
                    kept || newer,
                    "{name}: a watch saw {revision} {value:?}, now {now:?}"
                );
            }
        }
        self.objects.clone_from(found);
        self.replayed.clone_from(found);
        self.revisions
            .extend(found.values().map(|(revision, _)| *revision));
        self.newest = at;
        self.pending.clear();
        self.seen.clear();
    }

    /// Takes in one line of a child at work.
    fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["begin", client, name, value] => {
                let value = (*value != "-").then(|| (*value).to_owned());
                let name = (*name).to_owned();
                let before = self
                    .pending
                    .insert((*client).to_owned(), Intent { name, value });
                assert!(before.is_none(), "a client does one thing at a time");
            }
            ["done", client, revision] => {
                let intent = self.pending.remove(*client).expect("it was begun");
                let revision: u64 = revision.parse().expect("a revision");
                self.acknowledged += 1;
                match intent.value {
                    Some(value) => {
                        assert!(self.revisions.insert(revision), "{revision} is used twice");
                        self.newest = self.newest.max(revision);
                        self.objects.insert(intent.name, (revision, value));
                    }
                    None => drop(self.objects.remove(&intent.name)),
                }
            }
            ["saw", kind, name, revision, value] => {
                self.see(kind, name, revision.parse().expect("a revision"), value);
            }
            other => panic!("{other:?}"),
        }
    }

    /// One event must continue what list and events told before.
    fn see(&mut self, kind: &str, name: &str, revision: u64, value: &str) {
        let before = self.replayed.remove(name);
        assert_eq!(
            before.is_some(),
            kind != "ADDED",
            "{kind} {name}: {before:?}"
        );
        let old = before.map_or(0, |(revision, _)| revision);
        assert!(revision > old, "{kind} {name}: {revision} after {old}");
        self.newest = self.newest.max(revision);
        let value = (kind != "DELETED").then(|| value.to_owned());
        if let Some(value) = &value {
            let state = (revision, value.clone());
            self.replayed.insert(name.to_owned(), state);
        }
        self.seen.insert(name.to_owned(), (revision, value));
    }
}

/// A child at work.
struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(folder: &Path, seed: u64) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this test is a program"))
            .args(["crash::child::storm", "--exact", "--nocapture"])
            .env(FOLDER, folder)
            .env(SEED, seed.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the test starts itself");
        let output = child.stdout.take().expect("it is piped");
        let lines = BufReader::new(output).lines();
        Self { child, lines }
    }

    /// The next whole line for the test; `None` once the child is gone.
    fn line(&mut self) -> Option<String> {
        loop {
            // A line that the kill cut short has no end mark.
            let line = self.lines.next()?.ok()?;
            let said = line.split_once(MARK).map(|(_, said)| said);
            if let Some(said) = said.and_then(|said| said.strip_suffix(" .")) {
                return Some(said.to_owned());
            }
        }
    }

    /// The objects that the child found, and the revision of its list.
    fn found(&mut self) -> (BTreeMap<String, State>, u64) {
        let mut found = BTreeMap::new();
        loop {
            let line = self.line().expect("the child gets ready");
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["have", name, revision, value] => {
                    let revision = revision.parse().expect("a revision");
                    found.insert((*name).to_owned(), (revision, (*value).to_owned()));
                }
                ["at", revision] => return (found, revision.parse().expect("a revision")),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_half_there_after_200_kills() {
    let folder = on_disk::folder();
    let seed = std::env::var(SEED).map_or(20_250_101, |seed| seed.parse().expect("a number"));
    println!("{SEED}={seed} repeats this run");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut known = Known::default();
    for round in 0..ROUNDS {
        let mut running = Running::start(folder.path(), seed.wrapping_add(round));
        let (found, at) = running.found();
        known.compare(&found, at);
        for _ in 0..random.usize(..90) {
            let line = running.line().expect("the child writes on");
            known.hear(&line);
        }
        // Somewhere between two lines.
        for _ in 0..random.u32(..20_000) {
            std::hint::spin_loop();
        }
        running.child.kill().expect("it runs");
        running.child.wait().expect("it ends");
        while let Some(line) = running.line() {
            known.hear(&line);
        }
    }
    let (acknowledged, extra) = (known.acknowledged, known.unacknowledged);
    println!("{acknowledged} writes acknowledged, {extra} happened without");
    assert!(acknowledged > 1_000, "{acknowledged}: the storm blew");
    assert!(extra > 0, "some kills hit a write under way");
}
