//! `x-kubernetes-validations`: rules in CEL, compiled once and evaluated on every write.
//!
//! In: a new object, the old one where there is one, and the parsed schema. Out: one
//! [`FieldError`] for each rule that doesn't hold. A rule that mentions `oldSelf` runs only where
//! the old value can be found: by name in objects, by key in maps and lists of type `map`, not in
//! other lists. A rule that can't be evaluated counts as broken (closed, never open).

mod cost;
mod declared;
mod expression;
mod functions;
mod library;
mod program;
mod types;
mod values;

use std::sync::Arc;

use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::{Context, IdedExpr, Value as Cel};
use serde_json::Value;

use super::correlate::ListIndex;
use super::field_error::{FieldError, FieldErrorKind};
use super::path::Path;
use super::structural::{JsonType, ListType, Node};

pub(crate) use declared::{Declared, compile};
pub(crate) use expression::Expression;
use values::{reason, to_cel, to_cel_beside};

/// The rules of one node.
#[derive(Clone, Default)]
pub(crate) struct RuleSet {
    declared: Vec<Declared>,
    compiled: Arc<[Rule]>,
}

/// A compiled rule.
struct Rule {
    program: IdedExpr,
    message_program: Option<IdedExpr>,
    declared: Declared,
    uses_old: bool,
    kind: FieldErrorKind,
}

impl RuleSet {
    /// Rules still to be compiled.
    pub(crate) fn declared(declared: Vec<Declared>) -> Self {
        Self {
            declared,
            compiled: Arc::from([]),
        }
    }

    /// Whether there is no rule.
    pub(crate) fn is_empty(&self) -> bool {
        self.declared.is_empty()
    }
}

thread_local! {
    /// The functions of Kubernetes' CEL libraries; registering them for each object would cost
    /// more than most rules.
    static LIBRARIES: Context<'static> = library::context();
}

/// Evaluates every rule of an object.
pub(crate) fn evaluate(
    new: &Value,
    old: Option<&Value>,
    root: &Node,
    errors: &mut Vec<FieldError>,
) {
    if !root.rules_below {
        return;
    }
    let mut walk = || {
        LIBRARIES.with(|libraries| {
            let mut walk = Walk { libraries, errors };
            walk.node(new, old, root, &Path::Root);
        });
    };
    if !root.deep_rules {
        walk();
    } else if let Err(reason) = program::with_large_stack(walk) {
        errors.push(FieldError::new(FieldErrorKind::Internal, "", None, reason));
    }
}

struct Walk<'a> {
    libraries: &'a Context<'static>,
    errors: &'a mut Vec<FieldError>,
}

impl Walk<'_> {
    fn node(&mut self, new: &Value, old: Option<&Value>, node: &Node, path: &Path<'_>) {
        if !node.rules_below {
            return;
        }
        if !node.rules.compiled.is_empty() && !new.is_null() {
            self.rules(new, old, node, path);
        }
        match new {
            Value::Object(map) => {
                for (name, child) in map {
                    let Some(below) = node.child(name) else {
                        continue;
                    };
                    if !below.rules_below {
                        continue;
                    }
                    let old_child = old.and_then(|old| old.get(name));
                    let named = node.properties.contains_key(name);
                    let at = if named {
                        path.field(name)
                    } else {
                        path.key(name)
                    };
                    self.node(child, old_child, below, &at);
                }
            }
            Value::Array(list) => self.list(list, old, node, path),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn list(&mut self, list: &[Value], old: Option<&Value>, node: &Node, path: &Path<'_>) {
        let Some(items) = node.items.as_deref().filter(|items| items.rules_below) else {
            return;
        };
        let keys = match node.list_type() {
            ListType::Map(keys) => Some(keys),
            ListType::Set | ListType::Atomic => None,
        };
        let old_list = old.and_then(Value::as_array);
        let index = match (keys, old_list) {
            (Some(keys), Some(old_list)) => Some((keys, ListIndex::new(old_list, keys, items))),
            _ => None,
        };
        for (position, child) in list.iter().enumerate() {
            let old_child = index
                .as_ref()
                .and_then(|(keys, index)| index.find(child, keys, items));
            self.node(child, old_child, items, &path.index(position));
        }
    }

    fn rules(&mut self, new: &Value, old: Option<&Value>, node: &Node, path: &Path<'_>) {
        let unchanged = old == Some(new);
        let due = |rule: &&Rule| {
            if rule.uses_old {
                old.is_some() || rule.declared.optional_old_self == Some(true)
            } else {
                // What held before holds still; what broke before is let through.
                !unchanged || rule.declared.optional_old_self == Some(true)
            }
        };
        let mut rules = node.rules.compiled.iter().filter(due).peekable();
        if rules.peek().is_none() {
            return;
        }
        let mut scope = self.libraries.new_inner_scope();
        scope.add_variable_from_value("self", to_cel(new, Some(node)));
        let old_value = old.map(|old| to_cel_beside(old, new, node));
        for rule in rules {
            let mut inner = scope.new_inner_scope();
            if rule.uses_old || rule.declared.optional_old_self.is_some() {
                bind_old(&mut inner, rule, old_value.as_ref());
            }
            self.rule(rule, &inner, new, node, path);
        }
    }

    fn rule(
        &mut self,
        rule: &Rule,
        scope: &Context<'_>,
        new: &Value,
        node: &Node,
        path: &Path<'_>,
    ) {
        let detail = match program::run(&rule.program, scope) {
            Ok(Cel::Bool(true)) => return,
            Ok(Cel::Bool(false)) => message(rule, scope),
            Ok(_) => {
                self.not_evaluated(rule, node, new, path, "the rule's answer isn't a boolean");
                return;
            }
            Err(error) => {
                self.not_evaluated(rule, node, new, path, &reason(&error));
                return;
            }
        };
        let at = rule.declared.field_path.as_str();
        let field = if at.is_empty() {
            path.to_string()
        } else {
            below(path, at)
        };
        self.errors
            .push(FieldError::new(rule.kind, field, shown_value(new), detail));
    }

    fn not_evaluated(
        &mut self,
        rule: &Rule,
        node: &Node,
        new: &Value,
        path: &Path<'_>,
        reason: &str,
    ) {
        let written = rule.declared.message.as_deref().unwrap_or_default().trim();
        let source = if written.is_empty() {
            rule.declared.rule.trim()
        } else {
            written
        };
        let detail = format!("{reason} evaluating rule: {source}");
        let kind = FieldErrorKind::Invalid;
        let shown = Some(Value::from(type_of(new, node)));
        self.errors
            .push(FieldError::new(kind, path.to_string(), shown, detail));
    }
}

/// Scalars are shown, objects and lists are left out.
fn shown_value(value: &Value) -> Option<Value> {
    (!value.is_object() && !value.is_array()).then(|| value.clone())
}

/// The type that the schema names, else that of the value.
fn type_of(value: &Value, node: &Node) -> &'static str {
    node.json_type
        .map_or_else(|| super::values::type_name(value), JsonType::name)
}

fn below(path: &Path<'_>, field_path: &str) -> String {
    let base = path.to_string();
    let field_path = field_path.replace("['", ".").replace("']", "");
    if base.is_empty() {
        field_path.trim_start_matches('.').to_owned()
    } else {
        format!("{base}{field_path}")
    }
}

fn bind_old(scope: &mut Context<'_>, rule: &Rule, old: Option<&Cel>) {
    if rule.declared.optional_old_self == Some(true) {
        let optional = match old {
            Some(old) => OptionalValue::of(old.clone()),
            None => OptionalValue::none(),
        };
        scope.add_variable_from_value("oldSelf", Cel::Opaque(Arc::new(optional)));
    } else if let Some(old) = old {
        scope.add_variable_from_value("oldSelf", old.clone());
    }
}

/// The rule's message: the expression's, else the written one, else the rule itself.
fn message(rule: &Rule, scope: &Context<'_>) -> String {
    if let Some(program) = &rule.message_program
        && let Ok(Cel::String(text)) = program::run(program, scope)
    {
        let text = text.trim();
        if !text.is_empty() && !text.contains('\n') && text.len() <= MAX_MESSAGE {
            return text.to_owned();
        }
    }
    let written = rule.declared.message.as_deref().unwrap_or_default().trim();
    if written.is_empty() {
        return format!("failed rule: {}", rule.declared.rule.trim());
    }
    written.to_owned()
}

/// Longest message that an expression may give: Kubernetes' own bound (5 KiB).
const MAX_MESSAGE: usize = 5 << 10;
