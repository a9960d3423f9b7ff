//! The pages of `docs/guide` and `docs/howto`: every command on them is run, and shows what the page
//! says. What is not run is listed here with the reason.

use std::{collections::BTreeSet, fs};

use super::{
    pages::{Reader, repository, steps},
    running::Running,
};

/// Pages that are followed in a row on one `remuda up --demo`, each on what the ones before left.
const NEWCOMER: [&str; 3] = [
    "docs/guide/first-pool.md",
    "docs/howto/upgrades.md",
    "docs/howto/autoscaling.md",
];
/// The same on another.
const OPERATOR: [&str; 6] = [
    "docs/howto/doctor.md",
    "docs/howto/cloud-permissions.md",
    "docs/howto/aws.md",
    "docs/howto/azure.md",
    "docs/howto/moving-from-captf.md",
    "docs/howto/disaster-recovery.md",
];
const DRAIN: &str = "docs/guide/drain.md";
/// `crates/remuda/tests/manager/installed.rs` follows it.
const INSTALL: &str = "docs/howto/install.md";

/// Blocks that no test runs, by page and first line.
const NOT_RUN: [(&str, &str, &str); 9] = [
    (
        "docs/guide/first-pool.md",
        "remuda up --demo",
        "whoever follows the page has it running",
    ),
    (
        "docs/howto/aws.md",
        "remuda up --aws real --data-dir ~/remuda-aws",
        "it takes an account",
    ),
    (
        "docs/howto/cloud-permissions.md",
        "az role definition create --role-definition deploy/azure/role.json",
        "it takes a subscription",
    ),
    (
        "docs/howto/disaster-recovery.md",
        "remuda up --data-dir restored",
        "it runs until it is interrupted; tests/up/backup.rs restores",
    ),
    (
        "docs/howto/doctor.md",
        "remuda doctor -o json | jq '.checks[].findings[] | select(.level == \"fail\")'",
        "it takes jq; tests/up/doctor.rs reads the same document",
    ),
    (
        "docs/howto/install.md",
        "cargo xtask image --tag example.com/remuda:v0.1.0",
        "it builds a release and takes a container engine",
    ),
    (
        "docs/howto/install.md",
        "kubectl -n remuda-system rollout status deployment/remuda-manager",
        "it takes nodes that run Pods",
    ),
    (
        "docs/howto/install.md",
        "REMUDA_IMAGE=example.com/remuda:v0.1.0 clusterctl init --infrastructure remuda",
        "it takes clusterctl; tests/manager/packages.rs reads the files as it does",
    ),
    (
        "docs/howto/install.md",
        "remuda manager --dashboard ...",
        "it takes nodes that run Pods; tests/up/browser.rs signs in",
    ),
];

fn reader(running: &Running) -> Reader {
    Reader {
        home: running.home.path().to_owned(),
        variables: vec![
            ("KUBECONFIG", running.data().join("kubeconfig")),
            ("REMUDA_DATA_DIR", running.data()),
        ],
    }
}

#[test]
fn a_newcomer_makes_changes_and_deletes_a_pool() {
    let running = Running::start();
    if running.kubectl().is_none() {
        return;
    }
    for page in NEWCOMER {
        reader(&running).follow_page(page);
    }
}

#[test]
fn operators_find_what_the_pages_say() {
    let running = Running::start();
    if running.kubectl().is_none() {
        return;
    }
    for page in OPERATOR {
        reader(&running).follow_page(page);
    }
}

/// Every page of the guide and the how-to pages, with its text.
fn book() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for folder in ["docs/guide", "docs/howto"] {
        for entry in fs::read_dir(repository().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let page = format!("{folder}/{name}");
            let text = fs::read_to_string(repository().join(&page)).unwrap();
            pages.push((page, text));
        }
    }
    pages
}

#[test]
fn no_page_with_commands_is_left_out() {
    let followed: Vec<&str> = NEWCOMER
        .into_iter()
        .chain(OPERATOR)
        .chain([DRAIN, INSTALL])
        .collect();
    for (page, text) in book() {
        assert!(
            steps(&text).is_empty() || followed.contains(&page.as_str()),
            "{page} has commands that no test runs"
        );
    }
}

#[test]
fn whatever_is_not_run_is_known_with_its_reason() {
    let mut found = BTreeSet::new();
    for (page, text) in book() {
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if ["```sh", "```bash", "```shell"].contains(&line.trim()) {
                found.insert((page.clone(), lines.next().unwrap().trim().to_owned()));
            }
        }
    }
    let known = NOT_RUN.map(|(page, first, _)| (page.to_owned(), first.to_owned()));
    assert_eq!(found, BTreeSet::from(known));
}

#[test]
fn a_drain_can_be_watched() {
    let running = Running::start();
    if running.kubectl().is_none() {
        return;
    }
    reader(&running).follow_page(DRAIN);
    shrinking_ends_the_machine_that_was_named(&running);
}

fn shrinking_ends_the_machine_that_was_named(running: &Running) {
    let kubectl = running.kubectl().unwrap();
    let pool = "cluster.x-k8s.io/pool-name=demo-azure-pool-0";
    let names = "jsonpath={.items[*].metadata.name}";
    let list = ["get", "machines", "-n", "team-a", "-l", pool, "-o", names];
    let before = kubectl.run(&list);
    let victim = before.split_whitespace().nth(1).unwrap();
    let delete = ["machine", "delete", victim, "-n", "team-a", "--shrink"];
    let text = |output: std::process::Output| String::from_utf8(output.stdout).unwrap();
    let mut rehearsal = delete.to_vec();
    rehearsal.extend(["--force", "--dry-run"]);
    let said = text(running.remuda(&rehearsal));
    assert!(said.contains("shrinks from 3 to 2 replicas"), "{said}");
    assert!(said.contains("no drain (--force)"), "{said}");
    let said = text(running.remuda(&delete));
    assert!(said.contains("was made one smaller"), "{said}");
    let after = kubectl.until(&list, |names| names.split_whitespace().count() == 2);
    assert!(!after.contains(victim), "{victim} in {after}");
    let missing = running.remuda(&["machine", "delete", victim, "-n", "team-a"]);
    assert_eq!(missing.status.code(), Some(1));
    let said = String::from_utf8(missing.stderr).unwrap();
    assert!(said.contains("there is no Machine"), "{said}");
}
