//! The clouds' rooms have the same files: who knows one knows where to look in the other. What one
//! cloud has and the other cannot is listed here, each with its reason.

use std::{collections::BTreeSet, path::Path};

use anyhow::Result;

use crate::sources;

/// Rooms that mirror each other, without their sub-folders: those hold one file a noun of the cloud.
const PAIRS: [(&str, &str); 2] = [
    ("crates/plan/src/aws/", "crates/plan/src/azure/"),
    ("crates/aws/src/", "crates/azure/src/"),
];

/// Files without a twin, each with its reason.
const ALONE: &[(&str, &str)] = &[
    (
        "crates/plan/src/aws/template.rs",
        "Azure keeps the model on the set itself: model.rs",
    ),
    (
        "crates/plan/src/aws/tagging.rs",
        "an ARM tag map is replaced as a whole, with the model",
    ),
    (
        "crates/plan/src/aws/group.rs",
        "bounds and policy of the group are Azure's setting.rs",
    ),
    (
        "crates/plan/src/azure/model.rs",
        "AWS keeps the model in a launch template: template.rs",
    ),
    (
        "crates/plan/src/azure/setting.rs",
        "bounds and policy belong to AWS's group: group.rs",
    ),
    (
        "crates/plan/src/azure/operation.rs",
        "no call of the AWS pool is long-running",
    ),
    (
        "crates/plan/src/azure/place.rs",
        "an AWS pool's place is its region alone",
    ),
    (
        "crates/aws/src/ec2.rs",
        "EC2's query protocol, which no SDK in use speaks; ARM is JSON",
    ),
    (
        "crates/aws/src/xml.rs",
        "EC2's query protocol, which no SDK in use speaks; ARM is JSON",
    ),
    (
        "crates/aws/src/profile.rs",
        "shared configuration files are AWS's alone",
    ),
    (
        "crates/azure/src/certificate.rs",
        "AWS has no certificate credentials",
    ),
    (
        "crates/azure/src/tokens.rs",
        "AWS signs each request; Azure fetches bearer tokens",
    ),
    (
        "crates/azure/src/metadata.rs",
        "the token endpoint of a virtual machine; AWS's SDK has its own",
    ),
    (
        "crates/azure/src/guest.rs",
        "Scheduled Events; AWS holds an instance by a lifecycle hook instead",
    ),
    (
        "crates/azure/src/error_body.rs",
        "four shapes of error bodies; AWS's SDK parses its own",
    ),
    (
        "crates/azure/src/transport.rs",
        "plain HTTP to ARM; AWS's SDK brings its own",
    ),
    (
        "crates/azure/src/headroom.rs",
        "ARM tells in headers what is left of its budgets; AWS does not",
    ),
    (
        "crates/aws/src/in_process.rs",
        "the SDK's client over a service; Azure's requests are plain and need none",
    ),
];

/// Files that have no twin and no reason, and reasons that nothing needs, one line each. A room that
/// does not exist yet is not compared.
pub(crate) fn breaches(root: &Path) -> Result<Vec<String>> {
    let files: BTreeSet<String> = sources::files(root)?
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let pairs = PAIRS.into_iter();
    Ok(pairs
        .flat_map(|(one, other)| unmatched(&files, one, other))
        .collect())
}

/// The breaches of one pair of rooms.
fn unmatched(files: &BTreeSet<String>, one: &str, other: &str) -> Vec<String> {
    let (left, right) = (names(files, one), names(files, other));
    if left.is_empty() || right.is_empty() {
        return Vec::new();
    }
    let excuse = |file: &str| ALONE.iter().any(|(alone, _)| *alone == file);
    let mut breaches = Vec::new();
    for (room, twin, here, there) in [(one, other, &left, &right), (other, one, &right, &left)] {
        for name in here.difference(there) {
            let file = format!("{room}{name}");
            if !excuse(&file) {
                breaches.push(format!(
                    "{file} has no twin {twin}{name}: name both alike, or say why in \
                     xtask/src/symmetry.rs"
                ));
            }
        }
        let excused = ALONE.iter().filter_map(|(file, _)| file.strip_prefix(room));
        for name in excused.filter(|name| !here.contains(*name) || there.contains(*name)) {
            breaches.push(format!(
                "xtask/src/symmetry.rs excuses {room}{name}, which needs no excuse"
            ));
        }
    }
    breaches
}

/// Names of the Rust files right in a room.
fn names<'a>(files: &'a BTreeSet<String>, room: &str) -> BTreeSet<&'a str> {
    files
        .iter()
        .filter_map(|file| file.strip_prefix(room))
        .filter(|name| !name.contains('/') && sources::has_extension(Path::new(name), "rs"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_twin_is_a_breach_in_either_room() {
        let files = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let both = files(&["a/x.rs", "b/x.rs", "a/sub/y.rs", "a/x.sh"]);
        assert!(unmatched(&both, "a/", "b/").is_empty());
        let left = files(&["a/x.rs", "a/y.rs", "b/x.rs"]);
        assert_eq!(unmatched(&left, "a/", "b/").len(), 1);
        let right = files(&["a/x.rs", "b/x.rs", "b/y.rs"]);
        assert_eq!(unmatched(&right, "a/", "b/").len(), 1);
        let alone = files(&["a/x.rs"]);
        assert!(
            unmatched(&alone, "a/", "b/").is_empty(),
            "no second room yet"
        );
    }
}
