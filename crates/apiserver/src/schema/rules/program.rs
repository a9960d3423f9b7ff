//! Parsing and running expressions within bounds.
//!
//! The parser and the interpreter recurse over the nesting of an expression with large frames: in
//! an unoptimised build twenty pairs of parentheses fill the stack of a worker thread. So
//! expressions are parsed on a thread of their own with a large stack, their nesting is bounded,
//! and nested ones are evaluated on such a thread, too.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, Builder};

use kube_cel::cel::common::ast::{EntryExpr, Expr};
use kube_cel::cel::parser::Parser;
use kube_cel::cel::{Context, ExecutionError, IdedExpr, Value};

/// Deepest nesting of brackets in a source: ours, because of the parser's frames.
const MAX_BRACKETS: usize = 64;

/// Most operators, selections and calls in a source: ours, because each may nest the next.
const MAX_OPERATORS: usize = 1_000;

/// Most conditions in a source: ours, because the parser nests each in the one before.
const MAX_CONDITIONS: usize = 40;

/// Deepest nesting of a parsed expression (Kubernetes' own bound).
const MAX_DEPTH: usize = 250;

/// Nesting up to which an expression is evaluated on the caller's own stack: ours, a quarter of
/// what 2 MiB were measured to hold in an unoptimised build.
const INLINE_DEPTH: usize = 16;

/// Stack of the threads that parse and evaluate: ours, several times what the bounds need.
const STACK: usize = 256 << 20;

/// Runs a closure on a thread with a large stack.
///
/// # Errors
/// The closure panicked, or there is no thread.
pub(super) fn with_large_stack<T: Send>(run: impl FnOnce() -> T + Send) -> Result<T, String> {
    thread::scope(|scope| {
        let builder = Builder::new().name("rules".to_owned()).stack_size(STACK);
        let handle = builder
            .spawn_scoped(scope, run)
            .map_err(|error| error.to_string())?;
        handle
            .join()
            .map_err(|_| "the expression can't be handled".to_owned())
    })
}

/// Parses an expression, on a large stack.
///
/// # Errors
/// Why the source isn't an expression.
pub(super) fn parse(source: &str) -> Result<IdedExpr, String> {
    within_bounds(source)?;
    // The parser has been seen to panic; that refuses the expression.
    let source = without_double_negation(source);
    let parse = || {
        Parser::default()
            .enable_optional_syntax(true)
            .parse(&source)
    };
    let parsed = catch_unwind(parse).map_err(|_| too_deep())?;
    let program = parsed.map_err(|error| {
        format!(
            "compilation failed: {}",
            error.to_string().replace('\n', " ").trim()
        )
    })?;
    if depth(&program) > MAX_DEPTH {
        return Err(too_deep());
    }
    Ok(program)
}

/// Whether an expression nests too deeply for the caller's own stack.
pub(super) fn is_deep(program: &IdedExpr) -> bool {
    depth(program) > INLINE_DEPTH
}

/// Runs an expression. A panic of the interpreter counts as an error.
pub(super) fn run(program: &IdedExpr, scope: &Context<'_>) -> Result<Value, ExecutionError> {
    catch_unwind(AssertUnwindSafe(|| Value::resolve(program, scope))).unwrap_or_else(|_| {
        Err(ExecutionError::function_error(
            "rule",
            "the expression can't be evaluated",
        ))
    })
}

fn too_deep() -> String {
    format!("compilation failed: expression recursion limit exceeded: {MAX_DEPTH}")
}

/// The characters of a source, each with whether it stands outside of strings.
fn outside_strings(source: &str) -> impl Iterator<Item = (char, bool)> + '_ {
    let mut quote: Option<char> = None;
    let mut escaped = false;
    source.chars().map(move |c| {
        let outside = quote.is_none();
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(mark), c) if c == mark => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (Some(_) | None, _) => {}
        }
        (c, outside)
    })
}

/// The same expression without pairs of negations, which the parser takes for one.
fn without_double_negation(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut chars = outside_strings(source).peekable();
    while let Some((c, outside)) = chars.next() {
        if c == '!' && outside && chars.next_if(|(next, _)| *next == '!').is_some() {
            continue;
        }
        out.push(c);
    }
    out
}

/// Counts brackets and operators outside of strings.
fn within_bounds(source: &str) -> Result<(), String> {
    let (mut open, mut operators, mut conditions) = (0_usize, 0_usize, 0_usize);
    for (c, _) in outside_strings(source).filter(|(_, outside)| *outside) {
        match c {
            '(' | '[' | '{' => {
                open += 1;
                operators += 1;
            }
            ')' | ']' | '}' => open = open.saturating_sub(1),
            '?' => {
                conditions += 1;
                operators += 1;
            }
            '.' | '+' | '-' | '*' | '/' | '%' | '!' | '<' | '>' | '=' | '&' | '|' => operators += 1,
            _ => {}
        }
        if open > MAX_BRACKETS || operators > MAX_OPERATORS || conditions > MAX_CONDITIONS {
            return Err(too_deep());
        }
    }
    Ok(())
}

/// How deeply an expression nests.
fn depth(expr: &IdedExpr) -> usize {
    let deepest = |parts: &mut dyn Iterator<Item = &IdedExpr>| parts.map(depth).max().unwrap_or(0);
    let below = match &expr.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => 0,
        Expr::Select(select) => depth(&select.operand),
        Expr::Call(call) => deepest(&mut call.target.as_deref().into_iter().chain(&call.args)),
        Expr::List(list) => deepest(&mut list.elements.iter()),
        Expr::Map(map) => map
            .entries
            .iter()
            .map(|entry| entry_depth(&entry.expr))
            .max()
            .unwrap_or(0),
        Expr::Struct(it) => it
            .entries
            .iter()
            .map(|entry| entry_depth(&entry.expr))
            .max()
            .unwrap_or(0),
        Expr::Comprehension(it) => deepest(
            &mut [
                &it.iter_range,
                &it.accu_init,
                &it.loop_cond,
                &it.loop_step,
                &it.result,
            ]
            .into_iter(),
        ),
    };
    below + 1
}

fn entry_depth(entry: &EntryExpr) -> usize {
    match entry {
        EntryExpr::MapEntry(entry) => depth(&entry.key).max(depth(&entry.value)),
        EntryExpr::StructField(field) => depth(&field.value),
    }
}

#[cfg(test)]
mod tests {
    use super::without_double_negation;

    #[test]
    fn negations_cancel_outside_of_strings_only() {
        let table = [
            ("!!a", "a"),
            ("!!!a", "!a"),
            ("a != b", "a != b"),
            ("'!!' == a", "'!!' == a"),
        ];
        for (source, expected) in table {
            assert_eq!(without_double_negation(source), expected);
        }
    }
}
