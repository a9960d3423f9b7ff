//! Live progress of `remuda up`: a spinner on a terminal, one line a change elsewhere.

use std::{
    io::{IsTerminal, stderr},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

/// Shows one running step at a time, and the finished ones above it.
pub(crate) struct Progress {
    bar: ProgressBar,
    terminal: bool,
    step: String,
    said: String,
    started: Instant,
}

impl Progress {
    /// Nothing is shown until the first step.
    pub(crate) fn new() -> Self {
        let terminal = stderr().is_terminal();
        let bar = if terminal {
            ProgressBar::new_spinner()
        } else {
            ProgressBar::hidden()
        };
        bar.set_style(spinner());
        bar.enable_steady_tick(Duration::from_millis(100));
        Self {
            bar,
            terminal,
            step: String::new(),
            said: String::new(),
            started: Instant::now(),
        }
    }

    /// Begins a step.
    pub(crate) fn begin(&mut self, step: &str) {
        step.clone_into(&mut self.step);
        self.said.clear();
        self.started = Instant::now();
        self.bar.set_message(step.to_owned());
    }

    /// Says how the running step stands; repeated texts are said once.
    pub(crate) fn update(&mut self, state: &str) {
        if state == self.said {
            return;
        }
        state.clone_into(&mut self.said);
        self.bar.set_message(format!("{}: {state}", self.step));
        if !self.terminal {
            self.line(&format!("  {}: {state}", self.step));
        }
    }

    /// Ends the running step with a word on its result.
    pub(crate) fn done(&mut self, result: &str) {
        let seconds = self.started.elapsed().as_secs_f64();
        let mark = if self.terminal {
            "\u{1b}[32m✓\u{1b}[0m"
        } else {
            "✓"
        };
        self.line(&format!("{mark} {}: {result} ({seconds:.1} s)", self.step));
    }

    /// Takes the spinner away.
    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }

    #[allow(clippy::print_stderr, reason = "progress belongs on standard error")]
    fn line(&self, text: &str) {
        if self.terminal {
            self.bar.println(text);
        } else {
            eprintln!("{text}");
        }
    }
}

fn spinner() -> ProgressStyle {
    ProgressStyle::with_template("{spinner:.cyan} {wide_msg}").expect("the template is constant")
}
