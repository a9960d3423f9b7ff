//! An XML answer as a tree of names and texts. EC2 answers name list entries in several ways and
//! grow fields over time; a tree reads what it knows and shows what it does not.

use quick_xml::{Reader, XmlVersion, events::Event};

/// An element.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// Local name.
    pub(crate) name: String,
    /// Own text, trimmed.
    pub(crate) text: String,
    /// Child elements in order.
    pub(crate) children: Vec<Node>,
}

impl Node {
    /// Parses a document; the result is its root element.
    ///
    /// # Errors
    /// What is wrong with the text. The text itself is not repeated.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
        let mut reader = Reader::from_str(text);
        let mut open = vec![Self::default()];
        loop {
            match reader.read_event().map_err(|error| error.to_string())? {
                Event::Start(start) => open.push(Self::named(start.local_name().as_ref())),
                Event::Empty(empty) => {
                    let node = Self::named(empty.local_name().as_ref());
                    innermost(&mut open).children.push(node);
                }
                Event::End(_) => {
                    let mut node = open.pop().ok_or("an end without a start")?;
                    node.text = node.text.trim().into();
                    open.last_mut()
                        .ok_or("an end without a start")?
                        .children
                        .push(node);
                }
                Event::Text(text) => innermost(&mut open)
                    .text
                    .push_str(&text.xml_content(XmlVersion::Implicit1_0)),
                Event::CData(text) => innermost(&mut open).text.push_str(text.as_ref()),
                Event::GeneralRef(reference) => {
                    let character = match reference
                        .resolve_char_ref()
                        .map_err(|error| error.to_string())?
                    {
                        Some(character) => character,
                        None => predefined(reference.as_ref()).ok_or("an unknown entity")?,
                    };
                    innermost(&mut open).text.push(character);
                }
                Event::Eof => break,
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
        if open.len() != 1 {
            return Err("the document ends inside an element".to_owned());
        }
        let mut document = open.pop().ok_or("no document")?;
        if document.children.is_empty() {
            return Err("no element".to_owned());
        }
        Ok(document.children.swap_remove(0))
    }

    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// The first child of that name.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Text of the element at a path of names; `None` when it is absent or empty.
    pub(crate) fn text_at(&self, path: &[&str]) -> Option<&str> {
        let mut node = self;
        for name in path {
            node = node.child(name)?;
        }
        (!node.text.is_empty()).then_some(node.text.as_str())
    }

    /// Entries of the list element of that name, whatever they are called.
    pub(crate) fn items(&self, list: &str) -> &[Self] {
        self.child(list)
            .map_or(&[], |list| list.children.as_slice())
    }

    /// Neither text nor children anywhere below.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.is_empty() && self.children.iter().all(Self::is_blank)
    }
}

fn innermost(open: &mut [Node]) -> &mut Node {
    open.last_mut()
        .expect("the document node is never closed: an end event pops only after a start pushed")
}

fn predefined(entity: &str) -> Option<char> {
    match entity {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_texts_and_entities_are_read() {
        let root = Node::parse(
            b"<?xml version=\"1.0\"?><R xmlns=\"x\"><set><item><k>a&amp;b &#65;</k></item>\n\
              <item/></set><empty/></R>",
        )
        .expect("a document");
        assert_eq!(root.name, "R");
        assert_eq!(root.items("set").len(), 2);
        assert_eq!(root.items("set")[0].text_at(&["k"]), Some("a&b A"));
        assert_eq!(root.text_at(&["empty"]), None);
        assert!(root.child("empty").expect("it is there").is_blank());
    }

    #[test]
    fn a_torn_document_is_an_error() {
        assert!(Node::parse(b"<a><b>").is_err());
        assert!(Node::parse(b"").is_err());
        assert!(Node::parse(b"Internal Server Error").is_err());
    }
}
