//! What a released binary is made of: a bill of materials (CycloneDX 1.5) and a list of licences.
//! Both come from the lock file and the manifests of what is really compiled into `remuda`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use serde_json::{Value, json};

/// The released package.
const RELEASED: &str = "remuda";

/// What `remuda` is made of on one target.
pub(crate) struct Materials {
    metadata: Metadata,
    /// Every package compiled into the binary or run to build it, without our own.
    foreign: Vec<PackageId>,
}

impl Materials {
    /// Reads the lock file and manifests.
    pub(crate) fn read(root: &Path, target: &str) -> Result<Self> {
        let metadata = MetadataCommand::new()
            .current_dir(root)
            .other_options(vec![
                "--locked".to_owned(),
                "--filter-platform".to_owned(),
                target.to_owned(),
            ])
            .exec()
            .context("reading the manifests")?;
        let foreign = reached(&metadata)?
            .into_iter()
            .filter(|id| metadata[id].source.is_some())
            .collect();
        Ok(Self { metadata, foreign })
    }

    fn packages(&self) -> impl Iterator<Item = &Package> {
        self.foreign.iter().map(|id| &self.metadata[id])
    }

    /// The bill of materials. Holds no time and no random serial number: the same sources give the
    /// same bytes.
    pub(crate) fn bill(&self, checksums: &BTreeMap<(String, String), String>) -> Result<Value> {
        let root = released(&self.metadata)?;
        let components: Vec<Value> = self
            .packages()
            .map(|package| component(package, checksums))
            .collect();
        Ok(json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": { "component": {
                "type": "application",
                "name": RELEASED,
                "version": root.version.to_string(),
                "bom-ref": reference(root),
                "licenses": [{ "expression": root.license }],
            } },
            "components": components,
            "dependencies": self.edges()?,
        }))
    }

    /// Who is compiled into whom.
    fn edges(&self) -> Result<Vec<Value>> {
        let known: BTreeSet<&PackageId> = self.foreign.iter().collect();
        let resolve = self.metadata.resolve.as_ref().context("no resolution")?;
        let mut edges: Vec<Value> = Vec::new();
        for node in resolve.nodes.iter().filter(|node| known.contains(&node.id)) {
            let mut on: Vec<String> = node
                .dependencies
                .iter()
                .filter(|id| known.contains(id))
                .map(|id| reference(&self.metadata[id]))
                .collect();
            on.sort();
            edges.push(json!({ "ref": reference(&self.metadata[&node.id]), "dependsOn": on }));
        }
        edges.sort_by_key(|edge| edge["ref"].to_string());
        Ok(edges)
    }

    /// One line a package: name, version, licence, authors.
    pub(crate) fn licences(&self) -> String {
        let mut text = String::from("Software compiled into remuda, and its licences.\n\n");
        for package in self.packages() {
            let licence = package.license.as_deref().unwrap_or("see its own files");
            let by = if package.authors.is_empty() {
                String::new()
            } else {
                format!(" ({})", package.authors.join(", "))
            };
            // Writing to a String can't fail.
            let _ = writeln!(text, "{} {}: {licence}{by}", package.name, package.version);
        }
        text
    }
}

/// Checksums of the lock file, by name and version.
pub(crate) fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for entry in lock.split("[[package]]").skip(1) {
        let field = |name: &str| {
            entry
                .lines()
                .find_map(|line| line.strip_prefix(name)?.trim().strip_prefix("= "))
                .map(|value| value.trim_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(checksum)) =
            (field("name"), field("version"), field("checksum"))
        {
            found.insert((name, version), checksum);
        }
    }
    found
}

fn released(metadata: &Metadata) -> Result<&Package> {
    metadata
        .packages
        .iter()
        .find(|package| package.name.as_str() == RELEASED && package.source.is_none())
        .context("the workspace has no package remuda")
}

/// Everything that the released package needs to be built, by name and version.
fn reached(metadata: &Metadata) -> Result<Vec<PackageId>> {
    let resolve = metadata.resolve.as_ref().context("no resolution")?;
    let needs: BTreeMap<&PackageId, Vec<&PackageId>> = resolve
        .nodes
        .iter()
        .map(|node| {
            let for_tests_only = |kinds: &[cargo_metadata::DepKindInfo]| {
                kinds
                    .iter()
                    .all(|kind| kind.kind == DependencyKind::Development)
            };
            let on = node
                .deps
                .iter()
                .filter(|dependency| !for_tests_only(&dependency.dep_kinds))
                .map(|dependency| &dependency.pkg)
                .collect();
            (&node.id, on)
        })
        .collect();
    let mut seen = BTreeSet::new();
    let mut next = vec![&released(metadata)?.id];
    while let Some(id) = next.pop() {
        if seen.insert(id) {
            next.extend(needs.get(id).into_iter().flatten());
        }
    }
    let mut all: Vec<PackageId> = seen.into_iter().cloned().collect();
    all.sort_by_key(|id| (metadata[id].name.to_string(), metadata[id].version.clone()));
    Ok(all)
}

fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn component(package: &Package, checksums: &BTreeMap<(String, String), String>) -> Value {
    let key = (package.name.to_string(), package.version.to_string());
    let mut component = json!({
        "type": "library",
        "name": package.name.as_str(),
        "version": package.version.to_string(),
        "bom-ref": reference(package),
        "purl": reference(package),
    });
    if let Some(licence) = &package.license {
        // Older manifests write a slash for OR.
        component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
    }
    if let Some(checksum) = checksums.get(&key) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::{Materials, checksums};

    #[test]
    fn the_bill_names_what_is_compiled_and_nothing_of_the_tests() {
        let root = crate::root();
        let lock = std::fs::read_to_string(root.join("Cargo.lock")).unwrap();
        let materials = Materials::read(&root, "x86_64-unknown-linux-gnu").unwrap();
        let bill = materials.bill(&checksums(&lock)).unwrap();
        let components = bill["components"].as_array().unwrap();
        let named = |name: &str| components.iter().find(|part| part["name"] == name);
        let kube = named("kube").unwrap();
        assert_eq!(kube["hashes"][0]["content"].as_str().unwrap().len(), 64);
        assert!(
            kube["licenses"][0]["expression"]
                .as_str()
                .unwrap()
                .contains("Apache-2.0")
        );
        assert!(named("insta").is_none(), "a crate of the tests");
        assert!(named("remuda-plan").is_none(), "our own");
        let bare: Vec<_> = components
            .iter()
            .filter(|part| part["hashes"].is_null() || part["licenses"].is_null())
            .map(|part| part["name"].as_str().unwrap())
            .collect();
        assert!(bare.is_empty(), "without hash or licence: {bare:?}");
        assert!(materials.licences().contains("\nkube "));
    }
}
