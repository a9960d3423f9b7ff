//! The pages of `docs/guide` and `docs/howto`: every command on them is run, and shows what the page
//! says.
//!
//! In a `console` block, a line with `$ ` is a command; it must succeed. The lines below it are
//! words that its output must hold, one line each and in the order of the words; `…` stands for
//! anything. A `yaml NAME` block is that file.

use std::{fs, path::Path, process::Command};

use super::running::Running;

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

/// What a reader does.
#[derive(Debug, PartialEq)]
enum Step {
    /// Runs a command, and looks for lines like these.
    Run { command: String, shows: Vec<String> },
    /// Writes a file.
    Write { name: String, text: String },
}

/// What a line of a page belongs to.
enum Block {
    Prose,
    Console,
    File,
    Other,
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut block = Block::Prose;
    let mut margin = 0;
    for line in page.lines() {
        // A block below a list entry is indented with it.
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            margin = line.len() - line.trim_start().len();
            block = match (block, fence.split_once(' ')) {
                (Block::Prose, None) if fence == "console" => Block::Console,
                (Block::Prose, Some(("yaml", name))) => {
                    let name = name.to_owned();
                    let text = String::new();
                    steps.push(Step::Write { name, text });
                    Block::File
                }
                (Block::Prose, _) => Block::Other,
                _ => Block::Prose,
            };
            continue;
        }
        let line = line.get(margin..).unwrap_or_default();
        match (&block, steps.last_mut()) {
            (Block::Console, last) => match (line.strip_prefix("$ "), last) {
                (Some(command), _) => steps.push(Step::Run {
                    command: command.to_owned(),
                    shows: Vec::new(),
                }),
                (None, Some(Step::Run { shows, .. })) => shows.push(line.to_owned()),
                (None, _) => {}
            },
            (Block::File, Some(Step::Write { text, .. })) => {
                text.push_str(line);
                text.push('\n');
            }
            _ => {}
        }
    }
    steps
}

/// Whether a line holds the words of a pattern in their order.
fn holds(line: &str, pattern: &str) -> bool {
    let mut rest = line;
    pattern
        .split('…')
        .flat_map(str::split_whitespace)
        .all(|word| match rest.find(word) {
            Some(at) => {
                rest = &rest[at + word.len()..];
                true
            }
            None => false,
        })
}

/// Does what a page says, one step after the other in one folder; exported variables stay.
fn follow(page: &str, running: &Running) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let steps = steps(&fs::read_to_string(root.join(page)).unwrap());
    assert!(!steps.is_empty(), "{page} has no commands");
    for step in steps {
        match step {
            Step::Write { name, text } => {
                fs::write(running.home.path().join(name), text).unwrap();
            }
            Step::Run { command, shows } => run(page, &command, &shows, running),
        }
    }
}

fn run(page: &str, command: &str, shows: &[String], running: &Running) {
    let program = Path::new(env!("CARGO_BIN_EXE_remuda")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!("set -euo pipefail\n[ ! -f env ] || . ./env\n{command}\nexport -p > env");
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(running.home.path())
        .env("PATH", format!("{}:{path}", program.display()))
        .env("KUBECONFIG", running.data().join("kubeconfig"))
        .env("REMUDA_DATA_DIR", running.data())
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{page}: $ {command}\n{out}{err}");
    for pattern in shows {
        assert!(
            out.lines().any(|line| holds(line, pattern)),
            "{page}: $ {command}\nno line like: {pattern}\nbut: {out}{err}"
        );
    }
}

#[test]
fn a_newcomer_makes_changes_and_deletes_a_pool() {
    let running = Running::start();
    if running.kubectl().is_none() {
        return;
    }
    for page in NEWCOMER {
        follow(page, &running);
    }
}

#[test]
fn operators_find_what_the_pages_say() {
    let running = Running::start();
    if running.kubectl().is_none() {
        return;
    }
    for page in OPERATOR {
        follow(page, &running);
    }
}

#[test]
fn no_page_with_commands_is_left_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let followed: Vec<&str> = NEWCOMER
        .into_iter()
        .chain(OPERATOR)
        .chain([DRAIN])
        .collect();
    for folder in ["docs/guide", "docs/howto"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let page = format!("{folder}/{name}");
            let commands = steps(&fs::read_to_string(root.join(&page)).unwrap());
            assert!(
                commands.is_empty() || followed.contains(&page.as_str()),
                "{page} has commands that no test runs"
            );
        }
    }
}

#[test]
fn a_drain_can_be_watched() {
    let running = Running::start();
    if running.kubectl().is_none() {
        return;
    }
    follow(DRAIN, &running);
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

#[test]
fn patterns_hold_words_in_their_order() {
    assert!(holds("shop   N/A   1   1   5s", "shop … N/A … 1"));
    assert!(holds("pod/shop-5d-x evicted", "pod/shop-… evicted"));
    assert!(!holds("evicted pod/shop", "pod/shop evicted"));
    let page = "a\n```console\n$ one\nout\n$ two\n```\n$ not\n```sh\n$ nor\n```\n1. b\n   ```yaml f.yaml\n   x:\n     y\n   ```\n";
    let run = |command: &str, shows: &[&str]| Step::Run {
        command: command.to_owned(),
        shows: shows.iter().map(|line| (*line).to_owned()).collect(),
    };
    let file = Step::Write {
        name: "f.yaml".to_owned(),
        text: "x:\n  y\n".to_owned(),
    };
    assert_eq!(steps(page), [run("one", &["out"]), run("two", &[]), file]);
}
