//! A scenario: commands, and what they showed when they were recorded.
//!
//! ```text
//! # A comment.
//! $ kubectl get widgets         a bash command
//! > and its next line
//! | NAME   AGE                  what it printed
//! ! Warning: …                  what it complained about
//! ? 1                           how it ended, if not with 0
//! ~ why                         the genuine server shows the next command something else
//! - why                         the next command is not for the genuine server
//! ```

use std::fmt::Write as _;

/// What one command showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) out: String,
    pub(super) err: String,
    pub(super) code: i32,
}

/// How far a recording holds for the genuine server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// It is the genuine server's own.
    Everywhere,
    /// The genuine server at hand shows something else, for the reason that stands beside.
    Here,
    /// The genuine server at hand is not asked.
    Unasked,
}

/// One command.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) command: String,
    pub(super) holds: Holds,
    pub(super) shown: Shown,
}

/// The lines of a scenario in their order.
#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Step(usize),
}

/// A scenario.
#[derive(Clone, Debug)]
pub(super) struct Transcript {
    pub(super) steps: Vec<Step>,
    pieces: Vec<Piece>,
}

impl Transcript {
    pub(super) fn parse(text: &str) -> Self {
        let mut out = Self {
            steps: Vec::new(),
            pieces: Vec::new(),
        };
        let mut holds = Holds::Everywhere;
        for line in text.lines() {
            let (mark, rest) = line.split_at(line.len().min(2));
            let step = out.steps.last_mut();
            match (mark.trim_end(), step) {
                ("$", _) => {
                    out.pieces.push(Piece::Step(out.steps.len()));
                    out.steps.push(Step {
                        command: rest.to_owned(),
                        holds: std::mem::replace(&mut holds, Holds::Everywhere),
                        shown: Shown::default(),
                    });
                }
                (">", Some(step)) => {
                    step.command.push('\n');
                    step.command.push_str(rest);
                }
                ("|", Some(step)) => add_line(&mut step.shown.out, rest),
                ("!", Some(step)) => add_line(&mut step.shown.err, rest),
                ("?", Some(step)) => step.shown.code = rest.parse().expect("an exit code"),
                (mark, _) => {
                    match mark {
                        "~" => holds = Holds::Here,
                        "-" => holds = Holds::Unasked,
                        _ => assert!(mark.is_empty() || mark == "#", "what is {line:?}?"),
                    }
                    out.pieces.push(Piece::Text(line.to_owned()));
                }
            }
        }
        out
    }

    pub(super) fn render(&self) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(line) => add_line(&mut out, line),
                Piece::Step(index) => {
                    let step = &self.steps[*index];
                    add_line(
                        &mut out,
                        &format!("$ {}", step.command.replace('\n', "\n> ")),
                    );
                    out.push_str(&step.shown.render());
                }
            }
        }
        out
    }
}

impl Shown {
    pub(super) fn render(&self) -> String {
        let mut out = String::new();
        for (mark, text) in [('|', &self.out), ('!', &self.err)] {
            for line in text.lines() {
                add_line(&mut out, format!("{mark} {line}").trim_end());
            }
        }
        if self.code != 0 {
            let _ = writeln!(out, "? {}", self.code);
        }
        out
    }
}

fn add_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
