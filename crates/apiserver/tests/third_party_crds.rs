//! The definitions that others publish parse, and their rules compile.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may fail"
)]

use std::path::PathBuf;

use remuda_apiserver::schema::Structural;
use serde_json::Value;

fn definitions() -> Option<Vec<(PathBuf, Value)>> {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if !data.is_dir() {
        println!(
            "skipped: {} is absent (third-party definitions)",
            data.display()
        );
        return None;
    }
    let mut out = Vec::new();
    for project in std::fs::read_dir(&data).unwrap() {
        let Ok(files) = std::fs::read_dir(project.unwrap().path().join("crds")) else {
            continue;
        };
        for file in files {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
            out.extend(
                documents
                    .into_iter()
                    .map(|document| (path.clone(), document)),
            );
        }
    }
    Some(out)
}

#[test]
fn published_definitions_parse() {
    let Some(definitions) = definitions() else {
        return;
    };
    let mut versions = 0;
    for (path, crd) in definitions {
        for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
            versions += 1;
            let parsed = Structural::parse(&version["schema"]["openAPIV3Schema"]);
            if let Err(errors) = parsed {
                let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
                panic!("{}: {}", path.display(), texts.join("\n"));
            }
        }
    }
    assert!(versions > 40, "only {versions} versions found");
}
