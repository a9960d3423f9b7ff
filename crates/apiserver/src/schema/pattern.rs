//! Patterns of schemas, whose syntax is RE2's, for a regular expression engine that differs in
//! details.
//!
//! In: a pattern as the definition writes it. Out: a compiled expression with the same matches.
//! What differs: `\d`, `\w`, `\s` and `\b` mean ASCII in RE2, and inside a class `[`, `&&`, `--` and
//! `~~` are literal.

use regex::Regex;

/// Compiles a pattern.
///
/// # Errors
/// Why the pattern isn't a regular expression, in Kubernetes' words where they are known.
pub(crate) fn compile(source: &str) -> Result<Regex, String> {
    Regex::new(&translated(source)).map_err(|error| {
        let error = error.to_string();
        let reason = error.lines().last().unwrap_or_default().trim();
        let reason = reason.strip_prefix("error: ").unwrap_or(reason);
        let known = match reason {
            "unclosed group" => "missing closing )",
            "unopened group" => "unexpected )",
            "unclosed character class" => "missing closing ]",
            "repetition operator missing expression" => "missing argument to repetition operator",
            other => other,
        };
        format!("error parsing regexp: {known}: `{source}`")
    })
}

fn translated(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 8);
    let mut chars = source.chars().peekable();
    // Whether a class is open, and whether anything stands in it yet.
    let mut class: Option<bool> = None;
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match (c, class) {
            ('\\', _) => {
                let Some(escaped) = chars.next() else {
                    out.push('\\');
                    break;
                };
                escape(escaped, class.is_some(), &mut out);
                class = class.map(|_| true);
            }
            ('[', None) => {
                out.push('[');
                class = Some(false);
                if next == Some('^') {
                    out.push('^');
                    chars.next();
                }
            }
            (']', Some(true)) => {
                out.push(']');
                class = None;
            }
            // First in a class, a bracket is itself.
            (']', Some(false)) => {
                out.push_str("\\]");
                class = Some(true);
            }
            ('[', Some(_)) if next == Some(':') => {
                out.push('[');
                // A named class such as `[:alpha:]` ends with its own bracket.
                for inner in chars.by_ref() {
                    out.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
                class = Some(true);
            }
            ('[', Some(_)) => {
                out.push_str("\\[");
                class = Some(true);
            }
            ('&' | '~', Some(_)) => {
                out.push('\\');
                out.push(c);
                class = Some(true);
            }
            ('-', Some(_)) if next == Some('-') => {
                out.push_str("\\-");
                class = Some(true);
            }
            (c, class_state) => {
                out.push(c);
                class = class_state.map(|_| true);
            }
        }
    }
    out
}

fn escape(escaped: char, in_class: bool, out: &mut String) {
    let ascii = match (escaped, in_class) {
        ('d', false) => "[0-9]",
        ('D', _) => "[^0-9]",
        ('w', false) => "[0-9A-Za-z_]",
        ('W', _) => "[^0-9A-Za-z_]",
        ('s', false) => r"[\t\n\f\r ]",
        ('S', _) => r"[^\t\n\f\r ]",
        ('d', true) => "0-9",
        ('w', true) => "0-9A-Za-z_",
        ('s', true) => r"\t\n\f\r\x20",
        ('b', false) => r"(?-u:\b)",
        (other, _) => {
            out.push('\\');
            out.push(other);
            return;
        }
    };
    out.push_str(ascii);
}

#[cfg(test)]
mod tests {
    use super::compile;

    #[test]
    fn classes_mean_ascii() {
        let table = [
            (r"^\d+$", "12", true),
            (r"^\d+$", "٣", false),
            (r"^[\w.]+$", "a_1.", true),
            (r"^[\w.]+$", "ä", false),
            (r"^\S+$", "ä", true),
            (r"^[^\s]+$", "a b", false),
            (r"^[[a]+$", "[a", true),
            (r"^[]a]+$", "]a", true),
            (r"^[^]]+$", "]", false),
            (r"^[a&&b]+$", "&", true),
            (r"^[[:alpha:]-]+$", "a-", true),
            (r"^\[x\]$", "[x]", true),
            (r"\bfoo\b", "a foo b", true),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(
                compile(pattern).unwrap().is_match(text),
                expected,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let error = compile("(").unwrap_err();
        assert_eq!(error, "error parsing regexp: missing closing ): `(`");
    }
}
