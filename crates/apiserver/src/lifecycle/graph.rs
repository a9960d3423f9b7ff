//! Who owns whom, by uid: what the collector asks, in little memory.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use uuid::Uuid;
use uuid::fmt::Hyphenated;

use crate::store::{Head, Key};

/// A uid. Nearly all are UUIDs as this server writes them: kept as their bytes, in the order of
/// their texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Uid {
    Uuid([u8; 16]),
    Other(Box<str>),
}

impl Uid {
    pub(super) fn of(text: &str) -> Self {
        let written = |uuid: &Uuid| {
            let mut buffer = [0; Hyphenated::LENGTH];
            *uuid.hyphenated().encode_lower(&mut buffer) == *text
        };
        match Uuid::try_parse(text).ok().filter(written) {
            Some(uuid) => Self::Uuid(uuid.into_bytes()),
            None => Self::Other(text.into()),
        }
    }
}

/// An object of the graph.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) key: Key,
    /// Shared with the store.
    pub(super) head: Arc<Head>,
}

impl Node {
    pub(super) fn owners(&self) -> impl Iterator<Item = Uid> {
        self.head.owners.iter().map(|owner| Uid::of(&owner.uid))
    }
}

/// All objects, and which of them own which.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: HashMap<Uid, Node>,
    /// An owner, whether it is there or not, and an object that names it.
    pairs: BTreeSet<(Uid, Uid)>,
}

impl Graph {
    pub(super) fn get(&self, uid: &Uid) -> Option<&Node> {
        self.nodes.get(uid)
    }

    /// Every object.
    pub(super) fn uids(&self) -> impl Iterator<Item = &Uid> {
        self.nodes.keys()
    }

    /// The objects that name this owner.
    pub(super) fn dependents<'a>(&'a self, owner: &'a Uid) -> impl Iterator<Item = &'a Uid> {
        // The smallest of all uids comes first.
        let from = (owner.clone(), Uid::Uuid([0; 16]));
        let pairs = self
            .pairs
            .range(from..)
            .take_while(move |pair| pair.0 == *owner);
        pairs.map(|(_, dependent)| dependent)
    }

    /// Takes an object in, or what it is now.
    pub(super) fn insert(&mut self, key: Key, head: &Arc<Head>) {
        let uid = Uid::of(&head.uid);
        self.remove(&uid);
        let node = Node {
            key,
            head: head.clone(),
        };
        self.pairs
            .extend(node.owners().map(|owner| (owner, uid.clone())));
        self.nodes.insert(uid, node);
    }

    /// Takes an object out; what names it as an owner still does.
    pub(super) fn remove(&mut self, uid: &Uid) -> Option<Node> {
        let node = self.nodes.remove(uid)?;
        for owner in node.owners() {
            self.pairs.remove(&(owner, uid.clone()));
        }
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::Record;

    const A: &str = "00000000-0000-0000-0000-000000000000";
    const B: &str = "0a1b2c3d-0000-4000-8000-0000000000ff";

    #[test]
    fn uids_are_the_same_only_when_their_texts_are() {
        let texts = [
            A,
            B,
            &B.to_uppercase(),
            &B.replace('-', ""),
            &format!("{{{B}}}"),
            "",
            "uid",
        ];
        let uids: BTreeSet<Uid> = texts.iter().map(|text| Uid::of(text)).collect();
        assert_eq!(uids.len(), texts.len());
        assert!(matches!(Uid::of(B), Uid::Uuid(_)));
        assert!(Uid::of(A) < Uid::of(B));
        assert!(size_of::<Uid>() <= 24);
    }

    fn insert(graph: &mut Graph, uid: &str, owners: &[&str]) {
        let owners: Vec<_> = owners.iter().map(|uid| json!({"uid": uid})).collect();
        let object = json!({"metadata": {"uid": uid, "ownerReferences": owners}});
        let key = Key {
            shelf: "things".into(),
            namespace: String::new(),
            name: uid.to_owned(),
        };
        graph.insert(key, &Record::unstored(&object).head);
    }

    fn dependents(graph: &Graph, owner: &str) -> Vec<Uid> {
        graph.dependents(&Uid::of(owner)).cloned().collect()
    }

    #[test]
    fn dependents_follow_the_owners_that_objects_name() {
        let mut graph = Graph::default();
        insert(&mut graph, "x", &[A, B, "other"]);
        insert(&mut graph, B, &[A]);
        assert_eq!(dependents(&graph, A), [Uid::of(B), Uid::of("x")]);
        assert_eq!(dependents(&graph, B), [Uid::of("x")]);
        assert_eq!(dependents(&graph, "other"), [Uid::of("x")]);
        insert(&mut graph, "x", &["other"]);
        assert_eq!(dependents(&graph, A), [Uid::of(B)]);
        let gone = graph.remove(&Uid::of(B)).unwrap();
        assert_eq!(gone.owners().collect::<Vec<_>>(), [Uid::of(A)]);
        assert_eq!(dependents(&graph, A), []);
        assert_eq!(dependents(&graph, "other"), [Uid::of("x")]);
        assert!(graph.get(&Uid::of(B)).is_none());
        assert_eq!(graph.uids().collect::<Vec<_>>(), [&Uid::of("x")]);
    }
}
