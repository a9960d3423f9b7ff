//! What a cloud said becomes a line. Pure.

use remuda_cloud::examined::{Answer, Fact, Need};

use super::finding::Finding;

/// Below this many free addresses a subnet is worth a warning. Ours.
const FEW_ADDRESSES: i64 = 16;
/// Below this share of a quota its rest is worth a warning: one in ten. Ours.
const FEW_OF: i64 = 10;

/// The lines of one pool's facts of a kind. What is fine and needs no figure of its own becomes one
/// line; `missing` is how many machines the pool still lacks.
pub(super) fn lines(pool: &str, need: Need, facts: &[Fact], missing: i64) -> Vec<Finding> {
    let mut lines: Vec<Finding> = Vec::new();
    let mut allowed = 0;
    for fact in facts.iter().filter(|fact| fact.need == need) {
        let is_allowed = matches!(fact.answer, Answer::Yes(_)) && need == Need::Permission;
        if is_allowed {
            allowed += 1;
            continue;
        }
        let line = line(pool, fact, missing);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if allowed > 0 {
        let found = format!("{allowed} kinds of calls are allowed");
        lines.insert(0, Finding::ok(pool, found));
    }
    lines
}

fn line(pool: &str, fact: &Fact, missing: i64) -> Finding {
    let subject = format!("{pool}: {}", fact.subject);
    match &fact.answer {
        Answer::Yes(found) => Finding::ok(subject, found),
        Answer::No(why) => Finding::fail(subject, why, remedy(fact)),
        Answer::Unknown(failure) => Finding::warn(
            subject,
            format!("could not be asked: {failure}"),
            "allow the call to the pool's identity, or run again when the cloud answers",
        ),
        Answer::Left { left, of } => {
            let found = match of {
                Some(of) => format!("{left} of {of} left"),
                None => format!("{left} left"),
            };
            let few = match of {
                Some(of) => of / FEW_OF,
                None => FEW_ADDRESSES,
            };
            if *left <= 0 || *left < missing {
                let found = if missing > 0 {
                    format!("{found}, and the pool lacks {missing} machines")
                } else {
                    found
                };
                Finding::fail(subject, found, remedy(fact))
            } else if *left < few {
                Finding::warn(subject, found, remedy(fact))
            } else {
                Finding::ok(subject, found)
            }
        }
    }
}

fn remedy(fact: &Fact) -> String {
    let subject = &fact.subject;
    match fact.need {
        Need::Permission => format!("allow {subject} to the pool's identity"),
        Need::Image => {
            "correct the pool's image variables, or publish the image where they look".to_owned()
        }
        Need::Quota => format!("ask the cloud for a larger quota: {subject}"),
        Need::Addresses => "give the pool another subnet, or free addresses of this one".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use remuda_plan::error::{CloudFailure, FailureClass};

    use super::*;
    use crate::doctor::finding::Level::{Fail, Ok, Warn};

    fn left(need: Need, left: i64, of: Option<i64>) -> Fact {
        Fact::new(need, "it", Answer::Left { left, of })
    }

    fn level(fact: Fact, missing: i64) -> crate::doctor::finding::Level {
        let lines = lines("pool a/b", fact.need, &[fact], missing);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].remedy.is_some(), lines[0].level != Ok);
        lines[0].level
    }

    #[test]
    fn what_is_left_must_do_for_what_is_missing() {
        let addresses = |free| left(Need::Addresses, free, None);
        assert_eq!(level(addresses(200), 3), Ok);
        assert_eq!(level(addresses(15), 3), Warn);
        assert_eq!(level(addresses(2), 3), Fail);
        assert_eq!(level(addresses(0), 0), Fail);
        let quota = |rest| left(Need::Quota, rest, Some(100));
        assert_eq!(level(quota(10), 0), Ok);
        assert_eq!(level(quota(9), 0), Warn);
        assert_eq!(level(quota(0), 0), Fail);
        assert_eq!(level(quota(9), 10), Fail);
    }

    #[test]
    fn what_is_denied_fails_and_what_is_not_known_warns() {
        let failure = |class| CloudFailure {
            class,
            call: "ec2:DescribeImages".to_owned(),
            code: "X".to_owned(),
            message: "no".to_owned(),
            retry_after_seconds: None,
        };
        let of = |class| Fact::permission::<()>("ec2:DescribeImages", Err(&failure(class)));
        assert_eq!(level(of(FailureClass::Denied), 0), Fail);
        assert_eq!(level(of(FailureClass::Transient), 0), Warn);
        let none = Fact::new(Need::Image, "ubuntu-*", Answer::No("nothing".to_owned()));
        assert_eq!(level(none, 0), Fail);
    }

    #[test]
    fn calls_that_are_allowed_are_one_line_and_equal_lines_too() {
        let yes = |call: &str| Fact::permission(call, std::result::Result::Ok(()));
        let no = || Fact::new(Need::Permission, "c", Answer::No("denied".to_owned()));
        let facts = [yes("a"), yes("b"), no(), no()];
        let lines = lines("pool a/b", Need::Permission, &facts, 0);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].found, "2 kinds of calls are allowed");
        assert_eq!(
            lines[1].remedy.as_deref(),
            Some("allow c to the pool's identity")
        );
    }
}
