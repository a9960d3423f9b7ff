//! Expressions outside of schemas, such as the match conditions of webhooks: variables of any
//! shape, an answer of true or false.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{IdedExpr, Value as Cel};
use serde_json::Value;

use super::types::{Scope, Type, check};
use super::values::{reason, to_cel};
use super::{LIBRARIES, program};

/// A compiled expression.
#[derive(Clone)]
pub(crate) struct Expression {
    program: IdedExpr,
    /// Whether it needs a large stack.
    deep: bool,
}

impl Expression {
    /// Compiles an expression that may name these variables.
    ///
    /// # Errors
    /// Why it can't be one.
    pub(crate) fn compile(source: &str, variables: &[&str]) -> Result<Self, String> {
        let compiled = program::with_large_stack(|| {
            let program = program::parse(source)?;
            let scope: Scope<'_> = variables
                .iter()
                .map(|name| ((*name).to_owned(), Type::Dyn))
                .collect();
            let mistake = |why| format!("compilation failed: ERROR: <input>: {why}");
            match check(&program, &scope).map_err(mistake)? {
                Type::Bool | Type::Dyn => {}
                _ => return Err("must evaluate to bool".to_owned()),
            }
            let deep = program::is_deep(&program);
            Ok(Self { program, deep })
        });
        compiled.and_then(|compiled| compiled)
    }

    /// Evaluates expressions over the same variables: for each, whether it holds.
    ///
    /// # Errors
    /// For each, why it can't be evaluated.
    pub(crate) fn hold(
        expressions: &[&Self],
        variables: &[(&str, &Value)],
    ) -> Vec<Result<bool, String>> {
        let run = || {
            LIBRARIES.with(|libraries| {
                let mut scope = libraries.new_inner_scope();
                for (name, value) in variables {
                    scope.add_variable_from_value(*name, plain(value));
                }
                let answer = |expression: &&Self| match program::run(&expression.program, &scope) {
                    Ok(Cel::Bool(holds)) => Ok(holds),
                    Ok(_) => Err("the answer is not a boolean".to_owned()),
                    Err(error) => Err(reason(&error)),
                };
                expressions.iter().map(answer).collect()
            })
        };
        if !expressions.iter().any(|expression| expression.deep) {
            return run();
        }
        program::with_large_stack(run)
            .unwrap_or_else(|why| expressions.iter().map(|_| Err(why.clone())).collect())
    }
}

/// A value whose fields have their own names, whatever they are.
fn plain(value: &Value) -> Cel {
    match value {
        Value::Array(list) => Cel::List(Arc::new(list.iter().map(plain).collect())),
        Value::Object(map) => {
            let fields: HashMap<Key, Cel> = map
                .iter()
                .map(|(name, value)| (Key::String(Arc::new(name.clone())), plain(value)))
                .collect();
            Cel::Map(Map {
                map: Arc::new(fields),
            })
        }
        scalar => to_cel(scalar, None),
    }
}

#[cfg(test)]
mod tests {
    use super::Expression;
    use serde_json::json;

    fn holds(source: &str) -> Result<bool, String> {
        let object =
            json!({"metadata": {"namespace": "x", "labels": {"a-b/c": "d"}}, "spec": {"n": 3}});
        let expression = Expression::compile(source, &["object"])?;
        Expression::hold(&[&expression], &[("object", &object)]).remove(0)
    }

    #[test]
    fn fields_are_named_as_they_are() {
        for source in [
            "object.metadata.namespace == 'x'",
            "object.metadata.labels['a-b/c'] == 'd'",
            "object.spec.n > 2",
            "!has(object.spec.m)",
            "'a-b/c' in object.metadata.labels",
        ] {
            assert_eq!(holds(source), Ok(true), "{source}");
        }
        assert_eq!(holds("object.spec.n > 3"), Ok(false));
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(holds("object.spec.m == 1"), Err("no such key: m".into()));
        for (source, part) in [
            ("object.spec.n", "must evaluate"),
            ("request.name == ''", "undeclared reference to 'request'"),
            ("object.(", "compilation failed"),
            ("1", "must evaluate to bool"),
        ] {
            let why = holds(source).expect_err(source);
            let fits = why.contains(part) || why.contains("not a boolean");
            assert!(fits, "{source}: {why}");
        }
    }
}
