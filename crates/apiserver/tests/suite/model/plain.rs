//! The plain model: maps, and the rules in a few lines.

use std::collections::{BTreeMap, BTreeSet};

use super::operation::Texts;

/// The manager of every write that is no apply.
pub(super) const CLIENT: &str = "client";

/// What is known of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) label: String,
    pub(super) spec: Texts,
    pub(super) note: Option<String>,
    pub(super) held: bool,
    pub(super) deleting: bool,
    pub(super) generation: u64,
    /// Who owns which key of the spec.
    pub(super) owners: BTreeMap<String, BTreeSet<String>>,
}

/// All objects by name.
pub(super) type Objects = BTreeMap<String, Known>;

impl Known {
    /// A new object of a manager.
    pub(super) fn new(manager: &str, label: &str, spec: Texts, held: bool) -> Self {
        let mut known = Self {
            label: label.to_owned(),
            spec: Texts::new(),
            note: None,
            held,
            deleting: false,
            generation: 0,
            owners: BTreeMap::new(),
        };
        known.update(manager, spec);
        known.generation = 1;
        known
    }

    fn owned(&mut self, manager: &str) -> &mut BTreeSet<String> {
        self.owners.entry(manager.to_owned()).or_default()
    }

    fn disown(&mut self, key: &str) {
        for owned in self.owners.values_mut() {
            owned.remove(key);
        }
        self.owners.retain(|_, owned| !owned.is_empty());
    }

    fn set(&mut self, key: &str, value: &str) {
        self.disown(key);
        self.spec.insert(key.to_owned(), value.to_owned());
    }

    /// A write of the whole spec: who changes a key takes it from all others.
    pub(super) fn update(&mut self, manager: &str, spec: Texts) {
        let before = self.spec.clone();
        for key in before.keys().filter(|key| !spec.contains_key(*key)) {
            self.disown(key);
            self.spec.remove(key);
        }
        for (key, value) in spec {
            if before.get(&key) != Some(&value) {
                self.set(&key, &value);
                self.owned(manager).insert(key);
            }
        }
        self.count(&before);
    }

    /// An apply: what others own changes by force only; what was given up and is nobody's goes.
    pub(super) fn apply(&mut self, manager: &str, spec: &Texts, force: bool) -> Result<(), ()> {
        let before = self.spec.clone();
        let changes = |key: &str, value: &String| before.get(key) != Some(value);
        let foreign = |key: &String| {
            self.owners
                .iter()
                .any(|(owner, owned)| owner != manager && owned.contains(key))
        };
        if !force
            && spec
                .iter()
                .any(|(key, value)| changes(key, value) && foreign(key))
        {
            return Err(());
        }
        let given_up = self.owners.remove(manager).unwrap_or_default();
        for key in given_up.iter().filter(|key| !spec.contains_key(*key)) {
            if !self.owners.values().any(|owned| owned.contains(key)) {
                self.spec.remove(key);
            }
        }
        for (key, value) in spec {
            if changes(key, value) {
                self.set(key, value);
            }
            self.owned(manager).insert(key.clone());
        }
        self.count(&before);
        Ok(())
    }

    fn count(&mut self, before: &Texts) {
        if self.spec != *before {
            self.generation += 1;
        }
    }

    /// A delete that finalizers hold up.
    pub(super) fn mark(&mut self) {
        if !self.deleting {
            self.deleting = true;
            self.generation += 1;
        }
    }
}
