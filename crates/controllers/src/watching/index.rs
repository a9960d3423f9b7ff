//! Kept objects by what they refer to: who concerns an object is found without a look at all of
//! them.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use kube::{
    api::DynamicObject,
    runtime::reflector::{ObjectRef, Store},
};

use super::ObjectKey;
use crate::kinds::Kind;

/// What an object can be found by.
pub(crate) type Terms = fn(&DynamicObject) -> Vec<Term>;

/// One relation of an object, the namespace it holds in, and whatever it is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Term {
    relation: &'static str,
    namespace: String,
    of: String,
}

impl Term {
    pub(crate) fn new(
        relation: &'static str,
        namespace: impl Into<String>,
        of: impl Into<String>,
    ) -> Self {
        Self {
            relation,
            namespace: namespace.into(),
            of: of.into(),
        }
    }

    /// The relation that an object itself stands in, by its namespace.
    pub(crate) fn about(
        relation: &'static str,
        object: &DynamicObject,
        of: impl Into<String>,
    ) -> Self {
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        Self::new(relation, namespace, of)
    }
}

/// The objects of one kind that a watch keeps, and where to find them.
#[derive(Clone)]
pub(crate) struct Kept {
    kind: Kind,
    pub(crate) store: Store<DynamicObject>,
    index: Index,
}

impl Kept {
    pub(super) fn new(kind: Kind, store: Store<DynamicObject>, index: Index) -> Self {
        Self { kind, store, index }
    }

    /// Keys of the objects with a term.
    pub(crate) fn keys(&self, term: &Term) -> Vec<ObjectKey> {
        self.index.keys(term)
    }

    /// The objects with a term.
    pub(crate) fn objects(&self, term: &Term) -> Vec<Arc<DynamicObject>> {
        let keys = self.keys(term).into_iter();
        keys.filter_map(|key| self.get(&key)).collect()
    }

    /// One object.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<DynamicObject>> {
        let reference = ObjectRef::new_with(&key.name, self.kind.resource());
        self.store.get(&reference.within(&key.namespace))
    }
}

/// Keys by term. Written by the watch, before it wakes anybody.
#[derive(Clone, Default)]
pub(super) struct Index {
    inner: Arc<RwLock<Inner>>,
}

#[derive(Default)]
struct Inner {
    /// Sorted: most terms have one object, a few have all of them.
    by_term: HashMap<Arc<Term>, Vec<Arc<ObjectKey>>>,
    of: HashMap<Arc<ObjectKey>, Box<[Arc<Term>]>>,
}

impl Index {
    /// An object is there, with these terms and no others.
    pub(super) fn put(&self, key: ObjectKey, terms: Vec<Term>) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = inner.of.get(&key)
            && known.iter().map(AsRef::as_ref).eq(&terms)
        {
            return;
        }
        inner.remove(&key);
        let key = Arc::new(key);
        let terms = terms
            .into_iter()
            .map(|term| inner.add(term, &key))
            .collect();
        inner.of.insert(key, terms);
    }

    /// An object is gone.
    pub(super) fn remove(&self, key: &ObjectKey) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.remove(key);
    }

    fn keys(&self, term: &Term) -> Vec<ObjectKey> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let keys = inner.by_term.get(term);
        keys.into_iter()
            .flatten()
            .map(|key| key.as_ref().clone())
            .collect()
    }
}

impl Inner {
    /// The term as it is shared by all that have it.
    fn add(&mut self, term: Term, key: &Arc<ObjectKey>) -> Arc<Term> {
        let term = match self.by_term.get_key_value(&term) {
            Some((known, _)) => known.clone(),
            None => Arc::new(term),
        };
        let keys = self.by_term.entry(term.clone()).or_default();
        if let Err(place) = keys.binary_search(key) {
            keys.insert(place, key.clone());
        }
        term
    }

    fn remove(&mut self, key: &ObjectKey) {
        for term in self.of.remove(key).unwrap_or_default() {
            let Some(keys) = self.by_term.get_mut(&term) else {
                continue;
            };
            if let Ok(place) = keys.binary_search_by(|other| other.as_ref().cmp(key)) {
                keys.remove(place);
            }
            if keys.is_empty() {
                self.by_term.remove(&term);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Index, ObjectKey, Term};

    #[test]
    fn an_object_is_found_by_its_newest_terms_only() {
        let index = Index::default();
        let term = |of: &str| Term::new("refers", "team-a", of);
        let (a, b) = (ObjectKey::new("team-a", "a"), ObjectKey::new("team-a", "b"));
        index.put(a.clone(), vec![term("x"), term("y")]);
        index.put(b.clone(), vec![term("x")]);
        assert_eq!(index.keys(&term("x")), [a.clone(), b.clone()]);
        index.put(a.clone(), vec![term("y")]);
        assert_eq!(index.keys(&term("x")), std::slice::from_ref(&b));
        assert_eq!(index.keys(&term("y")), [a]);
        index.remove(&b);
        assert!(index.keys(&term("x")).is_empty());
        let elsewhere = Term::new("refers", "team-b", "y");
        assert!(index.keys(&elsewhere).is_empty());
    }
}
