//! The pages of `docs/guide`: every command on them is run, and shows what the page says.
//!
//! In a `console` block, a line with `$ ` is a command; it must succeed. The lines below it are
//! words that its output must hold, one line each and in the order of the words; `…` stands for
//! anything.

use std::{fs, path::Path, process::Command};

use super::running::Running;

/// One command, and what it must show.
struct Step {
    command: String,
    shows: Vec<String>,
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = !inside && line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            let command = command.to_owned();
            let shows = Vec::new();
            steps.push(Step { command, shows });
        } else if let Some(step) = steps.last_mut().filter(|_| inside) {
            step.shows.push(line.to_owned());
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

/// Runs a page's commands one after the other in one shell's folder; exported variables stay.
fn follow(page: &str, running: &Running) {
    let text = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(page),
    );
    let steps = steps(&text.unwrap());
    assert!(!steps.is_empty(), "{page} has no commands");
    let program = Path::new(env!("CARGO_BIN_EXE_remuda")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    for Step { command, shows } in steps {
        let script =
            format!("set -euo pipefail\n[ ! -f env ] || . ./env\n{command}\nexport -p > env");
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
                out.lines().any(|line| holds(line, &pattern)),
                "{page}: $ {command}\nno line like: {pattern}\nbut: {out}{err}"
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
    follow("docs/guide/drain.md", &running);
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
    let steps = steps("a\n```console\n$ one\nout\n$ two\n```\n$ not\n```sh\n$ nor\n```\n");
    let commands: Vec<&str> = steps.iter().map(|step| step.command.as_str()).collect();
    assert_eq!(commands, ["one", "two"]);
    assert_eq!(steps[0].shows, ["out"]);
}
