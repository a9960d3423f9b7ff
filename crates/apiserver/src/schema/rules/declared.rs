//! Rules as a definition writes them, and what a definition is refused for.

use std::sync::Arc;

use kube_cel::cel::IdedExpr;
use serde::Deserialize;
use serde_json::{Value, json};

use super::types::{Scope, Type, check};
use super::{Rule, cost, program};
use crate::schema::field_error::{FieldError, FieldErrorKind};
use crate::schema::structural::{Additional, ListType, Node, NodeRef};

/// A rule as the schema writes it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Declared {
    pub(super) rule: String,
    pub(super) message: Option<String>,
    pub(super) message_expression: String,
    pub(super) reason: Option<String>,
    pub(super) field_path: String,
    pub(super) optional_old_self: Option<bool>,
}

impl Declared {
    /// The rule as messages show it.
    fn shown(&self) -> Value {
        let text = format!(
            "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\
             \"FieldPath\":{},\"OptionalOldSelf\":{}}}",
            json!(self.rule),
            json!(self.message.as_deref().unwrap_or_default()),
            json!(self.message_expression),
            json!(self.reason),
            json!(self.field_path),
            json!(self.optional_old_self),
        );
        // The keys keep their order only as text, which is safe in a page.
        let escaped = text.replace('&', "\\u0026");
        Value::String(escaped.replace('<', "\\u003c").replace('>', "\\u003e"))
    }
}

/// Compiles the rules of a node and all below.
///
/// # Errors
/// Every reason why a rule can't be part of a definition.
pub(crate) fn compile(node: &mut Node, at: &str) -> Result<(), Vec<FieldError>> {
    if !node.rules_below {
        return Ok(());
    }
    let compiled = program::with_large_stack(|| {
        let mut compiler = Compiler {
            errors: Vec::new(),
            costs: Vec::new(),
            deep: false,
        };
        compiler.node(
            node,
            Place {
                at,
                uncorrelated: None,
                entries: 1,
            },
        );
        compiler.total(at);
        node.deep_rules = compiler.deep;
        compiler.errors
    });
    match compiled {
        Ok(errors) if errors.is_empty() => Ok(()),
        Ok(errors) => Err(errors),
        Err(reason) => Err(vec![FieldError::new(
            FieldErrorKind::Internal,
            at,
            None,
            reason,
        )]),
    }
}

struct Compiler {
    errors: Vec<FieldError>,
    /// Where the rules are, and what they cost at worst.
    costs: Vec<(String, u64)>,
    /// Whether any rule needs a large stack.
    deep: bool,
}

/// Where a schema stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    at: &'a str,
    /// The list above whose entries have no old selves.
    uncorrelated: Option<&'a str>,
    /// How many values there can be.
    entries: u64,
}

impl Compiler {
    fn node(&mut self, node: &mut Node, place: Place<'_>) {
        if !node.rules_below {
            return;
        }
        let Place {
            at,
            uncorrelated,
            entries,
        } = place;
        let declared = std::mem::take(&mut node.rules.declared);
        let mut compiled = Vec::with_capacity(declared.len());
        for (index, rule) in declared.iter().enumerate() {
            let at = format!("{at}.x-kubernetes-validations[{index}]");
            compiled.extend(self.rule(rule, node, Place { at: &at, ..place }));
        }
        node.rules.declared = declared;
        node.rules.compiled = compiled.into();
        let below = entries.saturating_mul(cost::entries(node));
        let keyed = matches!(node.list_type, Some(ListType::Map(_)));
        let of_items = if keyed {
            uncorrelated
        } else {
            Some(uncorrelated.unwrap_or(at))
        };
        for (name, child) in &mut node.properties {
            let at = format!("{at}.properties[{name}]");
            self.child(child, Place { at: &at, ..place });
        }
        if let Additional::Schema(child) = &mut node.additional {
            let at = format!("{at}.additionalProperties");
            self.child(
                child,
                Place {
                    at: &at,
                    entries: below,
                    ..place
                },
            );
        }
        if let Some(child) = &mut node.items {
            let at = format!("{at}.items");
            self.child(
                child,
                Place {
                    at: &at,
                    uncorrelated: of_items,
                    entries: below,
                },
            );
        }
    }

    fn child(&mut self, child: &mut NodeRef, place: Place<'_>) {
        if let NodeRef::Own(node) = child
            && node.rules_below
        {
            self.node(Arc::make_mut(node), place);
        }
    }

    /// Refuses an expression that costs too much, and remembers its cost.
    fn budget(&mut self, name: &str, program: &IdedExpr, node: &Node, at: &str, entries: u64) {
        let cost = cost::estimate(program, node).saturating_mul(entries);
        if let Some(excess) = cost::excess(name, cost, cost::RULE_LIMIT) {
            self.errors.push(FieldError::forbidden(at, excess));
        }
        self.costs.push((at.to_owned(), cost));
    }

    fn total(&mut self, at: &str) {
        let total = self
            .costs
            .iter()
            .fold(0, |sum: u64, (_, cost)| sum.saturating_add(*cost));
        let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        let Some(excess) = cost::excess(name, total, cost::TOTAL_LIMIT) else {
            return;
        };
        let share = cost::TOTAL_LIMIT / 100;
        for (at, _) in self.costs.iter().filter(|(_, cost)| *cost > share) {
            let detail = "contributed to estimated rule cost total exceeding cost limit \
                          for entire OpenAPIv3 schema";
            self.errors.push(FieldError::forbidden(at, detail));
        }
        self.errors.push(FieldError::forbidden(at, excess));
    }

    fn rule(&mut self, declared: &Declared, node: &Node, place: Place<'_>) -> Option<Rule> {
        let Place {
            at,
            uncorrelated,
            entries,
        } = place;
        let before = self.errors.len();
        self.message(declared, at);
        let kind = self.reason(declared, at)?;
        if !declared.field_path.is_empty() && !is_field(node, &declared.field_path) {
            let path = Value::from(declared.field_path.clone());
            let at = format!("{at}.fieldPath");
            self.errors
                .push(FieldError::invalid(at, path, "must be a valid path"));
        }
        if declared.rule.trim().is_empty() {
            let at = format!("{at}.rule");
            self.errors
                .push(FieldError::required(at, "rule is not specified"));
            return None;
        }
        let program = self.program(&declared.rule, declared, node, &format!("{at}.rule"))?;
        let rule_at = format!("{at}.rule");
        self.budget("estimated rule cost", &program, node, &rule_at, entries);
        let uses_old = program.references().has_variable("oldSelf");
        if let Some(list) = uncorrelated.filter(|_| uses_old) {
            let detail = format!(
                "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
            );
            let rule = Value::from(declared.rule.clone());
            self.errors
                .push(FieldError::invalid(format!("{at}.rule"), rule, detail));
        }
        if let Some(optional) = declared.optional_old_self.filter(|_| !uses_old) {
            let detail = "may not be set if oldSelf is not used in rule";
            let at = format!("{at}.optionalOldSelf");
            self.errors
                .push(FieldError::invalid(at, optional.into(), detail));
        }
        let message_program = if declared.message_expression.trim().is_empty() {
            None
        } else {
            let at = format!("{at}.messageExpression");
            let message = self.program(&declared.message_expression, declared, node, &at)?;
            self.budget(
                "estimated messageExpression cost",
                &message,
                node,
                &at,
                entries,
            );
            Some(message)
        };
        if self.errors.len() > before {
            return None;
        }
        Some(Rule {
            program,
            message_program,
            declared: declared.clone(),
            uses_old,
            kind,
        })
    }

    fn message(&mut self, declared: &Declared, at: &str) {
        let at = format!("{at}.message");
        match declared
            .message
            .as_deref()
            .filter(|message| !message.is_empty())
        {
            Some(message) if message.trim().is_empty() => {
                let detail = "must be non-empty if specified";
                self.errors
                    .push(FieldError::invalid(at, message.into(), detail));
            }
            Some(message) if message.trim().contains(['\n', '\r']) => {
                let detail = "must not contain line breaks";
                self.errors
                    .push(FieldError::invalid(at, message.into(), detail));
            }
            None if declared.rule.trim().contains(['\n', '\r']) => {
                let detail = "message must be specified if rule contains line breaks";
                self.errors.push(FieldError::required(at, detail));
            }
            Some(_) | None => {}
        }
    }

    fn reason(&mut self, declared: &Declared, at: &str) -> Option<FieldErrorKind> {
        Some(match declared.reason.as_deref() {
            None | Some("FieldValueInvalid") => FieldErrorKind::Invalid,
            Some("FieldValueForbidden") => FieldErrorKind::Forbidden,
            Some("FieldValueRequired") => FieldErrorKind::Required,
            Some("FieldValueDuplicate") => FieldErrorKind::Duplicate,
            Some(other) => {
                self.errors.push(FieldError::not_supported(
                    format!("{at}.reason"),
                    other.into(),
                    [
                        "FieldValueDuplicate",
                        "FieldValueForbidden",
                        "FieldValueInvalid",
                        "FieldValueRequired",
                    ],
                ));
                return None;
            }
        })
    }

    /// Parses an expression and checks its types: a rule answers with a bool, a message expression
    /// with a string.
    fn program(
        &mut self,
        source: &str,
        declared: &Declared,
        node: &Node,
        at: &str,
    ) -> Option<IdedExpr> {
        let is_rule = source == declared.rule;
        let program = match program::parse(source) {
            Ok(program) => program,
            Err(reason) => {
                self.refuse(at, declared, reason);
                return None;
            }
        };
        self.deep |= program::is_deep(&program);
        let this = Type::of(node).unwrap_or(Type::Dyn);
        let old = match declared.optional_old_self {
            Some(true) => Type::Optional(Box::new(this.clone())),
            _ => this.clone(),
        };
        let scope: Scope<'_> = [("self".to_owned(), this), ("oldSelf".to_owned(), old)].into();
        match check(&program, &scope) {
            Err(mistake) => {
                self.refuse(
                    at,
                    declared,
                    format!("compilation failed: ERROR: <input>: {mistake}"),
                );
            }
            Ok(Type::Bool | Type::Dyn) if is_rule => return Some(program),
            Ok(Type::String | Type::Dyn) if !is_rule => return Some(program),
            Ok(_) if is_rule => {
                let detail = "cel expression must evaluate to a bool";
                self.refuse(at, declared, detail.to_owned());
            }
            Ok(_) => {
                let detail = "messageExpression must evaluate to a string";
                self.refuse(at, declared, detail.to_owned());
            }
        }
        None
    }

    fn refuse(&mut self, at: &str, declared: &Declared, mut detail: String) {
        if at.ends_with(".messageExpression") && detail.starts_with("compilation failed") {
            detail.insert_str(0, "messageExpression ");
        }
        let shown = Some(declared.shown());
        self.errors
            .push(FieldError::new(FieldErrorKind::Invalid, at, shown, detail).raw());
    }
}

/// Whether a path such as `.a['b-c'].d` leads to a field that the schema declares.
fn is_field(node: &Node, path: &str) -> bool {
    let mut node = node;
    let mut rest = path;
    while !rest.is_empty() {
        let (name, tail) = if let Some(quoted) = rest.strip_prefix("['") {
            let Some((name, tail)) = quoted.split_once("']") else {
                return false;
            };
            (name, tail)
        } else if let Some(plain) = rest.strip_prefix('.') {
            let end = plain.find(['.', '[']).unwrap_or(plain.len());
            plain.split_at(end)
        } else {
            return false;
        };
        match node.child(name) {
            Some(child) if !name.is_empty() => node = child,
            _ => return false,
        }
        rest = tail;
    }
    true
}
