//! An XML answer as a tree of names and texts. EC2 answers name list entries in several ways and
//! grow fields over time; a tree reads what it knows and shows what it does not.
//!
//! A page of a thousand instances has a hundred thousand elements. So a [`Document`] is flat: one
//! text, and one entry of 16 bytes an element in the order of the start tags.

use std::collections::HashMap;

use quick_xml::{Reader, XmlVersion, events::Event};

/// A document: at least its root element.
#[derive(Debug)]
pub(crate) struct Document {
    elements: Vec<Element>,
    names: Vec<Box<str>>,
    /// The texts of all elements, trimmed.
    text: String,
}

#[derive(Debug)]
struct Element {
    /// Local name, by its place among the names.
    name: u32,
    /// Own text: where in the document's it begins and ends.
    text: (u32, u32),
    /// The element behind the last one within.
    end: u32,
}

/// An element of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node<'a> {
    document: &'a Document,
    place: usize,
}

impl Document {
    /// Parses a document.
    ///
    /// # Errors
    /// What is wrong with the text. The text itself is not repeated.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
        let mut reader = Reader::from_str(text);
        let mut builder = Builder::default();
        loop {
            match reader.read_event().map_err(|error| error.to_string())? {
                Event::Start(start) => builder.open(start.local_name().as_ref())?,
                Event::Empty(empty) => {
                    builder.open(empty.local_name().as_ref())?;
                    builder.close()?;
                }
                Event::End(_) => builder.close()?,
                Event::Text(text) => builder
                    .own_text()
                    .push_str(&text.xml_content(XmlVersion::Implicit1_0)),
                Event::CData(text) => builder.own_text().push_str(text.as_ref()),
                Event::GeneralRef(reference) => {
                    let character = match reference
                        .resolve_char_ref()
                        .map_err(|error| error.to_string())?
                    {
                        Some(character) => character,
                        None => predefined(reference.as_ref()).ok_or("an unknown entity")?,
                    };
                    builder.own_text().push(character);
                }
                Event::Eof => return builder.finish(),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
    }

    /// The root element.
    pub(crate) fn root(&self) -> Node<'_> {
        Node {
            document: self,
            place: 0,
        }
    }
}

/// A document under construction.
#[derive(Default)]
struct Builder {
    elements: Vec<Element>,
    names: Vec<Box<str>>,
    places: HashMap<Box<str>, u32>,
    text: String,
    /// Elements that have begun and not ended, outermost first.
    open: Vec<usize>,
    /// Their own texts, the document's before them. Texts of elements that have ended stay behind
    /// as space for others.
    own: Vec<String>,
}

impl Builder {
    fn open(&mut self, name: &str) -> Result<(), String> {
        let known = self.places.get(name).copied();
        let name = if let Some(place) = known {
            place
        } else {
            let place = small(self.names.len())?;
            self.names.push(name.into());
            self.places.insert(name.into(), place);
            place
        };
        self.open.push(self.elements.len());
        self.own_text().clear();
        self.elements.push(Element {
            name,
            text: (0, 0),
            end: 0,
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let depth = self.open.len();
        let place = self.open.pop().ok_or("an end without a start")?;
        let begin = small(self.text.len())?;
        if let Some(own) = self.own.get(depth) {
            self.text.push_str(own.trim());
        }
        let text = (begin, small(self.text.len())?);
        let end = small(self.elements.len())?;
        if let Some(element) = self.elements.get_mut(place) {
            element.text = text;
            element.end = end;
        }
        Ok(())
    }

    /// The text so far of the innermost element that is open.
    fn own_text(&mut self) -> &mut String {
        let depth = self.open.len();
        if self.own.len() <= depth {
            self.own.resize_with(depth + 1, String::new);
        }
        &mut self.own[depth]
    }

    fn finish(self) -> Result<Document, String> {
        if !self.open.is_empty() {
            return Err("the document ends inside an element".to_owned());
        }
        if self.elements.is_empty() {
            return Err("no element".to_owned());
        }
        Ok(Document {
            elements: self.elements,
            names: self.names,
            text: self.text,
        })
    }
}

fn small(length: usize) -> Result<u32, String> {
    u32::try_from(length).map_err(|_| "the document is too large".to_owned())
}

impl<'a> Node<'a> {
    fn element(self) -> &'a Element {
        &self.document.elements[self.place]
    }

    /// Local name.
    pub(crate) fn name(self) -> &'a str {
        &self.document.names[self.element().name as usize]
    }

    /// Own text, trimmed.
    pub(crate) fn text(self) -> &'a str {
        let (begin, end) = self.element().text;
        &self.document.text[begin as usize..end as usize]
    }

    /// Child elements in order.
    pub(crate) fn children(self) -> impl Iterator<Item = Self> + use<'a> {
        let end = self.element().end as usize;
        let at = move |place: usize| {
            (place < end).then_some(Self {
                document: self.document,
                place,
            })
        };
        std::iter::successors(at(self.place + 1), move |child| {
            at(child.element().end as usize)
        })
    }

    /// The first child of that name.
    pub(crate) fn child(self, name: &str) -> Option<Self> {
        self.children().find(|child| child.name() == name)
    }

    /// Text of the element at a path of names; `None` when it is absent or empty.
    pub(crate) fn text_at(self, path: &[&str]) -> Option<&'a str> {
        let mut node = self;
        for name in path {
            node = node.child(name)?;
        }
        Some(node.text()).filter(|text| !text.is_empty())
    }

    /// Entries of the list element of that name, whatever they are called.
    pub(crate) fn items(self, list: &str) -> impl Iterator<Item = Self> + use<'a> {
        self.child(list).into_iter().flat_map(Self::children)
    }

    /// Neither text nor children anywhere below.
    pub(crate) fn is_blank(self) -> bool {
        let all = &self.document.elements[self.place..self.element().end as usize];
        all.iter().all(|element| element.text.0 == element.text.1)
    }
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
        let document = Document::parse(
            b"<?xml version=\"1.0\"?><R xmlns=\"x\"><set><item><k>a&amp;b &#65;</k></item>\n\
              <item/></set><empty/></R>",
        )
        .expect("a document");
        let root = document.root();
        assert_eq!(root.name(), "R");
        let items: Vec<Node<'_>> = root.items("set").collect();
        assert_eq!(items.len(), 2);
        assert_eq!(items[0].text_at(&["k"]), Some("a&b A"));
        assert!(items[1].is_blank() && !items[0].is_blank());
        assert_eq!(root.text_at(&["empty"]), None);
        assert!(root.child("empty").expect("it is there").is_blank());
    }

    #[test]
    fn an_elements_own_text_is_apart_from_that_of_what_is_within() {
        let document = Document::parse(b"<a> x <b>in<c/></b><b> </b>y &lt;<![CDATA[ z]]> </a>")
            .expect("a document");
        let root = document.root();
        assert_eq!(root.text(), "x y < z");
        let texts: Vec<&str> = root.children().map(Node::text).collect();
        assert_eq!(texts, ["in", ""]);
        assert_eq!(
            root.child("b").and_then(|b| b.child("c")).map(Node::name),
            Some("c")
        );
        assert!(root.child("c").is_none());
    }

    #[test]
    fn a_torn_document_is_an_error() {
        assert!(Document::parse(b"<a><b>").is_err());
        assert!(Document::parse(b"").is_err());
        assert!(Document::parse(b"Internal Server Error").is_err());
    }
}
