//! One line of the answer: what was looked at, how it stands, and what to do.

use serde::Serialize;

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// As it must be.
    Ok,
    /// It works, or could not be looked at; somebody should know.
    Warn,
    /// It does not work.
    Fail,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// How it stands.
    pub(crate) level: Level,
    /// What was looked at: `pool team-a/demo-pool-0`.
    pub(crate) subject: String,
    /// What was found.
    pub(crate) found: String,
    /// What to do; always set when something is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
}

impl Finding {
    /// Fine.
    pub(crate) fn ok(subject: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            level: Level::Ok,
            subject: subject.into(),
            found: found.into(),
            remedy: None,
        }
    }

    /// Not fine, but it works or is not known.
    pub(crate) fn warn(
        subject: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Warn,
            remedy: Some(remedy.into()),
            ..Self::ok(subject, found)
        }
    }

    /// Broken.
    pub(crate) fn fail(
        subject: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Fail,
            remedy: Some(remedy.into()),
            ..Self::ok(subject, found)
        }
    }

    /// Whether it is broken.
    pub(crate) fn fails(&self) -> bool {
        self.level == Level::Fail
    }
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Checked {
    /// The check.
    pub(crate) name: &'static str,
    /// What depends on it.
    pub(crate) why: &'static str,
    /// Its lines; none: there was nothing to look at.
    pub(crate) findings: Vec<Finding>,
}

/// The whole answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Report {
    /// The checks that ran, in order.
    pub(crate) checks: Vec<Checked>,
}

impl Report {
    /// Adds what a check found.
    pub(crate) fn add(&mut self, name: &'static str, why: &'static str, findings: Vec<Finding>) {
        self.checks.push(Checked {
            name,
            why,
            findings,
        });
    }

    /// How many lines stand so.
    pub(crate) fn count(&self, level: Level) -> usize {
        let lines = self.checks.iter().flat_map(|check| &check.findings);
        lines.filter(|finding| finding.level == level).count()
    }
}
