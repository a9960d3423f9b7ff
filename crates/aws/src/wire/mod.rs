//! Plan types to request parameters, and answers to plan types. Pure; no call is made here.
//!
//! | file | what |
//! | --- | --- |
//! | `group` | Auto Scaling groups, policies, refreshes, activities |
//! | `foreign` | what a template holds beyond our shape |
//! | `template` | launch templates and their data, both ways |
//! | `instance` | instances to members |
//! | `image` | the image lookup |
//! | `payload` | object tags |

mod foreign;
pub(crate) mod group;
pub(crate) mod image;
pub(crate) mod instance;
pub(crate) mod payload;
pub(crate) mod template;

use std::collections::BTreeMap;

use crate::{ec2::Parameters, xml::Node};

/// Adds `Filter.<number>.Name` and its values.
pub(crate) fn filter<'a>(
    parameters: &mut Parameters,
    number: usize,
    name: &str,
    values: impl IntoIterator<Item = &'a str>,
) {
    push(parameters, format!("Filter.{number}.Name"), name);
    for (index, value) in values.into_iter().enumerate() {
        push(
            parameters,
            format!("Filter.{number}.Value.{}", index + 1),
            value,
        );
    }
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(u32::from(digit), 16));
        }
    }
    text
}

/// Adds one parameter.
pub(crate) fn push(parameters: &mut Parameters, name: impl Into<String>, value: impl ToString) {
    parameters.push((name.into(), value.to_string()));
}

/// Adds `<prefix>.<n>.Key` and `.Value`; an empty value is a value.
pub(crate) fn tags(parameters: &mut Parameters, prefix: &str, tags: &BTreeMap<String, String>) {
    for (index, (key, value)) in tags.iter().enumerate() {
        let number = index + 1;
        push(parameters, format!("{prefix}.{number}.Key"), key);
        push(parameters, format!("{prefix}.{number}.Value"), value);
    }
}

/// Reads a `tagSet`.
pub(crate) fn read_tags(node: Node<'_>) -> BTreeMap<String, String> {
    node.items("tagSet")
        .filter_map(|tag| {
            let key = tag.text_at(&["key"])?;
            Some((
                key.to_owned(),
                tag.text_at(&["value"]).unwrap_or_default().to_owned(),
            ))
        })
        .collect()
}
