//! Parameters of the Query protocols as a tree: `Tags.member.1.Key=x` (Auto Scaling, STS) and
//! `Filter.1.Value.2=x` (EC2).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::AwsError;

/// Parts of one parameter name; AWS's deepest shapes need eight.
const DEEPEST: usize = 16;

/// A node of the parameter tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Params {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(default, skip_serializing_if = "Children::is_empty")]
    children: Children,
}

/// The nodes below one, in the order of their names. Not a map: launch templates keep such trees,
/// most nodes of which have one child or none, and the least node of a map takes a kilobyte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Children(Vec<(Box<str>, Params)>);

impl Children {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| (**known).cmp(name))
    }

    fn get(&self, name: &str) -> Option<&Params> {
        let place = self.place(name).ok()?;
        self.0.get(place).map(|(_, node)| node)
    }

    /// The node of that name, made when absent.
    fn entry(&mut self, name: &str) -> &mut Params {
        let place = self.place(name).unwrap_or_else(|place| {
            self.0.insert(place, (name.into(), Params::default()));
            place
        });
        &mut self.0[place].1
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &Params)> {
        self.0.iter().map(|(name, node)| (&**name, node))
    }
}

impl Serialize for Children {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Children {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = BTreeMap::<Box<str>, Params>::deserialize(deserializer)?;
        Ok(Self(map.into_iter().collect()))
    }
}

impl Params {
    /// The tree of a form-encoded body. Names that are too deep are dropped.
    pub(crate) fn parse(form: &[u8]) -> Self {
        let mut root = Self::default();
        for (name, value) in form_urlencoded::parse(form) {
            if name.split('.').count() <= DEEPEST {
                root.put(&name, value.into_owned());
            }
        }
        root
    }

    /// Sets the value at a dotted path.
    pub(crate) fn put(&mut self, path: &str, value: String) {
        let parts = path.split('.');
        let node = parts.fold(self, |node, part| node.children.entry(part));
        node.value = Some(value);
    }

    /// The node at a dotted path.
    pub(crate) fn at(&self, path: &str) -> Option<&Self> {
        path.split('.')
            .try_fold(self, |node, part| node.children.get(part))
    }

    /// This node's own value.
    pub(crate) fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// Names and nodes below.
    pub(crate) fn children(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.children.iter()
    }

    /// The text at a path.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.at(path).and_then(Self::value)
    }

    /// The text at a path, required and not empty.
    pub(crate) fn required(&self, path: &str) -> Result<&str, AwsError> {
        match self.text(path) {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(AwsError::missing(path)),
        }
    }

    /// The whole number at a path.
    pub(crate) fn int(&self, path: &str) -> Result<Option<i64>, AwsError> {
        self.text(path)
            .map(|text| {
                text.parse()
                    .map_err(|_| AwsError::malformed(path, text, "a whole number"))
            })
            .transpose()
    }

    /// The number at a path.
    pub(crate) fn number(&self, path: &str) -> Result<Option<f64>, AwsError> {
        self.text(path)
            .map(|text| {
                text.parse()
                    .ok()
                    .filter(|number: &f64| number.is_finite())
                    .ok_or_else(|| AwsError::malformed(path, text, "a number"))
            })
            .transpose()
    }

    /// The flag at a path.
    pub(crate) fn flag(&self, path: &str) -> Result<Option<bool>, AwsError> {
        match self.text(path) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(text) => Err(AwsError::malformed(path, text, "true or false")),
        }
    }

    /// The elements of the list at a path, in order, in either protocol's notation.
    pub(crate) fn list(&self, path: &str) -> Vec<&Self> {
        let Some(node) = self.at(path) else {
            return Vec::new();
        };
        node.children.get("member").unwrap_or(node).elements()
    }

    /// The texts of the list at a path.
    pub(crate) fn texts(&self, path: &str) -> Vec<&str> {
        self.list(path)
            .into_iter()
            .filter_map(Self::value)
            .collect()
    }

    /// Children named by numbers, in the order of the numbers.
    pub(crate) fn elements(&self) -> Vec<&Self> {
        let mut elements: Vec<(u32, &Self)> = self
            .children
            .iter()
            .filter_map(|(name, node)| Some((name.parse().ok()?, node)))
            .collect();
        elements.sort_unstable_by_key(|(index, _)| *index);
        elements.into_iter().map(|(_, node)| node).collect()
    }

    /// All leaves with their dotted names.
    pub(crate) fn leaves(&self) -> Vec<(String, &str)> {
        let mut leaves = Vec::new();
        self.collect_leaves(&mut String::new(), &mut leaves);
        leaves
    }

    fn collect_leaves<'a>(&'a self, path: &mut String, leaves: &mut Vec<(String, &'a str)>) {
        if let Some(value) = &self.value {
            leaves.push((path.clone(), value));
        }
        for (name, node) in self.children.iter() {
            let length = path.len();
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name);
            node.collect_leaves(path, leaves);
            path.truncate(length);
        }
    }
}

/// A tree as it is kept for long: its leaves in one text, which takes a fifth of the memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Packed {
    /// Name, value, name, value.
    text: Box<str>,
    /// Where each of them ends.
    ends: Box<[u32]>,
}

impl Packed {
    /// A tree's leaves.
    pub(crate) fn of(params: &Params) -> Self {
        let (mut text, mut ends) = (String::new(), Vec::new());
        for (name, value) in params.leaves() {
            for part in [&name, value] {
                text.push_str(part);
                ends.push(u32::try_from(text.len()).expect("no request is that large"));
            }
        }
        Self {
            text: text.into(),
            ends: ends.into(),
        }
    }

    /// The tree.
    pub(crate) fn params(&self) -> Params {
        let mut root = Params::default();
        for (name, value) in self.leaves() {
            root.put(name, value.to_owned());
        }
        root
    }

    /// The text at a path.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.leaves()
            .find(|(name, _)| *name == path)
            .map(|(_, value)| value)
    }

    /// All leaves with their dotted names.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut begin = 0;
        let mut parts = self.ends.iter().map(move |end| {
            let end = *end as usize;
            let part = &self.text[begin..end];
            begin = end;
            part
        });
        std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
    }
}

impl Serialize for Packed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.params().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Params::deserialize(deserializer).map(|params| Self::of(&params))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_list_notations_keep_their_order() {
        let params = Params::parse(b"A.member.2=b&A.member.10=c&A.member.1=a&F.1.Value.1=x");
        assert_eq!(params.texts("A"), ["a", "b", "c"]);
        assert_eq!(params.list("F")[0].texts("Value"), ["x"]);
    }

    #[test]
    fn values_are_decoded() {
        let params = Params::parse(b"Action=X&Name=a%2Fb+c");
        assert_eq!(params.text("Name"), Some("a/b c"));
        assert!(params.int("Name").is_err());
    }

    #[test]
    fn a_tree_is_saved_as_maps_and_read_back_from_them() {
        let params = Params::parse(b"B.2=y&A=x&B.10=z&A.C=&B.2=w");
        let saved = serde_json::to_string(&params).unwrap();
        let wanted = concat!(
            r#"{"children":{"A":{"value":"x","children":{"C":{"value":""}}},"#,
            r#""B":{"children":{"10":{"value":"z"},"2":{"value":"w"}}}}}"#,
        );
        assert_eq!(saved, wanted);
        assert_eq!(serde_json::from_str::<Params>(&saved).unwrap(), params);
        let packed: Packed = serde_json::from_str(&saved).unwrap();
        assert_eq!(serde_json::to_string(&packed).unwrap(), saved);
    }

    #[test]
    fn a_packed_tree_is_the_same_tree() {
        let params = Params::parse(b"B.2=y&A=x&A.C=&B.10=a%00b&A.D=%C3%A9");
        let packed = Packed::of(&params);
        assert_eq!(packed.params(), params);
        assert_eq!(packed.text("A.D"), Some("\u{e9}"));
        assert_eq!(packed.text("B.10"), Some("a\0b"));
        assert_eq!((packed.text("A.C"), packed.text("B")), (Some(""), None));
    }
}
