//! Which kinds an instance serves, and how to find one by path or by type.
//!
//! In: the built-in table and the CustomResourceDefinitions of the instance. Out: an immutable
//! registry; a change of a definition makes a new one.

mod builtin;
mod crd;
mod kind;

pub(crate) use crd::{Definition, establish, set_condition};
pub(crate) use kind::{Behaviour, Kind, ScalePaths, Served, Version};

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::store::{Place, Record};

/// All kinds of one instance at one moment.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    kinds: Vec<Arc<Kind>>,
    by_path: BTreeMap<(String, String), Arc<Kind>>,
    /// The kind of each definition, by the definition's name and revision.
    sources: BTreeMap<(String, u64), Option<Arc<Kind>>>,
}

/// The shelf of CustomResourceDefinitions.
pub(crate) const CRD_SHELF: &str = "customresourcedefinitions.apiextensions.k8s.io";
/// The shelf of namespaces.
pub(crate) const NAMESPACE_SHELF: &str = "namespaces";

impl Registry {
    /// The built-in kinds and the established ones of the stored definitions. What `before` knows
    /// of a definition that has not changed is taken over: schemas are costly to parse.
    pub(crate) fn new(before: &Self, definitions: &[(Place, Arc<Record>)]) -> Self {
        let sources: BTreeMap<(String, u64), Option<Arc<Kind>>> = definitions
            .iter()
            .map(|((_, name), record)| {
                let source = (name.clone(), record.revision);
                let known = before.sources.get(&source).cloned();
                let kind = known.unwrap_or_else(|| {
                    let former = before.sources.iter().find(|((of, _), _)| of == name);
                    let former = former.and_then(|(_, kind)| kind.as_deref());
                    crd::kind(&record.value(), record.revision, former).map(Arc::new)
                });
                (source, kind)
            })
            .collect();
        let mut kinds = builtin::kinds();
        let mut custom: Vec<Arc<Kind>> = sources.values().flatten().cloned().collect();
        custom.sort_by(|a, b| (&a.group, &a.plural).cmp(&(&b.group, &b.plural)));
        kinds.extend(custom);
        let by_path = kinds
            .iter()
            .map(|k| ((k.group.clone(), k.plural.clone()), k.clone()))
            .collect();
        Self {
            kinds,
            by_path,
            sources,
        }
    }

    /// All kinds: built in first, then by group.
    pub(crate) fn kinds(&self) -> &[Arc<Kind>] {
        &self.kinds
    }

    /// The kind at `group/version/plural`, if that version is served.
    pub(crate) fn at(&self, group: &str, version: &str, plural: &str) -> Option<Served> {
        let kind = self.by_path.get(&(group.to_owned(), plural.to_owned()))?;
        served(kind, version)
    }

    /// The kind of an `apiVersion` and `kind`; any served version will do.
    pub(crate) fn by_type(&self, api_version: &str, kind: &str) -> Option<Served> {
        let (group, version) = crate::object::split_api_version(api_version);
        let found = self
            .kinds
            .iter()
            .find(|k| k.group == group && k.kind == kind)?;
        served(found, version).or_else(|| storage(found))
    }

    /// The kind whose objects lie on `shelf`, at its storage version.
    pub(crate) fn by_shelf(&self, shelf: &str) -> Option<Served> {
        self.kinds
            .iter()
            .find(|kind| &*kind.shelf == shelf)
            .and_then(storage)
    }

    /// Every served version of the objects of a kind, in its own group and others.
    pub(crate) fn equivalents(&self, kind: &Kind) -> Vec<(Arc<Kind>, String)> {
        let same = self.kinds.iter().filter(|other| other.shelf == kind.shelf);
        same.flat_map(|other| {
            let versions = other.versions.iter().filter(|version| version.served);
            versions.map(|version| (other.clone(), version.name.clone()))
        })
        .collect()
    }

    /// Groups in order, each with its served versions, preferred first.
    pub(crate) fn groups(&self) -> Vec<(String, Vec<String>)> {
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        for kind in &self.kinds {
            if !groups.iter().any(|(group, _)| *group == kind.group) {
                groups.push((kind.group.clone(), Vec::new()));
            }
            let Some((_, versions)) = groups.iter_mut().find(|(group, _)| *group == kind.group)
            else {
                continue;
            };
            for version in kind.versions.iter().filter(|v| v.served) {
                if !versions.contains(&version.name) {
                    versions.push(version.name.clone());
                }
            }
        }
        groups.retain(|(_, versions)| !versions.is_empty());
        for (_, versions) in &mut groups {
            versions.sort_by_key(|version| Reverse(priority(version)));
        }
        groups
    }

    /// Whether a built-in kind is of this group and version.
    pub(crate) fn is_built_in(&self, group: &str, version: &str) -> bool {
        let of_group = |kind: &&Arc<Kind>| kind.group == group && !kind.is_custom();
        let mut kinds = self.kinds.iter().filter(of_group);
        kinds.any(|kind| kind.versions.iter().any(|known| known.name == version))
    }

    /// The kinds served at one group and version.
    pub(crate) fn served_at(&self, group: &str, version: &str) -> Vec<Served> {
        let in_group = self.kinds.iter().filter(|kind| kind.group == group);
        in_group.filter_map(|kind| served(kind, version)).collect()
    }
}

fn served(kind: &Arc<Kind>, version: &str) -> Option<Served> {
    let at = kind
        .versions
        .iter()
        .position(|v| v.name == version && v.served)?;
    Some(Served::new(kind.clone(), at))
}

fn storage(kind: &Arc<Kind>) -> Option<Served> {
    let at = kind.versions.iter().position(|v| v.storage)?;
    Some(Served::new(kind.clone(), at))
}

/// Kubernetes' version order: general availability, then beta, then alpha, each by number; other
/// names last, by name in reverse.
pub(crate) fn priority(version: &str) -> (u8, u64, u64, Reverse<String>) {
    let other = (0, 0, 0, Reverse(version.to_owned()));
    let Some(rest) = version.strip_prefix('v') else {
        return other;
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (major, rest) = rest.split_at(digits);
    let Ok(major) = major.parse() else {
        return other;
    };
    let (stage, minor) = match rest {
        "" => (3, ""),
        _ if rest.starts_with("beta") => (2, rest.trim_start_matches("beta")),
        _ if rest.starts_with("alpha") => (1, rest.trim_start_matches("alpha")),
        _ => return other,
    };
    if stage == 3 {
        return (stage, major, 0, Reverse(String::new()));
    }
    match minor.parse() {
        Ok(minor) => (stage, major, minor, Reverse(String::new())),
        Err(_) => other,
    }
}
