//! Pages of the reference, made from what the program itself goes by: its command line, its tables
//! of variables and metrics, its enums of conditions, the schemas of its kinds.

mod commands;
mod conditions;
mod fields;
mod metrics;
mod variables;

pub(crate) use self::{
    commands::commands, conditions::conditions, fields::fields, metrics::metrics,
    variables::variables,
};

/// The line below each heading: whoever edits such a page by hand loses it.
const MADE: &str = "*Made by `cargo xtask reference`.*";

/// A page's beginning.
fn page(title: &str, about: &str) -> String {
    format!("# {title}\n\n{about}\n\n{MADE}\n")
}

/// Text for a cell of a table: on one line, its bars escaped.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}
