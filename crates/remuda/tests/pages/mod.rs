//! Pages of the book, followed to the letter.
//!
//! In a `console` block, a line with `$ ` is a command; it must succeed. The lines below it are
//! words that its output must hold, one line each and in the order of the words; `…` stands for
//! anything. A command that ends with `<<END` goes on to the line `END`. A `yaml NAME` block is that
//! file. Other blocks are for the reader's eyes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What a reader does.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
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

/// What a page makes its reader do.
pub(crate) fn steps(page: &str) -> Vec<Step> {
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
            (Block::Console, Some(Step::Run { command, .. })) if goes_on(command) => {
                command.push('\n');
                command.push_str(line);
            }
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

/// Whether a command has a text below it that did not end.
fn goes_on(command: &str) -> bool {
    let first = command.lines().next().unwrap_or_default();
    first.ends_with("<<END") && !command.ends_with("\nEND")
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

/// Who follows pages: a folder, in which exported variables stay from one command to the next.
pub(crate) struct Reader {
    /// The folder.
    pub(crate) home: PathBuf,
    /// Variables that are set from the start.
    pub(crate) variables: Vec<(&'static str, PathBuf)>,
}

/// A page or an example of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Reader {
    /// Does what a page says, one step after the other.
    pub(crate) fn follow_page(&self, page: &str) {
        let text = fs::read_to_string(repository().join(page)).unwrap();
        self.follow(page, &text);
    }

    /// Does what a text says, which `of` names.
    pub(crate) fn follow(&self, of: &str, text: &str) {
        let steps = steps(text);
        assert!(!steps.is_empty(), "{of} has no commands");
        for step in steps {
            match step {
                Step::Write { name, text } => fs::write(self.home.join(name), text).unwrap(),
                Step::Run { command, shows } => self.run(of, &command, &shows),
            }
        }
    }

    fn run(&self, page: &str, command: &str, shows: &[String]) {
        let program = Path::new(env!("CARGO_BIN_EXE_remuda")).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let script =
            format!("set -euo pipefail\n[ ! -f env ] || . ./env\n{command}\nexport -p > env");
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(&self.home)
            .env("PATH", format!("{}:{path}", program.display()))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
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
    let page = "```console\n$ cat > f <<END\n$ x\n  y\nEND\nout\n```\n";
    assert_eq!(steps(page), [run("cat > f <<END\n$ x\n  y\nEND", &["out"])]);
}
