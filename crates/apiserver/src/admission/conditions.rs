//! Match conditions of a webhook: CEL over the request. Pure.

use serde_json::Value;

use crate::object::text;
use crate::schema::Expression;

/// What conditions may name.
pub(crate) const VARIABLES: [&str; 3] = ["object", "oldObject", "request"];

/// The conditions of one webhook.
#[derive(Default)]
pub(crate) struct Conditions(Vec<Condition>);

struct Condition {
    source: String,
    /// Configurations are validated, so that it compiles unless the configuration is older.
    compiled: Result<Expression, String>,
}

/// What the conditions of a webhook decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Ask,
    Skip,
    /// A condition can't be evaluated, and the webhook lets nothing pass unseen.
    Refuse(String),
}

impl Conditions {
    /// Compiles the entries of `matchConditions`.
    pub(crate) fn of(conditions: &[Value]) -> Self {
        let condition = |condition: &Value| {
            let source = text(condition, &["expression"]);
            Condition {
                source: source.trim().to_owned(),
                compiled: Expression::compile(source, &VARIABLES),
            }
        };
        Self(conditions.iter().map(condition).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One condition that doesn't hold skips the webhook, whatever the others say. One that can't
    /// be evaluated does what a failing webhook does.
    pub(crate) fn decide(&self, variables: &[(&str, &Value)], ignores_failure: bool) -> Decision {
        let mut problems = Vec::new();
        for condition in &self.0 {
            let answer = match &condition.compiled {
                Ok(expression) => Expression::hold(&[expression], variables).remove(0),
                Err(why) => Err(why.clone()),
            };
            match answer {
                Ok(true) => {}
                Ok(false) => return Decision::Skip,
                Err(why) => {
                    let source = &condition.source;
                    problems.push(format!("expression '{source}' resulted in error: {why}"));
                }
            }
        }
        match problems.as_slice() {
            [] => Decision::Ask,
            _ if ignores_failure => Decision::Skip,
            [only] => Decision::Refuse(only.clone()),
            several => Decision::Refuse(format!("[{}]", several.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Conditions, Decision};
    use serde_json::json;

    fn decide(sources: &[&str], ignores_failure: bool) -> Decision {
        let conditions: Vec<_> = sources
            .iter()
            .map(|source| json!({"name": "c", "expression": source}))
            .collect();
        let request = json!({"operation": "CREATE", "userInfo": {"username": "me"}});
        let variables = [
            ("object", &json!({"spec": {"n": 1}})),
            ("oldObject", &json!(null)),
            ("request", &request),
        ];
        Conditions::of(&conditions).decide(&variables, ignores_failure)
    }

    #[test]
    fn every_condition_must_hold() {
        let mine = "request.userInfo.username == 'me'";
        assert_eq!(decide(&[], false), Decision::Ask);
        assert_eq!(decide(&[mine, "object.spec.n == 1"], false), Decision::Ask);
        assert_eq!(decide(&[mine, "oldObject != null"], false), Decision::Skip);
    }

    #[test]
    fn an_error_counts_as_the_failure_policy_says_unless_another_condition_skips() {
        let broken = "object.spec.m == 1";
        let why = "expression 'object.spec.m == 1' resulted in error: no such key: m";
        assert_eq!(decide(&[broken], false), Decision::Refuse(why.into()));
        let both = format!("[{why}, {why}]");
        assert_eq!(decide(&[broken, broken], false), Decision::Refuse(both));
        assert_eq!(decide(&[broken], true), Decision::Skip);
        assert_eq!(decide(&[broken, "false"], false), Decision::Skip);
    }
}
