//! Writing XML answers: a text that grows, no tree.

use std::fmt::{Display, Write};

/// An XML fragment under construction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Xml {
    out: String,
}

impl Xml {
    /// An empty fragment.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// An empty fragment with room for what is to come.
    pub(crate) fn with_room_for(bytes: usize) -> Self {
        Self {
            out: String::with_capacity(bytes),
        }
    }

    /// An element around what `fill` writes.
    pub(crate) fn within(&mut self, tag: &str, fill: impl FnOnce(&mut Self)) {
        self.open(tag);
        fill(self);
        self.close(tag);
    }

    /// A list element with one `item` element an entry.
    pub(crate) fn list<T>(
        &mut self,
        tag: &str,
        item: &str,
        entries: impl IntoIterator<Item = T>,
        mut fill: impl FnMut(&mut Self, T),
    ) {
        self.open(tag);
        for entry in entries {
            self.open(item);
            fill(self, entry);
            self.close(item);
        }
        self.close(tag);
    }

    /// An element with a text.
    pub(crate) fn text(&mut self, tag: &str, text: &str) {
        self.open(tag);
        self.escape(text);
        self.close(tag);
    }

    /// An element with a text, if there is one.
    pub(crate) fn optional(&mut self, tag: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(tag, text);
        }
    }

    /// An element with something that prints without characters XML reserves: numbers and flags.
    pub(crate) fn plain(&mut self, tag: &str, value: impl Display) {
        self.open(tag);
        write!(self.out, "{value}").expect("writing to a String does not fail");
        self.close(tag);
    }

    /// Text content inside the open element.
    pub(crate) fn escape(&mut self, text: &str) {
        // Nearly every text is plain, and answers get large.
        let reserved = |byte| matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\r');
        if !text.bytes().any(reserved) {
            self.out.push_str(text);
            return;
        }
        for character in text.chars() {
            match character {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                // A bare carriage return would reach the reader as a line feed.
                '\r' => self.out.push_str("&#13;"),
                other => self.out.push(other),
            }
        }
    }

    /// Another fragment in front of this one, which may be large and stays where it is.
    pub(crate) fn put_before(&mut self, other: &Self) {
        self.out.insert_str(0, &other.out);
    }

    /// Markup that is already XML.
    pub(crate) fn raw(&mut self, markup: &str) {
        self.out.push_str(markup);
    }

    /// The text so far.
    pub(crate) fn finish(self) -> String {
        self.out
    }

    fn open(&mut self, tag: &str) {
        self.out.push('<');
        self.out.push_str(tag);
        self.out.push('>');
    }

    fn close(&mut self, tag: &str) {
        self.out.push_str("</");
        self.out.push_str(tag);
        self.out.push('>');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_characters_are_escaped() {
        let mut xml = Xml::new();
        xml.text("a", "<x & \"y\">\r\n");
        assert_eq!(xml.finish(), "<a>&lt;x &amp; &quot;y&quot;&gt;&#13;\n</a>");
    }
}
