//! Types of rules, checked when a definition is made: fields that the schema declares, variables
//! and functions that exist, operands that fit, an answer of the right type.
//!
//! In: a parsed expression and the schema of `self`. Out: the type of its answer, or the first
//! mistake. Where a type can't be known it is [`Type::Dyn`], which fits everything: the checker
//! refuses what can't be right, and leaves the rest to evaluation.

use std::collections::HashMap;
use std::fmt;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr,
};

use super::functions;
use super::values::escape;
use crate::schema::structural::{Additional, JsonType, Node};

/// The one word that CEL keeps for itself and yet selects by.
pub(super) const NAMESPACE: &str = "namespace";

/// The type of a value in a rule.
#[derive(Clone)]
pub(super) enum Type<'a> {
    /// Anything.
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    /// The type of types.
    Meta,
    List(Box<Type<'a>>),
    Map(Box<Type<'a>>),
    /// An object with declared fields.
    Object(&'a Node),
    /// The metadata of an object, of which rules see names only.
    Metadata,
    Optional(Box<Type<'a>>),
    /// A value of a library, for example a quantity.
    Library(&'static str),
}

impl<'a> Type<'a> {
    /// The type of a value with a schema; `None` for values that rules can't see.
    pub(super) fn of(node: &'a Node) -> Option<Self> {
        if node.int_or_string {
            return Some(Self::Dyn);
        }
        Some(match node.json_type? {
            JsonType::Boolean => Self::Bool,
            JsonType::Integer => Self::Int,
            JsonType::Number => Self::Double,
            JsonType::String => match node.checks.format.as_deref() {
                Some("date-time" | "date") => Self::Timestamp,
                Some("duration") => Self::Duration,
                Some("byte") => Self::Bytes,
                _ => Self::String,
            },
            JsonType::Array => Self::List(Box::new(Self::of(node.items.as_deref()?)?)),
            JsonType::Object => match &node.additional {
                Additional::Schema(values) => Self::Map(Box::new(Self::of(values)?)),
                Additional::Absent | Additional::Allowed(_) => Self::Object(node),
            },
        })
    }

    fn field(&self, name: &str) -> Option<Type<'a>> {
        match self {
            Self::Object(node) => {
                if name == "metadata" && node.whole_object {
                    return Some(Type::Metadata);
                }
                let found = node.properties.iter().find(|(field, _)| {
                    escape(field) == name || *field == NAMESPACE && name == NAMESPACE
                });
                Type::of(found?.1)
            }
            Self::Metadata => matches!(name, "name" | "generateName").then_some(Type::String),
            Self::Map(values) => Some((**values).clone()),
            _ => Some(Type::Dyn),
        }
    }

    /// Whether values of the type can be added up.
    pub(super) fn is_summable(&self) -> bool {
        self.is_number() || matches!(self, Self::Duration | Self::Dyn)
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }

    /// Whether a value of one type can equal one of the other.
    pub(super) fn fits(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn | Self::Null, _) | (_, Self::Dyn | Self::Null) => true,
            (Self::List(one), Self::List(other))
            | (Self::Map(one), Self::Map(other))
            | (Self::Optional(one), Self::Optional(other)) => one.fits(other),
            (Self::Object(_) | Self::Metadata | Self::Map(_), Self::Object(_) | Self::Metadata)
            | (Self::Object(_) | Self::Metadata, Self::Map(_)) => true,
            (Self::Library(one), Self::Library(other)) => one == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("dyn"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Timestamp => f.write_str("google.protobuf.Timestamp"),
            Self::Duration => f.write_str("google.protobuf.Duration"),
            Self::Meta => f.write_str("type"),
            Self::List(inner) => write!(f, "list({inner})"),
            Self::Map(inner) => write!(f, "map(string, {inner})"),
            Self::Object(_) | Self::Metadata => f.write_str("object"),
            Self::Optional(inner) => write!(f, "optional_type({inner})"),
            Self::Library(name) => f.write_str(name),
        }
    }
}

/// The variables that an expression sees.
pub(super) type Scope<'a> = HashMap<String, Type<'a>>;

/// The type of an expression.
///
/// # Errors
/// The first mistake, in the words of the rule compiler.
pub(super) fn check<'a>(expr: &IdedExpr, scope: &Scope<'a>) -> Result<Type<'a>, String> {
    match &expr.expr {
        Expr::Unspecified | Expr::Struct(_) => Ok(Type::Dyn),
        Expr::Literal(value) => Ok(literal(value)),
        Expr::Ident(name) => ident(name, scope),
        Expr::Select(select) => check_select(select, scope),
        Expr::Call(call) => check_call(call, scope),
        Expr::Comprehension(comprehension) => check_comprehension(comprehension, scope),
        Expr::List(list) => {
            let mut element: Option<Type<'a>> = None;
            for item in &list.elements {
                let item = check(item, scope)?;
                element = Some(match element {
                    None => item,
                    Some(known) if known.fits(&item) => known,
                    Some(_) => Type::Dyn,
                });
            }
            Ok(Type::List(Box::new(element.unwrap_or(Type::Dyn))))
        }
        Expr::Map(map) => {
            for entry in &map.entries {
                if let EntryExpr::MapEntry(entry) = &entry.expr {
                    check(&entry.key, scope)?;
                    check(&entry.value, scope)?;
                }
            }
            Ok(Type::Map(Box::new(Type::Dyn)))
        }
    }
}

fn literal<'a>(value: &LiteralValue) -> Type<'a> {
    match value {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::Int(_) => Type::Int,
        LiteralValue::Null => Type::Null,
        LiteralValue::String(_) => Type::String,
        LiteralValue::UInt(_) => Type::Uint,
    }
}

fn ident<'a>(name: &str, scope: &Scope<'a>) -> Result<Type<'a>, String> {
    if let Some(known) = scope.get(name) {
        return Ok(known.clone());
    }
    if functions::is_type_name(name) {
        return Ok(Type::Meta);
    }
    Err(format!(
        "undeclared reference to '{name}' (in container '')"
    ))
}

fn check_select<'a>(select: &SelectExpr, scope: &Scope<'a>) -> Result<Type<'a>, String> {
    let operand = check(&select.operand, scope)?;
    // The interpreter doesn't look into optional values.
    let selectable = matches!(
        operand,
        Type::Dyn | Type::Null | Type::Object(_) | Type::Metadata | Type::Map(_)
    );
    if !selectable {
        return Err(format!("type '{operand}' does not support field selection"));
    }
    let field = operand.field(&select.field);
    let field = field.ok_or_else(|| format!("undefined field '{}'", select.field))?;
    Ok(if select.test { Type::Bool } else { field })
}

fn no_overload(name: &str, operands: &[&Type<'_>]) -> String {
    let operands: Vec<String> = operands.iter().map(ToString::to_string).collect();
    format!(
        "found no matching overload for '{name}' applied to '({})'",
        operands.join(", ")
    )
}

fn check_call<'a>(call: &CallExpr, scope: &Scope<'a>) -> Result<Type<'a>, String> {
    let name = call.func_name.as_str();
    let library = call.target.as_ref().and_then(|target| match &target.expr {
        Expr::Ident(name) if !scope.contains_key(name) && functions::is_library(name) => Some(name),
        _ => None,
    });
    let target = match (&call.target, library) {
        (Some(target), None) => Some(check(target, scope)?),
        _ => None,
    };
    let mut args = Vec::with_capacity(call.args.len());
    // The field of an optional selection is a name, not a value.
    let optional = name == "_?._";
    for arg in call.args.iter().take(if optional { 1 } else { usize::MAX }) {
        args.push(check(arg, scope)?);
    }
    if optional {
        return Ok(Type::Optional(Box::new(Type::Dyn)));
    }
    if name == "matches"
        && let Some(Expr::Literal(LiteralValue::String(pattern))) =
            call.args.last().map(|arg| &arg.expr)
        && regex::Regex::new(pattern.inner()).is_err()
    {
        return Err("invalid matches argument".to_owned());
    }
    if let Some(answer) = operator(name, &args) {
        return answer;
    }
    let qualified = library.map(|library| format!("{library}.{name}"));
    let answer = functions::answer(qualified.as_deref().unwrap_or(name), target.as_ref(), &args);
    answer.ok_or_else(|| match &target {
        Some(target) if name == "sum" => {
            format!("found no matching overload for '{name}' applied to '{target}.()'")
        }
        _ => format!("undeclared reference to '{name}' (in container '')"),
    })
}

/// The type of an operator's answer; `None` for functions.
fn operator<'a>(name: &str, args: &[Type<'a>]) -> Option<Result<Type<'a>, String>> {
    let fail = || Err(no_overload(name, &args.iter().collect::<Vec<_>>()));
    let is_bool = |ty: &Type<'_>| matches!(ty, Type::Bool | Type::Dyn);
    Some(match (name, args) {
        ("_==_" | "_!=_", [one, other]) => {
            if one.fits(other) {
                Ok(Type::Bool)
            } else {
                fail()
            }
        }
        ("_&&_" | "_||_", args) => {
            if args.iter().all(is_bool) {
                Ok(Type::Bool)
            } else {
                fail()
            }
        }
        ("!_" | "@not_strictly_false", [one]) => {
            if is_bool(one) {
                Ok(Type::Bool)
            } else {
                fail()
            }
        }
        ("_<_" | "_<=_" | "_>_" | "_>=_", [one, other]) => {
            let ordered = |ty: &Type<'_>| {
                !matches!(
                    ty,
                    Type::List(_) | Type::Map(_) | Type::Object(_) | Type::Metadata
                )
            };
            let numbers = one.is_number() && other.is_number();
            if numbers || (ordered(one) && ordered(other) && one.fits(other)) {
                Ok(Type::Bool)
            } else {
                fail()
            }
        }
        ("_?_:_", [condition, one, other]) => {
            if !is_bool(condition) {
                fail()
            } else if one.fits(other) {
                Ok(if matches!(one, Type::Dyn | Type::Null) {
                    other.clone()
                } else {
                    one.clone()
                })
            } else {
                fail()
            }
        }
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [one, other]) => arithmetic(one, other, fail),
        ("-_", [one]) => Ok(one.clone()),
        ("_[_]", [list, _]) => match list {
            Type::List(inner) | Type::Map(inner) => Ok((**inner).clone()),
            Type::Dyn | Type::Optional(_) => Ok(Type::Dyn),
            _ => fail(),
        },
        ("_[?_]", _) => Ok(Type::Optional(Box::new(Type::Dyn))),
        ("@in", [_, list]) => match list {
            Type::List(_) | Type::Map(_) | Type::Dyn => Ok(Type::Bool),
            _ => fail(),
        },
        _ => return None,
    })
}

fn arithmetic<'a>(
    one: &Type<'a>,
    other: &Type<'a>,
    fail: impl Fn() -> Result<Type<'a>, String>,
) -> Result<Type<'a>, String> {
    match (one, other) {
        (Type::Dyn, _) | (_, Type::Dyn) => Ok(Type::Dyn),
        (Type::Timestamp, Type::Timestamp) => Ok(Type::Duration),
        (Type::Timestamp, Type::Duration) | (Type::Duration, Type::Timestamp) => {
            Ok(Type::Timestamp)
        }
        (Type::List(inner), Type::List(_)) if matches!(**inner, Type::Dyn) => Ok(other.clone()),
        (one, other) if one.fits(other) && !matches!(one, Type::Bool | Type::Object(_)) => {
            Ok(one.clone())
        }
        _ => fail(),
    }
}

fn check_comprehension<'a>(
    comprehension: &ComprehensionExpr,
    scope: &Scope<'a>,
) -> Result<Type<'a>, String> {
    let range = check(&comprehension.iter_range, scope)?;
    let element = match range {
        Type::List(inner) => *inner,
        Type::Map(_) => Type::String,
        Type::Dyn => Type::Dyn,
        other => {
            return Err(format!(
                "expression of type '{other}' cannot be range of a comprehension (must be list, \
                 map, or dynamic)"
            ));
        }
    };
    let mut inner = scope.clone();
    let first = check(&comprehension.accu_init, scope)?;
    inner.insert(comprehension.iter_var.clone(), element);
    if let Some(second) = &comprehension.iter_var2 {
        inner.insert(second.clone(), Type::Dyn);
    }
    inner.insert(comprehension.accu_var.clone(), first.clone());
    check(&comprehension.loop_cond, &inner)?;
    let step = check(&comprehension.loop_step, &inner)?;
    // What is gathered in a list that starts empty is known only from the first step.
    let gathered = if matches!(first, Type::List(_)) {
        step
    } else {
        first
    };
    inner.insert(comprehension.accu_var.clone(), gathered);
    check(&comprehension.result, &inner)
}
