//! Which objects of a shelf carry a label, so that a list by labels looks at few of many.
//!
//! A key is indexed when a list first asks for it; what nobody asks for costs nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::Record;
use super::shelf::Place;

/// Keys of one shelf that are indexed at most: lists by further ones look at every object. Ours.
const KEYS: usize = 8;

/// The indexed keys of one shelf, to the places of each value.
#[derive(Debug, Default)]
pub(super) struct ByLabel {
    keys: HashMap<Box<str>, HashMap<Box<str>, BTreeSet<Place>>>,
}

impl ByLabel {
    /// Whether a list for `key` needs no look at the objects, or can never be spared it.
    pub(super) fn is_settled(&self, key: &str) -> bool {
        self.keys.contains_key(key) || self.keys.len() >= KEYS
    }

    /// Indexes a key.
    pub(super) fn add_key(&mut self, key: &str, objects: &BTreeMap<Place, Arc<Record>>) {
        if self.is_settled(key) {
            return;
        }
        let mut values = HashMap::<Box<str>, BTreeSet<Place>>::new();
        for (place, record) in objects {
            if let Some(value) = record.label(key) {
                let places = values.entry(value.into()).or_default();
                places.insert(place.clone());
            }
        }
        self.keys.insert(key.into(), values);
    }

    /// An object is now `after` (`None`: gone) and was `before`.
    pub(super) fn replace(
        &mut self,
        place: &Place,
        before: Option<&Record>,
        after: Option<&Record>,
    ) {
        for (key, values) in &mut self.keys {
            let old = before.and_then(|record| record.label(key));
            let new = after.and_then(|record| record.label(key));
            if old == new {
                continue;
            }
            if let Some(old) = old
                && let Some(places) = values.get_mut(old)
            {
                places.remove(place);
                if places.is_empty() {
                    values.remove(old);
                }
            }
            if let Some(new) = new {
                let places = values.entry(new.into()).or_default();
                places.insert(place.clone());
            }
        }
    }

    /// The places among which are all that carry these labels, of one namespace or of all; `None`:
    /// none of the keys is indexed.
    pub(super) fn candidates(
        &self,
        labels: &[(&str, &str)],
        namespace: Option<&str>,
    ) -> Option<Vec<&Place>> {
        let indexed = labels
            .iter()
            .filter_map(|(key, value)| Some(self.keys.get(*key)?.get(*value)));
        // A value that nothing carries makes the list empty.
        let fewest = indexed.min_by_key(|places| places.map_or(0, BTreeSet::len))?;
        let Some(places) = fewest else {
            return Some(Vec::new());
        };
        Some(match namespace {
            None => places.iter().collect(),
            Some(namespace) => {
                let from = Bound::Included((namespace.to_owned(), String::new()));
                let rest = places.range((from, Bound::Unbounded));
                rest.take_while(|(within, _)| within == namespace).collect()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(labels: &serde_json::Value) -> Arc<Record> {
        let object = json!({"metadata": {"labels": labels}});
        Arc::new(Record::new(object, 1))
    }

    fn place(namespace: &str, name: &str) -> Place {
        (namespace.to_owned(), name.to_owned())
    }

    fn names(index: &ByLabel, labels: &[(&str, &str)], namespace: Option<&str>) -> Vec<String> {
        let places = index.candidates(labels, namespace).expect("indexed");
        let names = places.iter().map(|(_, name)| name.clone());
        names.collect()
    }

    #[test]
    fn an_index_follows_labels_that_come_change_and_go() {
        let web = record(&json!({"tier": "web"}));
        let db = record(&json!({"tier": "db"}));
        let mut objects = BTreeMap::new();
        objects.insert(place("a", "x"), web.clone());
        objects.insert(place("b", "y"), web.clone());
        objects.insert(place("a", "z"), db.clone());
        let mut index = ByLabel::default();
        assert!(index.candidates(&[("tier", "web")], None).is_none());
        index.add_key("tier", &objects);
        assert_eq!(names(&index, &[("tier", "web")], None), ["x", "y"]);
        assert_eq!(names(&index, &[("tier", "web")], Some("b")), ["y"]);
        index.replace(&place("a", "x"), Some(&web), Some(&db));
        index.replace(&place("b", "y"), Some(&web), None);
        index.replace(&place("a", "w"), None, Some(&web));
        assert_eq!(names(&index, &[("tier", "web")], None), ["w"]);
        assert_eq!(names(&index, &[("tier", "db")], Some("a")), ["x", "z"]);
        assert_eq!(
            names(&index, &[("tier", "none")], None),
            Vec::<String>::new()
        );
        // The smallest set decides; a key without an index does not.
        let both = [("other", "1"), ("tier", "web")];
        assert_eq!(names(&index, &both, None), ["w"]);
    }

    #[test]
    fn keys_beyond_the_bound_are_not_indexed() {
        let mut index = ByLabel::default();
        for number in 0..KEYS + 3 {
            index.add_key(&format!("key-{number}"), &BTreeMap::new());
        }
        assert_eq!(index.keys.len(), KEYS);
        let beyond = format!("key-{}", KEYS + 1);
        assert!(index.is_settled(&beyond));
        assert!(index.candidates(&[(&beyond, "1")], None).is_none());
    }
}
