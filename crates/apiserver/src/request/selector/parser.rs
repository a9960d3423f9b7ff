//! From text to requirements, with refusals in Kubernetes' words.

use super::{Requirement, Test};
use crate::metadata::{label_key_problems, label_value_problem};

/// One token, with the text that refusals show.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    Unknown(String),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(text) | Self::Unknown(text) => text,
            Self::Symbol(symbol) => symbol,
            Self::End => "",
        }
    }
}

/// Symbols, the longer ones first.
const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", "<", ">"];

fn tokens(text: &str) -> Vec<Token> {
    let mut rest = text.trim_start();
    let mut out = Vec::new();
    while let Some(first) = rest.chars().next() {
        let special = |letter: char| "=!(),<>".contains(letter);
        let taken = if special(first) {
            let found = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
            out.push(found.map_or_else(
                || Token::Unknown(first.into()),
                |symbol| Token::Symbol(symbol),
            ));
            found.map_or(first.len_utf8(), |symbol| symbol.len())
        } else {
            let end = rest.find(|letter: char| special(letter) || letter.is_whitespace());
            let (word, _) = rest.split_at(end.unwrap_or(rest.len()));
            out.push(Token::Word(word.to_owned()));
            word.len()
        };
        rest = rest.get(taken..).unwrap_or_default().trim_start();
    }
    out.push(Token::End);
    out
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
}

/// Parses a selector.
///
/// # Errors
/// The first mistake.
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let mut parser = Parser {
        tokens: tokens(text).into_iter().peekable(),
    };
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            Token::End => return Ok(requirements),
            Token::Word(_) | Token::Symbol("!") => {}
            other => {
                let found = other.text();
                return Err(format!(
                    "found '{found}', expected: !, identifier, or 'end of string'"
                ));
            }
        }
        let requirement = parser.requirement();
        requirements
            .push(requirement.map_err(|why| format!("unable to parse requirement: {why}"))?);
        match parser.next() {
            Token::End => return Ok(requirements),
            Token::Symbol(",") => {}
            other => {
                return Err(format!(
                    "found '{}', expected: ',' or 'end of string'",
                    other.text()
                ));
            }
        }
        let follows = parser.peek();
        if !matches!(follows, Token::Word(_) | Token::Symbol("!")) {
            return Err(format!(
                "found '{}', expected: identifier after ','",
                follows.text()
            ));
        }
    }
}

impl Parser {
    fn peek(&mut self) -> Token {
        self.tokens.peek().cloned().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token {
        self.tokens.next().unwrap_or(Token::End)
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.next();
        let absent = token == Token::Symbol("!");
        if absent {
            token = self.next();
        }
        let Token::Word(key) = token else {
            return Err(format!("found '{}', expected: identifier", token.text()));
        };
        let problems = label_key_problems(&key);
        if !problems.is_empty() {
            return Err(format!(
                "<nil>: Invalid value: {key:?}: {}",
                problems.join("; ")
            ));
        }
        if absent {
            return Ok(Requirement {
                key,
                test: Test::Absent,
            });
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(Requirement {
                key,
                test: Test::Exists,
            });
        }
        let test = self.test(&key)?;
        Ok(Requirement { key, test })
    }

    fn test(&mut self, key: &str) -> Result<Test, String> {
        let operator = self.next();
        Ok(match operator.text() {
            "in" => Test::In(self.list(key)?),
            "notin" => Test::NotIn(self.list(key)?),
            "=" | "==" => Test::In(vec![self.value(key)?]),
            "!=" => Test::NotIn(vec![self.value(key)?]),
            ">" => Test::Greater(self.number()?),
            "<" => Test::Less(self.number()?),
            other => {
                return Err(format!(
                    "found '{other}', expected: in, notin, =, ==, !=, gt, lt"
                ));
            }
        })
    }

    fn word(&mut self) -> Result<String, String> {
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(String::new()),
            Token::Word(word) => {
                self.next();
                Ok(word)
            }
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn value(&mut self, key: &str) -> Result<String, String> {
        let value = self.word()?;
        check_values(key, std::slice::from_ref(&value))?;
        Ok(value)
    }

    fn number(&mut self) -> Result<i64, String> {
        let value = self.word()?;
        value.parse().map_err(|_| {
            format!(
                "values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be \
                 an integer"
            )
        })
    }

    /// The values between parentheses, sorted.
    fn list(&mut self, key: &str) -> Result<Vec<String>, String> {
        let open = self.next();
        if open != Token::Symbol("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        let mut values = match self.peek() {
            Token::Word(_) | Token::Symbol(",") => self.words()?,
            Token::Symbol(")") => Vec::new(),
            other => {
                let found = other.text();
                return Err(format!("found '{found}', expected: ',', ')' or identifier"));
            }
        };
        self.next();
        values.sort_unstable();
        values.dedup();
        check_values(key, &values)?;
        Ok(values)
    }

    /// Words up to a closing parenthesis; nothing between two commas is an empty word.
    fn words(&mut self) -> Result<Vec<String>, String> {
        let mut words = Vec::new();
        loop {
            match self.next() {
                Token::Word(word) => {
                    words.push(word);
                    match self.peek() {
                        Token::Symbol(",") => {}
                        Token::Symbol(")") => return Ok(words),
                        other => {
                            return Err(format!("found '{}', expected: ',' or ')'", other.text()));
                        }
                    }
                }
                Token::Symbol(",") => {
                    if words.is_empty() {
                        words.push(String::new());
                    }
                    match self.peek() {
                        Token::Symbol(")") => {
                            words.push(String::new());
                            return Ok(words);
                        }
                        Token::Symbol(",") => {
                            self.next();
                            words.push(String::new());
                        }
                        _ => {}
                    }
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: ',', or identifier",
                        other.text()
                    ));
                }
            }
        }
    }
}

fn check_values(key: &str, values: &[String]) -> Result<(), String> {
    let problem = |(index, value): (usize, &String)| {
        let why = label_value_problem(value)?;
        Some(format!(
            "values[{index}][{key}]: Invalid value: {value:?}: {why}"
        ))
    };
    match values.iter().enumerate().find_map(problem) {
        Some(problem) => Err(problem),
        None => Ok(()),
    }
}
