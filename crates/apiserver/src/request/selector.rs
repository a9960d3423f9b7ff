//! Label selectors: `a=b,c!=d,e in (f,g),h,!i`.

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
        let failed =
            |why: &str| Failure::bad_request(format!("unable to parse requirement: {why}"));
        let mut requirements = Vec::new();
        for part in split(text) {
            if !part.is_empty() {
                requirements.push(requirement(part).map_err(|why| failed(&why))?);
            } else if !text.trim().is_empty() {
                return Err(failed("found ',', expected: identifier"));
            }
        }
        Ok(Self { requirements })
    }

    /// A selector as objects carry it: `matchLabels` and `matchExpressions`.
    pub(crate) fn from_object(selector: &serde_json::Value) -> Self {
        use serde_json::Value;
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

/// Splits at commas that are not inside parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(move |letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
    .map(str::trim)
    .collect()
}

fn requirement(part: &str) -> Result<Requirement, String> {
    if let Some(key) = part.strip_prefix('!') {
        return Ok(Requirement {
            key: valid_key(key.trim())?,
            test: Test::Absent,
        });
    }
    for (operator, negated) in [("!=", true), ("==", false), ("=", false)] {
        if let Some((key, value)) = part.split_once(operator)
            && !key.contains('(')
        {
            let values = vec![valid_value(value.trim())?];
            let test = if negated {
                Test::NotIn(values)
            } else {
                Test::In(values)
            };
            return Ok(Requirement {
                key: valid_key(key.trim())?,
                test,
            });
        }
    }
    if let Some(comparison) = comparison(part) {
        return comparison;
    }
    let Some((key, rest)) = part.split_once(char::is_whitespace) else {
        return Ok(Requirement {
            key: valid_key(part)?,
            test: Test::Exists,
        });
    };
    let rest = rest.trim();
    let (negated, list) = if let Some(list) = rest.strip_prefix("notin") {
        (true, list)
    } else if let Some(list) = rest.strip_prefix("in") {
        (false, list)
    } else {
        return Err(format!(
            "found '{rest}', expected: in, notin, =, ==, !=, gt, lt"
        ));
    };
    let inner = list
        .trim()
        .strip_prefix('(')
        .and_then(|list| list.strip_suffix(')'));
    let inner = inner.ok_or_else(|| format!("found '{}' expected: '('", list.trim()))?;
    let values: Result<Vec<String>, String> = inner
        .split(',')
        .map(|value| valid_value(value.trim()))
        .collect();
    let test = if negated {
        Test::NotIn(values?)
    } else {
        Test::In(values?)
    };
    Ok(Requirement {
        key: valid_key(key)?,
        test,
    })
}

/// `key>number`, `key<number`.
fn comparison(part: &str) -> Option<Result<Requirement, String>> {
    let (at, operator) = part
        .char_indices()
        .find(|(_, letter)| matches!(letter, '>' | '<'))?;
    let (key, value) = (part.get(..at)?.trim(), part.get(at + 1..)?.trim());
    let number = value.parse().map_err(|_| {
        format!(
            "values: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an \
             integer"
        )
    });
    Some(number.and_then(|number| {
        let test = if operator == '>' {
            Test::Greater(number)
        } else {
            Test::Less(number)
        };
        Ok(Requirement {
            key: valid_key(key)?,
            test,
        })
    }))
}

fn valid_key(key: &str) -> Result<String, String> {
    match crate::metadata::label_key_problems(key).first() {
        None => Ok(key.to_owned()),
        Some(why) => Err(format!("key: Invalid value: {key:?}: {why}")),
    }
}

fn valid_value(value: &str) -> Result<String, String> {
    match crate::metadata::label_value_problem(value) {
        None => Ok(value.to_owned()),
        Some(why) => Err(format!("values[0]: Invalid value: {value:?}: {why}")),
    }
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
        let labels = [("a", "1"), ("tier", "web")];
        for (selector, expected) in [
            ("", true),
            ("a=1", true),
            ("a==2", false),
            ("a!=2,tier", true),
            ("missing!=x", true),
            ("tier in (db, web)", true),
            ("tier notin (db,web)", false),
            ("!missing", true),
            ("!a", false),
            ("a>0,a<2", true),
            ("a > 1", false),
        ] {
            assert_eq!(selects(selector, &labels), expected, "{selector}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for selector in ["a=b,,c", "a in b", "a=b c=d", "-=x", "a>x"] {
            assert!(LabelSelector::parse(selector).is_err(), "{selector}");
        }
    }
}
