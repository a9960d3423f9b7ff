//! The way to a field, kept on the stack: rendered only when something is wrong.

use std::fmt;

/// A path from the root of an object to a field.
#[derive(Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The object itself.
    Root,
    /// A field of an object, `.name`.
    Field(&'a Path<'a>, &'a str),
    /// An entry of a list, `[3]`.
    Index(&'a Path<'a>, usize),
    /// An entry of a map, `[key]`.
    Key(&'a Path<'a>, &'a str),
}

impl<'a> Path<'a> {
    /// The path of a field below this one.
    pub(crate) fn field(&'a self, name: &'a str) -> Path<'a> {
        Path::Field(self, name)
    }

    /// The path of a list entry below this one.
    pub(crate) fn index(&'a self, index: usize) -> Path<'a> {
        Path::Index(self, index)
    }

    /// The path of a map entry below this one.
    pub(crate) fn key(&'a self, key: &'a str) -> Path<'a> {
        Path::Key(self, key)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Field(Path::Root, name) => f.write_str(name),
            Path::Field(parent, name) => write!(f, "{parent}.{name}"),
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
            Path::Key(parent, key) => write!(f, "{parent}[{key}]"),
        }
    }
}
