//! What is wrong with a JSON text, in the words of Go's decoder: clients and people know them.

use serde_json::Value;

use crate::schema::field_error::quote;

const END: &str = "unexpected end of JSON input";

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    ItemOrEnd,
    KeyOrEnd,
    Key,
    Colon,
    AfterItem,
    AfterField,
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Object,
    Array,
}

/// The first mistake of a text; `None` when it is one JSON value.
pub(crate) fn syntax_problem(text: &[u8]) -> Option<String> {
    let mut scan = Scan { rest: text };
    let mut inside: Vec<Inside> = Vec::new();
    let mut next = Next::Value;
    loop {
        let Some(byte) = scan.skip_space() else {
            return (next != Next::Nothing).then(|| END.to_owned());
        };
        let outcome = match (next, byte) {
            (Next::Nothing, _) => Err(wrong(byte, "after top-level value")),
            (Next::ItemOrEnd | Next::AfterItem, b']')
            | (Next::KeyOrEnd | Next::AfterField, b'}') => {
                inside.pop();
                scan.skip();
                Ok(after(&inside))
            }
            (Next::KeyOrEnd | Next::Key, b'"') => scan.string().map(|()| Next::Colon),
            (Next::KeyOrEnd | Next::Key, _) => {
                Err(wrong(byte, "looking for beginning of object key string"))
            }
            (Next::Colon, b':') | (Next::AfterItem, b',') => {
                scan.skip();
                Ok(Next::Value)
            }
            (Next::AfterField, b',') => {
                scan.skip();
                Ok(Next::Key)
            }
            (Next::Colon, _) => Err(wrong(byte, "after object key")),
            (Next::AfterItem, _) => Err(wrong(byte, "after array element")),
            (Next::AfterField, _) => Err(wrong(byte, "after object key:value pair")),
            (Next::Value | Next::ItemOrEnd, _) => scan.value(byte, &mut inside),
        };
        match outcome {
            Ok(state) => next = state,
            Err(problem) => return Some(problem),
        }
    }
}

fn after(inside: &[Inside]) -> Next {
    match inside.last() {
        None => Next::Nothing,
        Some(Inside::Object) => Next::AfterField,
        Some(Inside::Array) => Next::AfterItem,
    }
}

fn wrong(byte: u8, context: &str) -> String {
    let shown = match byte {
        b'\'' => "\\'".to_owned(),
        b'"' => "\"".to_owned(),
        _ => {
            let quoted = quote(&char::from(byte).to_string());
            quoted.trim_matches('"').to_owned()
        }
    };
    format!("invalid character '{shown}' {context}")
}

struct Scan<'a> {
    rest: &'a [u8],
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn skip(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    fn skip_space(&mut self) -> Option<u8> {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.skip();
        }
        self.peek()
    }

    fn value(&mut self, byte: u8, inside: &mut Vec<Inside>) -> Result<Next, String> {
        match byte {
            b'{' => {
                self.skip();
                inside.push(Inside::Object);
                return Ok(Next::KeyOrEnd);
            }
            b'[' => {
                self.skip();
                inside.push(Inside::Array);
                return Ok(Next::ItemOrEnd);
            }
            b'"' => self.string()?,
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.literal("true")?,
            b'f' => self.literal("false")?,
            b'n' => self.literal("null")?,
            _ => return Err(wrong(byte, "looking for beginning of value")),
        }
        Ok(after(inside))
    }

    fn string(&mut self) -> Result<(), String> {
        self.skip();
        loop {
            let byte = self.peek().ok_or(END)?;
            self.skip();
            match byte {
                b'"' => return Ok(()),
                b'\\' => self.escape()?,
                0..0x20 => return Err(wrong(byte, "in string literal")),
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        let byte = self.peek().ok_or(END)?;
        self.skip();
        match byte {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => Ok(()),
            b'u' => {
                for _ in 0..4 {
                    let digit = self.peek().ok_or(END)?;
                    if !digit.is_ascii_hexdigit() {
                        return Err(wrong(digit, "in \\u hexadecimal character escape"));
                    }
                    self.skip();
                }
                Ok(())
            }
            _ => Err(wrong(byte, "in string escape code")),
        }
    }

    fn digits(&mut self, context: &str) -> Result<(), String> {
        let byte = self.peek().ok_or(END)?;
        if !byte.is_ascii_digit() {
            return Err(wrong(byte, context));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.skip();
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), String> {
        if self.peek() == Some(b'-') {
            self.skip();
        }
        if self.peek() == Some(b'0') {
            self.skip();
        } else {
            self.digits("in numeric literal")?;
        }
        if self.peek() == Some(b'.') {
            self.skip();
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.skip();
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.skip();
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn literal(&mut self, word: &str) -> Result<(), String> {
        for expected in word.bytes() {
            let byte = self.peek().ok_or(END)?;
            if byte != expected {
                let context = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(wrong(byte, &context));
            }
            self.skip();
        }
        Ok(())
    }
}

/// The name of a value's type in the decoder's messages.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::syntax_problem;

    #[test]
    fn mistakes_are_told_in_the_decoders_words() {
        let table = [
            ("", "unexpected end of JSON input"),
            ("{\"a\": [1, ", "unexpected end of JSON input"),
            (
                "nonsense",
                "invalid character 'o' in literal null (expecting 'u')",
            ),
            ("{} x", "invalid character 'x' after top-level value"),
            (
                "{a",
                "invalid character 'a' looking for beginning of object key string",
            ),
            ("{\"a\" 1", "invalid character '1' after object key"),
            (
                "{\"a\": 1 2",
                "invalid character '2' after object key:value pair",
            ),
            ("[1 2", "invalid character '2' after array element"),
            (
                "[1,]",
                "invalid character ']' looking for beginning of value",
            ),
            ("[-x", "invalid character 'x' in numeric literal"),
            (
                "[1.x",
                "invalid character 'x' after decimal point in numeric literal",
            ),
            ("\"\\q", "invalid character 'q' in string escape code"),
            ("\"\n\"", "invalid character '\\n' in string literal"),
            (
                "'",
                "invalid character '\\'' looking for beginning of value",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(
                syntax_problem(text.as_bytes()).as_deref(),
                Some(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn what_serde_takes_has_no_mistake() {
        for text in [
            "null",
            " {\"a\": [1, -0.5e+3, \"\\u00e9\\\\\"], \"b\": {}} ",
            "[[], {}, true]",
        ] {
            assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
            assert_eq!(syntax_problem(text.as_bytes()), None, "{text}");
        }
    }
}
