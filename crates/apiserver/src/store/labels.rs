//! The labels of one object, in one text.

/// Labels, in the order of their keys.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct Labels {
    /// Keys and values, each behind the one before.
    text: Box<str>,
    /// Where each of them ends.
    ends: Box<[u32]>,
}

impl Labels {
    /// Every label.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let (pairs, _) = self.ends.as_chunks::<2>();
        let mut start = 0;
        pairs.iter().map(move |&[middle, end]| {
            let from = start;
            start = end as usize;
            let middle = middle as usize;
            (&self.text[from..middle], &self.text[middle..start])
        })
    }

    /// The value of a label.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.iter()
            .find_map(|(known, value)| (known == key).then_some(value))
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Labels {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(labels: I) -> Self {
        let (mut text, mut ends) = (String::new(), Vec::new());
        for part in labels.into_iter().flat_map(|(key, value)| [key, value]) {
            text.push_str(part);
            ends.push(u32::try_from(text.len()).expect("an object is far below 4 GiB"));
        }
        Self {
            text: text.into(),
            ends: ends.into(),
        }
    }
}

impl std::fmt::Debug for Labels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_label_is_found_under_its_key() {
        let given = [
            ("", "none"),
            ("a", ""),
            ("app/\u{e9}", "\u{e9}\0x"),
            ("b", "a"),
        ];
        let labels: Labels = given.into_iter().collect();
        assert!(labels.iter().eq(given));
        for (key, value) in given {
            assert_eq!(labels.get(key), Some(value));
        }
        assert_eq!(labels.get("app"), None);
        assert_eq!(Labels::default().get(""), None);
    }
}
