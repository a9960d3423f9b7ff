//! Fields that occur twice in a JSON object: a parser keeps the last and says nothing.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// From so many fields on they are compared by hash.
const MANY: usize = 16;

/// The paths of fields that occur more than once, for example `spec.replicas`.
pub(crate) fn find(json: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let walk = Walk {
        at: None,
        found: &mut found,
    };
    // A text that is no JSON is refused elsewhere.
    let _ = walk.deserialize(&mut deserializer);
    found
}

/// One place of the text.
struct Walk<'a> {
    at: Option<&'a Place<'a>>,
    found: &'a mut Vec<String>,
}

/// A field or an item, and what it is in. Hardly ever a path is asked for, so none is written
/// before.
struct Place<'a> {
    within: Option<&'a Place<'a>>,
    step: Step<'a>,
}

enum Step<'a> {
    Field(&'a str),
    Item(usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(within) = self.within {
            within.fmt(f)?;
        }
        match self.step {
            Step::Field(name) if self.within.is_some() => write!(f, ".{name}"),
            Step::Field(name) => f.write_str(name),
            Step::Item(index) => write!(f, "[{index}]"),
        }
    }
}

/// The names of one object's fields so far.
#[derive(Default)]
struct Names<'de> {
    few: Vec<Cow<'de, str>>,
    many: HashSet<Cow<'de, str>>,
}

impl<'de> Names<'de> {
    /// `false`: it was there before.
    fn insert(&mut self, name: Cow<'de, str>) -> bool {
        if self.few.len() == MANY {
            self.many.extend(self.few.drain(..));
        }
        if !self.many.is_empty() {
            return self.many.insert(name);
        }
        let is_new = !self.few.contains(&name);
        if is_new {
            self.few.push(name);
        }
        is_new
    }
}

/// A name, borrowed from the text where it holds nothing escaped.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut names = Names::default();
        while let Some(name) = map.next_key_seed(Name)? {
            let place = Place {
                within: self.at,
                step: Step::Field(&name),
            };
            if !names.insert(name.clone()) {
                let path = place.to_string();
                if !self.found.contains(&path) {
                    self.found.push(path);
                }
            }
            map.next_value_seed(Walk {
                at: Some(&place),
                found: self.found,
            })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        for index in 0.. {
            let place = Place {
                within: self.at,
                step: Step::Item(index),
            };
            let walk = Walk {
                at: Some(&place),
                found: self.found,
            };
            if list.next_element_seed(walk)?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        IgnoredAny::deserialize(deserializer).map(drop)
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn every_repeated_field_is_named_once() {
        let json =
            br#"{"a": 1, "b": {"c": [{"d": null}, {"d": true, "d": 2.5, "d": "x"}]}, "a": {}}"#;
        assert_eq!(find(json), ["b.c[1].d", "a"]);
        assert!(find(br#"{"a": {"b": 1}, "b": {"a": 1}}"#).is_empty());
        assert!(find(b"{\"a\": ").is_empty());
        let many: Vec<String> = (0..40).map(|n| format!("\"f{}\": 1", n % 39)).collect();
        assert_eq!(
            find(format!("[{{{}}}]", many.join(",")).as_bytes()),
            ["[0].f0"]
        );
        assert_eq!(find(br#"{"\u0061": 1, "a": 2, "a": 3}"#), ["a"]);
    }
}
