//! Label selectors: `a=b,c!=d,e in (f,g),h,!i`.

mod parser;

use serde_json::Value;

use crate::status_error::{Failure, Outcome};

/// A parsed label selector; empty selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    /// Parses the text of a `labelSelector` option.
    pub(crate) fn parse(text: &str) -> Outcome<Self> {
        let requirements = parser::parse(text).map_err(Failure::bad_request)?;
        Ok(Self { requirements })
    }

    /// A selector as objects carry it: `matchLabels` and `matchExpressions`.
    pub(crate) fn from_object(selector: &Value) -> Self {
        let mut requirements = Vec::new();
        let labels = selector.get("matchLabels").and_then(Value::as_object);
        for (key, value) in labels.into_iter().flatten() {
            let value = value.as_str().unwrap_or_default().to_owned();
            requirements.push(Requirement {
                key: key.clone(),
                test: Test::In(vec![value]),
            });
        }
        let expressions = selector.get("matchExpressions").and_then(Value::as_array);
        for expression in expressions.into_iter().flatten() {
            let text = |field: &str| crate::object::text(expression, &[field]).to_owned();
            let values = expression.get("values").and_then(Value::as_array);
            let values: Vec<String> = values
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            let test = match text("operator").as_str() {
                "In" => Test::In(values),
                "NotIn" => Test::NotIn(values),
                "Exists" => Test::Exists,
                _ => Test::Absent,
            };
            requirements.push(Requirement {
                key: text("key"),
                test,
            });
        }
        Self { requirements }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Labels that whatever is selected carries.
    pub(crate) fn equalities(&self) -> Vec<(&str, &str)> {
        let requirements = self.requirements.iter();
        requirements
            .filter_map(|requirement| match &requirement.test {
                Test::In(values) => match values.as_slice() {
                    [value] => Some((requirement.key.as_str(), value.as_str())),
                    _ => None,
                },
                _ => None,
            })
            .collect()
    }

    /// Whether the labels behind `label` satisfy every requirement.
    pub(crate) fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = label(&requirement.key);
            match &requirement.test {
                Test::In(values) => value.is_some_and(|v| values.iter().any(|wanted| wanted == v)),
                Test::NotIn(values) => {
                    value.is_none_or(|v| !values.iter().any(|wanted| wanted == v))
                }
                Test::Exists => value.is_some(),
                Test::Absent => value.is_none(),
                Test::Greater(than) => number(value).is_some_and(|n| n > *than),
                Test::Less(than) => number(value).is_some_and(|n| n < *than),
            }
        })
    }
}

fn number(value: Option<&str>) -> Option<i64> {
    value.and_then(|value| value.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let selector = LabelSelector::parse(selector).expect("a valid selector");
        selector.matches(|key| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v))
    }

    #[test]
    fn every_operator_decides() {
        let labels = [("a", "1"), ("tier", "web"), ("in", "x")];
        for (selector, expected) in [
            ("", true),
            ("a=1", true),
            ("a==2", false),
            ("a!=2,tier", true),
            ("missing!=x", true),
            ("tier in (db, web)", true),
            ("tier notin (db,web)", false),
            ("tier in (,web)", true),
            ("!missing", true),
            ("! a", false),
            ("a>0,a<2", true),
            ("a > 1", false),
            ("a=", false),
            // Words of the language are keys and values like any other where one is due.
            ("in in (x,notin)", true),
            ("in=notin", false),
        ] {
            assert_eq!(selects(selector, &labels), expected, "{selector}");
        }
    }

    #[test]
    fn only_what_every_selected_object_carries_is_an_equality() {
        let selector = LabelSelector::parse("a=1,b in (2),c in (3,4),d!=5,e,!f").expect("valid");
        assert_eq!(selector.equalities(), [("a", "1"), ("b", "2")]);
    }

    #[test]
    fn nonsense_is_refused() {
        for selector in [
            "a=b,,c", "a in b", "a=b c=d", "-=x", "a>x", "!a=b", "a in (b", "(", "=>",
        ] {
            assert!(LabelSelector::parse(selector).is_err(), "{selector}");
        }
    }
}
