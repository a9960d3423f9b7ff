//! The answer as text and as JSON. Pure.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::finding::{Level, Report};

/// As text: a line a finding, what to do below it, and a summary.
pub(crate) fn text(report: &Report) -> String {
    let mut text = String::new();
    for check in &report.checks {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", check.name);
        if check.findings.is_empty() {
            let _ = writeln!(text, "  -     nothing to look at");
        }
        for finding in &check.findings {
            let level = match finding.level {
                Level::Ok => "ok  ",
                Level::Warn => "warn",
                Level::Fail => "FAIL",
            };
            let _ = writeln!(text, "  {level}  {}: {}", finding.subject, finding.found);
            if let Some(remedy) = &finding.remedy {
                let _ = writeln!(text, "        -> {remedy}");
            }
        }
        if check
            .findings
            .iter()
            .any(|finding| finding.level == Level::Fail)
        {
            let _ = writeln!(text, "        why it matters: {}", check.why);
        }
    }
    let _ = writeln!(
        text,
        "\n{} ok, {} to know, {} broken",
        report.count(Level::Ok),
        report.count(Level::Warn),
        report.count(Level::Fail)
    );
    text
}

/// As one JSON document.
pub(crate) fn json(report: &Report) -> Value {
    json!({
        "checks": report.checks,
        "summary": {
            "ok": report.count(Level::Ok),
            "warn": report.count(Level::Warn),
            "fail": report.count(Level::Fail),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Finding;

    fn report() -> Report {
        let mut report = Report::default();
        report.add("api", "why", vec![Finding::ok("the API", "v1.33 answers")]);
        let lines = vec![
            Finding::ok("identity a", "arn:aws:sts::1:user/a"),
            Finding::warn("identity b", "is used by nobody", "delete it"),
            Finding::fail("identity c", "its Secret is missing", "make it"),
        ];
        report.add("identities", "pools use them", lines);
        report.add("pools", "why", Vec::new());
        report
    }

    #[test]
    fn every_line_says_how_it_stands_and_what_to_do() {
        let wanted = "\
api
  ok    the API: v1.33 answers
identities
  ok    identity a: arn:aws:sts::1:user/a
  warn  identity b: is used by nobody
        -> delete it
  FAIL  identity c: its Secret is missing
        -> make it
        why it matters: pools use them
pools
  -     nothing to look at

2 ok, 1 to know, 1 broken
";
        assert_eq!(text(&report()), wanted);
    }

    #[test]
    fn programs_get_the_same() {
        let json = json(&report());
        assert_eq!(
            json["summary"],
            serde_json::json!({ "ok": 2, "warn": 1, "fail": 1 })
        );
        let broken = &json["checks"][1]["findings"][2];
        assert_eq!(broken["level"], "fail");
        assert_eq!(broken["remedy"], "make it");
        assert!(json["checks"][0]["findings"][0].get("remedy").is_none());
    }
}
