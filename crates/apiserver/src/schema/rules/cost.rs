//! What a rule may cost at worst, so that no object can keep the server busy.
//!
//! In: a parsed expression and the schema of `self`, whose `maxItems`, `maxProperties` and
//! `maxLength` bound the sizes; where they are absent, the largest request does. Out: units of
//! Kubernetes' cost model, one a small step. The model is theirs in its outline and coarser in
//! detail, so a definition is refused only when it is far over the budget ([`TOLERANCE`]).

use std::collections::HashMap;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators,
};

use super::values::escape;
use crate::schema::structural::{Additional, JsonType, Node};

/// Most that one rule may cost (Kubernetes' own bound).
pub(super) const RULE_LIMIT: u64 = 10_000_000;

/// Most that all rules of one schema may cost (Kubernetes' own bound).
pub(super) const TOTAL_LIMIT: u64 = 100_000_000;

/// How far over a limit an estimate must be: ours, because the estimate is coarse.
pub(super) const TOLERANCE: u64 = 4;

/// Largest request in bytes (Kubernetes' own bound).
const MAX_REQUEST: u64 = 3 << 20;

/// Part of a unit that passing one byte costs, as a divisor.
const BYTES_A_UNIT: u64 = 10;

/// What is known of the size of a value.
#[derive(Clone)]
enum Extent<'a> {
    Schema(&'a Node),
    Text(u64),
    List(u64, Box<Extent<'a>>),
    Scalar,
}

impl<'a> Extent<'a> {
    fn size(&self) -> u64 {
        match self {
            Self::Schema(node) => size(node),
            Self::Text(size) | Self::List(size, _) => *size,
            Self::Scalar => 1,
        }
    }

    fn element(&self) -> Extent<'a> {
        match self {
            Self::Schema(node) => match (&node.items, &node.additional) {
                (Some(items), _) => Extent::Schema(items),
                // Ranging over a map goes through its keys.
                (None, Additional::Schema(_)) => Extent::Text(MAX_REQUEST),
                _ => Extent::Scalar,
            },
            Self::List(_, element) => (**element).clone(),
            Self::Text(_) | Self::Scalar => Extent::Scalar,
        }
    }

    fn field(&self, name: &str) -> Extent<'a> {
        let Self::Schema(node) = self else {
            return Extent::Scalar;
        };
        match &node.additional {
            Additional::Schema(values) => Extent::Schema(values),
            Additional::Absent | Additional::Allowed(_) => node
                .properties
                .iter()
                .find(|(field, _)| escape(field) == name)
                .map_or(Extent::Scalar, |(_, node)| Extent::Schema(node)),
        }
    }
}

/// Most entries, keys or bytes of a value.
fn size(node: &Node) -> u64 {
    match node.json_type {
        Some(JsonType::String) => {
            let longest = node
                .checks
                .allowed
                .iter()
                .filter_map(|one| one.as_str())
                .map(str::len);
            let allowed = longest.max().map(|length| length as u64);
            let format = node
                .checks
                .format
                .as_deref()
                .and_then(|format| match format {
                    "date" | "date-time" | "duration" => Some(32),
                    _ => None,
                });
            // A character may take four bytes.
            let declared = node
                .checks
                .max_length
                .map(|length| length.saturating_mul(4));
            declared.or(allowed).or(format).unwrap_or(MAX_REQUEST)
        }
        Some(JsonType::Array) => node.checks.max_items.unwrap_or_else(|| {
            let least = node.items.as_deref().map_or(1, least_bytes);
            MAX_REQUEST / (least + 1)
        }),
        Some(JsonType::Object) => match &node.additional {
            Additional::Schema(values) => {
                let most = MAX_REQUEST / (least_bytes(values) + 6);
                node.checks.max_properties.unwrap_or(most)
            }
            Additional::Absent | Additional::Allowed(_) => 1,
        },
        _ => 1,
    }
}

/// Fewest bytes that a value takes in a request.
fn least_bytes(node: &Node) -> u64 {
    match node.json_type {
        Some(JsonType::String | JsonType::Array) => 2,
        Some(JsonType::Boolean) => 4,
        Some(JsonType::Object) => {
            let required = node.checks.required.iter();
            let fields = required.map(|name| {
                let value = node
                    .properties
                    .get(name)
                    .map_or(1, |field| least_bytes(field));
                name.len() as u64 + 4 + value
            });
            fields.sum::<u64>() + 2
        }
        _ => 1,
    }
}

/// How many values a node can have, given how many its parent has.
pub(super) fn entries(node: &Node) -> u64 {
    size(node)
}

/// What an expression costs at worst.
pub(super) fn estimate(expr: &IdedExpr, this: &Node) -> u64 {
    let mut scope = HashMap::new();
    scope.insert("self".to_owned(), Extent::Schema(this));
    scope.insert("oldSelf".to_owned(), Extent::Schema(this));
    cost(expr, &scope).0
}

type Scope<'a> = HashMap<String, Extent<'a>>;

fn cost<'a>(expr: &IdedExpr, scope: &Scope<'a>) -> (u64, Extent<'a>) {
    match &expr.expr {
        Expr::Unspecified => (0, Extent::Scalar),
        Expr::Literal(LiteralValue::String(text)) => (0, Extent::Text(text.inner().len() as u64)),
        Expr::Literal(_) => (0, Extent::Scalar),
        Expr::Ident(name) => (1, scope.get(name).cloned().unwrap_or(Extent::Scalar)),
        Expr::Select(select) => {
            let (cost, operand) = cost(&select.operand, scope);
            (cost.saturating_add(1), operand.field(&select.field))
        }
        Expr::List(list) => {
            let parts: Vec<_> = list
                .elements
                .iter()
                .map(|element| cost(element, scope))
                .collect();
            let total = parts
                .iter()
                .fold(10, |sum: u64, (cost, _)| sum.saturating_add(*cost));
            let element = parts
                .into_iter()
                .next()
                .map_or(Extent::Scalar, |(_, extent)| extent);
            (
                total,
                Extent::List(list.elements.len() as u64, Box::new(element)),
            )
        }
        Expr::Map(map) => {
            let entry = |entry: &EntryExpr| match entry {
                EntryExpr::MapEntry(entry) => cost(&entry.key, scope)
                    .0
                    .saturating_add(cost(&entry.value, scope).0),
                EntryExpr::StructField(field) => cost(&field.value, scope).0,
            };
            let total = map.entries.iter().map(|one| entry(&one.expr));
            (total.fold(30, u64::saturating_add), Extent::Scalar)
        }
        Expr::Struct(_) => (40, Extent::Scalar),
        Expr::Call(call) => call_cost(call, scope),
        Expr::Comprehension(comprehension) => comprehension_cost(comprehension, scope),
    }
}

fn call_cost<'a>(call: &CallExpr, scope: &Scope<'a>) -> (u64, Extent<'a>) {
    let target = call.target.as_ref().map(|target| cost(target, scope));
    let args: Vec<_> = call.args.iter().map(|arg| cost(arg, scope)).collect();
    let operands: Vec<&(u64, Extent<'a>)> = target.iter().chain(&args).collect();
    let sum = operands
        .iter()
        .fold(0, |sum: u64, (cost, _)| sum.saturating_add(*cost));
    let size = |place: usize| operands.get(place).map_or(1, |(_, extent)| extent.size());
    let passing = |bytes: u64| bytes.div_ceil(BYTES_A_UNIT);
    let same = || {
        operands
            .first()
            .map_or(Extent::Scalar, |(_, extent)| extent.clone())
    };
    let (own, extent) = match call.func_name.as_str() {
        operators::LOGICAL_AND | operators::LOGICAL_OR => (0, Extent::Scalar),
        operators::CONDITIONAL => {
            let extent = operands
                .get(1)
                .map_or(Extent::Scalar, |(_, extent)| extent.clone());
            (0, extent)
        }
        operators::EQUALS
        | operators::NOT_EQUALS
        | operators::LESS
        | operators::LESS_EQUALS
        | operators::GREATER
        | operators::GREATER_EQUALS => (passing(size(0).min(size(1))), Extent::Scalar),
        operators::ADD => {
            let total = size(0).saturating_add(size(1));
            let extent = match operands.get(1).map(|(_, extent)| extent) {
                Some(Extent::List(_, element)) => Extent::List(total, element.clone()),
                _ => Extent::Text(total),
            };
            (passing(total), extent)
        }
        operators::IN => (size(1), Extent::Scalar),
        operators::INDEX | operators::OPT_INDEX => {
            let extent = operands
                .first()
                .map_or(Extent::Scalar, |(_, extent)| extent.element());
            (1, extent)
        }
        "contains" => (
            passing(size(0)).saturating_mul(passing(size(1))),
            Extent::Scalar,
        ),
        "matches" => (
            passing(size(0)).saturating_mul(size(1).div_ceil(4)),
            Extent::Scalar,
        ),
        "startsWith" | "endsWith" => (passing(size(1)), Extent::Scalar),
        "split" | "findAll" => (
            passing(size(0)),
            Extent::List(size(0), Box::new(Extent::Text(size(0)))),
        ),
        "isSorted" | "sum" | "min" | "max" => (size(0), Extent::Scalar),
        "size" | "type" | "int" | "hasValue" | "value" => (1, same()),
        _ => (passing(size(0)), same()),
    };
    (sum.saturating_add(own.max(1)), extent)
}

fn comprehension_cost<'a>(
    comprehension: &ComprehensionExpr,
    scope: &Scope<'a>,
) -> (u64, Extent<'a>) {
    let (range_cost, range) = cost(&comprehension.iter_range, scope);
    let (start_cost, start) = cost(&comprehension.accu_init, scope);
    let mut inner = scope.clone();
    inner.insert(comprehension.iter_var.clone(), range.element());
    inner.insert(comprehension.accu_var.clone(), Extent::Scalar);
    let (condition, _) = cost(&comprehension.loop_cond, &inner);
    let (step, _) = cost(&comprehension.loop_step, &inner);
    let (result, _) = cost(&comprehension.result, &inner);
    let rounds = range.size().saturating_mul(condition.saturating_add(step));
    let total = range_cost
        .saturating_add(start_cost)
        .saturating_add(rounds)
        .saturating_add(result);
    let extent = match start {
        Extent::List(..) => Extent::List(range.size(), Box::new(range.element())),
        _ => Extent::Scalar,
    };
    (total, extent)
}

/// The words for a cost over its limit; `None` within it.
pub(super) fn excess(name: &str, cost: u64, limit: u64) -> Option<String> {
    if cost <= limit.saturating_mul(TOLERANCE) {
        return None;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "a factor is told with one digit"
    )]
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else {
        format!("{factor:.1}x")
    };
    Some(format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding \
         maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    ))
}
