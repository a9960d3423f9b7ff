//! The JSONPath subset of printer columns.
//!
//! Fields (`.spec.replicas`, `['a\.b']`, `.metadata.labels.app\.kubernetes\.io/name`), indexes and
//! slices (`[0]`, `[-1]`, `[1:3]`), unions (`['a','b']`), wildcards (`[*]`, `.*`), descent (`..name`)
//! and filters (`[?(@.type=="Ready")]` with `==`, `!=`, `<`, `<=`, `>`, `>=`, or a bare `@.name`).

use std::cmp::Ordering;

use serde_json::Value;

/// A parsed path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Union(Vec<Step>),
    Index(i64),
    Slice(Option<i64>, Option<i64>, i64),
    Wildcard,
    Descend,
    Filter(Vec<Step>, Option<(Operator, Operand)>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Literal(Value),
    Path(Vec<Step>),
}

impl JsonPath {
    /// Parses a path such as `.status.conditions[?(@.type=="Ready")].status`; `None` when it isn't
    /// one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text
            .strip_prefix('{')
            .and_then(|t| t.strip_suffix('}'))
            .unwrap_or(text);
        let text = text.strip_prefix('$').unwrap_or(text);
        Some(Self {
            steps: steps(text)?,
        })
    }

    /// Everything that the path finds, in document order.
    pub fn find<'a>(&self, root: &'a Value) -> Vec<&'a Value> {
        walk(&self.steps, root)
    }
}

/// A found value as text: strings bare, everything else as JSON.
pub fn print(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<no value>".to_owned(),
        other => other.to_string(),
    }
}

/// Parses steps until the text ends.
fn steps(mut text: &str) -> Option<Vec<Step>> {
    let mut out = Vec::new();
    while !text.is_empty() {
        if let Some(rest) = text.strip_prefix("..") {
            out.push(Step::Descend);
            text = rest;
            if !text.starts_with('[') {
                text = field(text, &mut out)?;
            }
        } else if let Some(rest) = text.strip_prefix('.') {
            // `.[0]` is written, too.
            text = if rest.starts_with('[') || rest.is_empty() {
                rest
            } else {
                field(rest, &mut out)?
            };
        } else if let Some(rest) = text.strip_prefix('[') {
            let end = closing(rest)?;
            out.push(bracket(rest.get(..end)?.trim())?);
            text = rest.get(end + 1..)?;
        } else if out.is_empty() {
            text = field(text, &mut out)?;
        } else {
            return None;
        }
    }
    Some(out)
}

/// Reads a field name up to the next `.` or `[` that isn't escaped.
fn field<'a>(text: &'a str, out: &mut Vec<Step>) -> Option<&'a str> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    let mut end = text.len();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => name.push(chars.next()?.1),
            '.' | '[' => {
                end = at;
                break;
            }
            c => name.push(c),
        }
    }
    if name.is_empty() {
        return None;
    }
    out.push(if name == "*" {
        Step::Wildcard
    } else {
        Step::Field(name)
    });
    text.get(end..)
}

/// Where the bracket that is open at the start closes.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    let mut quoted: Option<char> = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (quoted, c) {
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (Some(open), c) if c == open => quoted = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quoted = Some(c),
            (None, '[') => depth += 1,
            (None, ']') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            (None, _) => {}
        }
    }
    None
}

fn bracket(inner: &str) -> Option<Step> {
    if inner == "*" {
        return Some(Step::Wildcard);
    }
    if let Some(filter) = inner
        .strip_prefix("?(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        return filter_step(filter.trim());
    }
    let parts = split_quoted(inner);
    if parts.len() > 1 {
        let steps: Option<Vec<Step>> = parts.into_iter().map(|part| bracket(part.trim())).collect();
        return steps.map(Step::Union);
    }
    if inner.starts_with(['\'', '"']) {
        return unquoted(inner).map(Step::Field);
    }
    if inner.contains(':') {
        let mut parts = inner.splitn(3, ':');
        let mut number = || match parts.next().map(str::trim) {
            None | Some("") => Some(None),
            Some(text) => text.parse().ok().map(Some),
        };
        let (from, to, step) = (number()?, number()?, number()?);
        return Some(Step::Slice(
            from,
            to,
            step.filter(|step| *step > 0).unwrap_or(1),
        ));
    }
    inner.parse().ok().map(Step::Index)
}

/// Splits at commas outside quotes.
fn split_quoted(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut quoted: Option<char> = None;
    for (at, c) in text.char_indices() {
        match quoted {
            Some(open) if c == open => quoted = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"') => quoted = Some(c),
            None if c == ',' => {
                out.extend(text.get(start..at));
                start = at + 1;
            }
            None => {}
        }
    }
    out.extend(text.get(start..));
    out
}

fn unquoted(text: &str) -> Option<String> {
    let text = text.trim();
    let inner = text
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''))
        .or_else(|| {
            text.strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'))
        })?;
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next()? } else { c });
    }
    Some(out)
}

fn filter_step(text: &str) -> Option<Step> {
    const OPERATORS: [(&str, Operator); 6] = [
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ];
    for (sign, operator) in OPERATORS {
        if let Some((left, right)) = text.split_once(sign) {
            let left = steps(left.trim().strip_prefix('@')?)?;
            return Some(Step::Filter(left, Some((operator, operand(right.trim())?))));
        }
    }
    Some(Step::Filter(steps(text.strip_prefix('@')?)?, None))
}

fn operand(text: &str) -> Option<Operand> {
    if let Some(path) = text.strip_prefix('@') {
        return Some(Operand::Path(steps(path)?));
    }
    if let Some(text) = unquoted(text) {
        return Some(Operand::Literal(Value::String(text)));
    }
    serde_json::from_str(text).ok().map(Operand::Literal)
}

fn walk<'a>(steps: &[Step], root: &'a Value) -> Vec<&'a Value> {
    let mut current = vec![root];
    for step in steps {
        let mut next = Vec::new();
        for value in current {
            apply(step, value, &mut next);
        }
        current = next;
    }
    current
}

fn apply<'a>(step: &Step, value: &'a Value, out: &mut Vec<&'a Value>) {
    match step {
        Step::Field(name) => out.extend(value.get(name)),
        Step::Union(steps) => steps.iter().for_each(|step| apply(step, value, out)),
        Step::Index(index) => out.extend(value.as_array().and_then(|list| {
            let place = if *index < 0 {
                i64::try_from(list.len()).ok()? + index
            } else {
                *index
            };
            list.get(usize::try_from(place).ok()?)
        })),
        Step::Slice(from, to, step) => {
            if let Some(list) = value.as_array() {
                out.extend(slice(list, *from, *to, *step));
            }
        }
        Step::Wildcard => match value {
            Value::Array(list) => out.extend(list),
            Value::Object(map) => out.extend(map.values()),
            _ => {}
        },
        Step::Descend => descend(value, out),
        Step::Filter(left, test) => {
            if let Some(list) = value.as_array() {
                out.extend(
                    list.iter()
                        .filter(|entry| holds(entry, left, test.as_ref())),
                );
            }
        }
    }
}

fn slice(list: &[Value], from: Option<i64>, to: Option<i64>, step: i64) -> Vec<&Value> {
    let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
    let place = |index: i64| (if index < 0 { length + index } else { index }).clamp(0, length);
    let from = usize::try_from(place(from.unwrap_or(0))).unwrap_or(0);
    let to = usize::try_from(place(to.unwrap_or(length))).unwrap_or(0);
    let step = usize::try_from(step).unwrap_or(1);
    list.get(from..to)
        .unwrap_or_default()
        .iter()
        .step_by(step)
        .collect()
}

fn descend<'a>(value: &'a Value, out: &mut Vec<&'a Value>) {
    out.push(value);
    match value {
        Value::Array(list) => list.iter().for_each(|child| descend(child, out)),
        Value::Object(map) => map.values().for_each(|child| descend(child, out)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn holds(entry: &Value, left: &[Step], test: Option<&(Operator, Operand)>) -> bool {
    let found = walk(left, entry);
    let Some((operator, operand)) = test else {
        return !found.is_empty();
    };
    let Some(left) = found.first() else {
        return false;
    };
    let right = match operand {
        Operand::Literal(value) => Some(value),
        Operand::Path(steps) => walk(steps, entry).first().copied(),
    };
    let Some(right) = right else { return false };
    let ordering = order(left, right);
    match operator {
        Operator::Equal => ordering == Some(Ordering::Equal),
        Operator::NotEqual => ordering != Some(Ordering::Equal),
        Operator::Less => ordering == Some(Ordering::Less),
        Operator::LessOrEqual => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
        Operator::Greater => ordering == Some(Ordering::Greater),
        Operator::GreaterOrEqual => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
    }
}

fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64()?.partial_cmp(&right.as_f64()?),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        _ => (left == right).then_some(Ordering::Equal),
    }
}
