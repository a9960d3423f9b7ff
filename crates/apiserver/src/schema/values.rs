//! Types, bounds, formats and combinations of one value after another.
//!
//! In: a value, its old self where one is known, and its schema. Out: errors with the wording of
//! Kubernetes' OpenAPI validation (`PATH in body should ...`).

use serde_json::{Number, Value};

use super::correlate::ListIndex;
use super::field_error::{FieldError, FieldErrorKind, float_text};
use super::format;
use super::path::Path;
use super::structural::{Additional, Checks, JsonType, ListType, Node};

/// Checks a whole object against the root of its schema.
pub(crate) fn check_object(
    new: &Value,
    old: Option<&Value>,
    root: &Node,
    errors: &mut Vec<FieldError>,
) {
    Check { errors, passed: 0 }.node(new, old, root, &Path::Root);
}

/// What went wrong so far, and how much went right: the branch of a combination that fits best is
/// the one whose errors are told.
struct Check<'a> {
    errors: &'a mut Vec<FieldError>,
    passed: usize,
}

impl Check<'_> {
    fn node(&mut self, new: &Value, old: Option<&Value>, node: &Node, path: &Path<'_>) {
        if old.is_some_and(|old| old == new) {
            return;
        }
        if self.json_type(new, node, path) {
            self.passed += 1;
        }
        if node.checks.has_junctors() {
            self.junctors(new, &node.checks, path);
        }
        match new {
            Value::String(text) => self.string(text, node, path),
            Value::Number(number) => self.number(number, node, path),
            Value::Array(list) => self.list(list, old, node, path),
            Value::Object(map) => self.map(map, old, node, path),
            Value::Null | Value::Bool(_) => {}
        }
        self.allowed(new, &node.checks, path);
    }

    fn json_type(&mut self, value: &Value, node: &Node, path: &Path<'_>) -> bool {
        if node.int_or_string {
            let fits = value.is_string() || is_whole(value) || (value.is_null() && node.nullable);
            if !fits {
                self.wrong_type(path, "integer,string", value);
            }
            return fits;
        }
        let Some(wanted) = node.json_type else {
            return true;
        };
        let fits = match (wanted, value) {
            (_, Value::Null) => node.nullable,
            (JsonType::Object, Value::Object(_))
            | (JsonType::Array, Value::Array(_))
            | (JsonType::String, Value::String(_))
            | (JsonType::Number, Value::Number(_))
            | (JsonType::Boolean, Value::Bool(_)) => true,
            (JsonType::Integer, Value::Number(number)) => {
                is_whole(value) && !(is_long(node) && too_long(number))
            }
            _ => false,
        };
        if !fits {
            self.wrong_format(path, node, wanted, value);
        }
        fits
    }

    /// A wrong type is told by the format's name where the schema has one for numbers.
    fn wrong_format(&mut self, path: &Path<'_>, node: &Node, wanted: JsonType, value: &Value) {
        let format = node.checks.format.as_deref().filter(|_| {
            matches!(wanted, JsonType::Integer | JsonType::Number)
                && matches!(value, Value::Bool(_) | Value::Number(_) | Value::Object(_))
        });
        match (format, value) {
            (Some(format), Value::Number(_)) => self.wrong(path, format, "float64"),
            (Some(format), _) => self.wrong(path, format, ""),
            (None, _) => self.wrong_type(path, wanted.name(), value),
        }
    }

    fn wrong_type(&mut self, path: &Path<'_>, wanted: &str, value: &Value) {
        self.wrong(path, wanted, type_name(value));
    }

    fn wrong(&mut self, path: &Path<'_>, wanted: &str, given: &str) {
        let detail = format!("{path} in body must be of type {wanted}: \"{given}\"");
        self.errors.push(FieldError::type_invalid(
            path.to_string(),
            given.into(),
            detail,
        ));
    }

    fn invalid(&mut self, path: &Path<'_>, value: Value, what: &str) {
        let detail = format!("{path} in body {what}");
        self.errors
            .push(FieldError::invalid(path.to_string(), value, detail));
    }

    fn allowed(&mut self, value: &Value, checks: &Checks, path: &Path<'_>) {
        if checks.allowed.is_empty() || checks.allowed.iter().any(|one| same_value(one, value)) {
            return;
        }
        let names: Vec<String> = checks
            .allowed
            .iter()
            .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
            .collect();
        let names = names.iter().map(String::as_str);
        self.errors.push(FieldError::not_supported(
            path.to_string(),
            value.clone(),
            names,
        ));
    }

    /// The first of length and pattern that doesn't hold, and the format.
    fn string(&mut self, text: &str, node: &Node, path: &Path<'_>) {
        let checks = &node.checks;
        let bounded = checks.max_length.is_some() || checks.min_length.is_some();
        let length = if bounded {
            text.chars().count() as u64
        } else {
            0
        };
        if let Some(limit) = checks.max_length.filter(|limit| length > *limit) {
            self.errors
                .push(FieldError::too_long(path.to_string(), limit));
        } else if let Some(least) = checks.min_length.filter(|least| length < *least) {
            let what = format!("should be at least {least} chars long");
            self.invalid(path, text.into(), &what);
        } else if let Some(pattern) = checks.pattern.as_ref().filter(|p| !p.regex.is_match(text)) {
            let what = format!("should match '{}'", pattern.source);
            self.invalid(path, text.into(), &what);
        }
        if let Some(format) = &checks.format
            && !node.int_or_string
            && !format::matches(format, text)
        {
            let shown = super::field_error::quote(text);
            let detail = format!("{path} in body must be of type {format}: {shown}");
            let error = FieldError::type_invalid(path.to_string(), text.into(), detail);
            self.errors.push(error);
        }
    }

    fn number(&mut self, number: &Number, node: &Node, path: &Path<'_>) {
        self.range(number, node, path);
        let checks = &node.checks;
        let value = number.as_f64().unwrap_or(f64::NAN);
        // Whole numbers are compared with whole bounds.
        let bound = |bound: Option<f64>| {
            bound.map(|bound| {
                if number.is_f64() {
                    bound
                } else {
                    bound.trunc()
                }
            })
        };
        if let Some(step) = bound(checks.multiple_of)
            && step > 0.0
            && ((value / step) - (value / step).round()).abs() > 1e-9
        {
            self.bound(path, number, "should be a multiple of", step);
        }
        if let Some(limit) = bound(checks.maximum) {
            if checks.exclusive_maximum && value >= limit {
                self.bound(path, number, "should be less than", limit);
            } else if value > limit {
                self.bound(path, number, "should be less than or equal to", limit);
            }
        }
        if let Some(limit) = bound(checks.minimum) {
            if checks.exclusive_minimum && value <= limit {
                self.bound(path, number, "should be greater than", limit);
            } else if value < limit {
                self.bound(path, number, "should be greater than or equal to", limit);
            }
        }
    }

    fn bound(&mut self, path: &Path<'_>, number: &Number, what: &str, bound: f64) {
        let what = format!("{what} {}", float_text(bound));
        self.invalid(path, number.clone().into(), &what);
    }

    /// Whether a number fits the range of its format.
    fn range(&mut self, number: &Number, node: &Node, path: &Path<'_>) {
        let value = number.as_f64().unwrap_or(f64::NAN);
        let format = node.checks.format.as_deref();
        let (kind, fits) = match (node.json_type, format) {
            (Some(JsonType::Integer), Some("int32")) => {
                let bounds = f64::from(i32::MIN)..=f64::from(i32::MAX);
                ("integer", value.fract() == 0.0 && bounds.contains(&value))
            }
            (Some(JsonType::Integer), Some("uint32")) => (
                "integer",
                value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value),
            ),
            (Some(JsonType::Integer), Some("uint64")) => ("integer", number.as_u64().is_some()),
            (Some(JsonType::Integer), Some("int64")) if too_long(number) => ("integer", false),
            (Some(JsonType::Integer), _) => ("integer", value.fract() == 0.0),
            (Some(JsonType::Number), Some("float")) => {
                ("number", value.abs() <= f64::from(f32::MAX))
            }
            _ => return,
        };
        if fits {
            return;
        }
        let with = format.map_or("(default format)".to_owned(), |f| {
            format!("with format {f}")
        });
        let detail = format!("Checked value must be of type {kind} {with} in {path}");
        self.errors.push(FieldError::invalid(
            "",
            Value::String(String::new()),
            detail,
        ));
    }

    fn list(&mut self, list: &[Value], old: Option<&Value>, node: &Node, path: &Path<'_>) {
        let length = list.len() as u64;
        if let Some(items) = node.items.as_deref() {
            let old_list = old.and_then(Value::as_array);
            let index = match (node.list_type(), old_list) {
                (ListType::Map(keys), Some(old)) => Some((keys, ListIndex::new(old, keys, items))),
                _ => None,
            };
            for (position, child) in list.iter().enumerate() {
                let old_child = index
                    .as_ref()
                    .and_then(|(keys, index)| index.find(child, keys, items));
                self.node(child, old_child, items, &path.index(position));
            }
        }
        if let Some(least) = node.checks.min_items.filter(|least| length < *least) {
            let what = format!("should have at least {least} items");
            self.invalid(path, length.into(), &what);
        }
        if let Some(limit) = node.checks.max_items.filter(|limit| length > *limit) {
            self.errors
                .push(FieldError::too_many(path.to_string(), list.len(), limit));
        }
        if node.checks.unique_items && repeats(list) {
            self.invalid(path, list.into(), "shouldn't contain duplicates");
        }
    }

    fn map(
        &mut self,
        map: &serde_json::Map<String, Value>,
        old: Option<&Value>,
        node: &Node,
        path: &Path<'_>,
    ) {
        let count = map.len() as u64;
        if let Some(least) = node.checks.min_properties.filter(|least| count < *least) {
            let what = format!("should have at least {least} properties");
            self.invalid(path, count.into(), &what);
            return;
        }
        if let Some(limit) = node.checks.max_properties.filter(|limit| count > *limit) {
            self.errors
                .push(FieldError::too_many(path.to_string(), map.len(), limit));
            return;
        }
        for name in &node.checks.required {
            if !map.contains_key(name) {
                self.errors
                    .push(FieldError::required(path.field(name).to_string(), ""));
            }
        }
        for (name, child) in map {
            let at = path.field(name);
            let old_child = old.and_then(|old| old.get(name));
            if let Some(below) = node.properties.get(name) {
                self.node(child, old_child, below, &at);
                continue;
            }
            match &node.additional {
                Additional::Schema(below) => self.node(child, old_child, below, &at),
                Additional::Allowed(false) => {
                    let detail = format!("{path}.{name} in body is a forbidden property");
                    let value = Value::String(String::new());
                    self.errors
                        .push(FieldError::invalid(at.to_string(), value, detail));
                }
                Additional::Allowed(true) | Additional::Absent => {}
            }
        }
    }

    /// Tries a branch and tells how it went.
    fn attempt(value: &Value, branch: &Node, path: &Path<'_>) -> Outcome {
        let mut errors = Vec::new();
        let mut check = Check {
            errors: &mut errors,
            passed: 0,
        };
        check.node(value, None, branch, path);
        let passed = check.passed;
        Outcome { errors, passed }
    }

    fn junctors(&mut self, value: &Value, checks: &Checks, path: &Path<'_>) {
        if !checks.any_of.is_empty() {
            let outcomes = checks
                .any_of
                .iter()
                .map(|branch| Self::attempt(value, branch, path));
            if let Some(best) = best_failure(outcomes) {
                self.combination(path, "must validate at least one schema (anyOf)");
                self.errors.extend(best.errors);
            }
        }
        if !checks.one_of.is_empty() {
            self.one_of(value, checks, path);
        }
        if !checks.all_of.is_empty() {
            let mut fitting = 0;
            for branch in &checks.all_of {
                let outcome = Self::attempt(value, branch, path);
                fitting += usize::from(outcome.errors.is_empty());
                self.errors.extend(outcome.errors);
            }
            if fitting == 0 {
                let what = "must validate all the schemas (allOf). None validated";
                self.combination(path, what);
            } else if fitting < checks.all_of.len() {
                self.combination(path, "must validate all the schemas (allOf)");
            }
        }
        if let Some(branch) = &checks.not
            && Self::attempt(value, branch, path).errors.is_empty()
        {
            self.combination(path, "must not validate the schema (not)");
        }
    }

    fn one_of(&mut self, value: &Value, checks: &Checks, path: &Path<'_>) {
        let outcomes: Vec<Outcome> = checks
            .one_of
            .iter()
            .map(|branch| Self::attempt(value, branch, path))
            .collect();
        let fitting = outcomes
            .iter()
            .filter(|outcome| outcome.errors.is_empty())
            .count();
        match fitting {
            1 => {}
            0 => {
                let what = "must validate one and only one schema (oneOf). Found none valid";
                self.combination(path, what);
                if let Some(best) = best_failure(outcomes.into_iter()) {
                    self.errors.extend(best.errors);
                }
            }
            several => {
                let what = format!(
                    "must validate one and only one schema (oneOf). \
                     Found {several} valid alternatives"
                );
                self.combination(path, &what);
            }
        }
    }

    fn combination(&mut self, path: &Path<'_>, what: &str) {
        let detail = format!("\"{path}\" {what}");
        self.errors.push(FieldError::new(
            FieldErrorKind::Invalid,
            "",
            Some(Value::String(String::new())),
            detail,
        ));
    }
}

/// How a branch of a combination went.
struct Outcome {
    errors: Vec<FieldError>,
    passed: usize,
}

/// The failure of the branch that fits best; `None` when one holds.
fn best_failure(outcomes: impl Iterator<Item = Outcome>) -> Option<Outcome> {
    let mut best: Option<Outcome> = None;
    for outcome in outcomes {
        if outcome.errors.is_empty() {
            return None;
        }
        if best
            .as_ref()
            .is_none_or(|best| outcome.passed > best.passed)
        {
            best = Some(outcome);
        }
    }
    best
}

fn is_whole(value: &Value) -> bool {
    value.as_i64().is_some()
        || value.as_u64().is_some()
        || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn is_long(node: &Node) -> bool {
    node.checks.format.as_deref() == Some("int64")
}

/// Whether a number is beyond 64 bits with a sign.
fn too_long(number: &Number) -> bool {
    number.is_u64() && number.as_i64().is_none()
}

pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn same_value(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

fn repeats(list: &[Value]) -> bool {
    let mut seen = std::collections::HashSet::with_capacity(list.len());
    list.iter().any(|entry| !seen.insert(entry.to_string()))
}
