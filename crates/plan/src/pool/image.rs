//! Image references, and the driver an image names (captf document 6.2).
//!
//! The last path segment of the repository decides; registry host, tag and digest do not. No image
//! is ever pulled.

use crate::{driver::Driver, error::Refusal, limits};

/// Every module name a native driver exists for.
pub const SUPPORTED: [(&str, Driver); 2] = [
    ("aws-machinepool", Driver::Aws),
    ("azure-machinepool", Driver::Azure),
];

/// An image reference by its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageReference<'a> {
    /// Path components of the repository, the registry host left out.
    pub path: Vec<&'a str>,
    /// `v0.3.0`.
    pub tag: Option<&'a str>,
    /// `sha256:…`.
    pub digest: Option<&'a str>,
}

/// Reads an image reference.
///
/// # Errors
/// What is wrong with it, in one clause.
pub fn parse(image: &str) -> Result<ImageReference<'_>, String> {
    if image.is_empty() || image.chars().count() > limits::IMAGE_CHARS {
        return Err(format!("must have 1 to {} characters", limits::IMAGE_CHARS));
    }
    let (named, digest) = match image.split_once('@') {
        Some((named, digest)) if is_digest(digest) => (named, Some(digest)),
        Some(_) => return Err("the part after @ is not a digest such as sha256:<hex>".to_owned()),
        None => (image, None),
    };
    let last_slash = named.rfind('/').map_or(0, |at| at + 1);
    let (repository, tag) = match named.get(last_slash..).and_then(|last| last.find(':')) {
        Some(at) => {
            let (repository, tag) = named.split_at(last_slash + at);
            (repository, Some(tag.trim_start_matches(':')))
        }
        None => (named, None),
    };
    if tag.is_some_and(|tag| !is_tag(tag)) {
        return Err("the tag holds characters that a tag cannot have".to_owned());
    }
    let mut path: Vec<&str> = repository.split('/').collect();
    if let [first, rest @ ..] = path.as_slice()
        && !rest.is_empty()
        && is_host(first)
    {
        path.remove(0);
    }
    if path.iter().any(|component| !is_component(component)) {
        return Err(
            "a repository path is made of lower-case letters, digits, dots, dashes and \
                    underscores"
                .to_owned(),
        );
    }
    Ok(ImageReference { path, tag, digest })
}

/// The driver an image names.
///
/// # Errors
/// `ImageInvalid` listing the supported names.
pub fn driver(image: &str) -> Result<Driver, Refusal> {
    let refuse = |message: String| Refusal {
        code: "ImageInvalid",
        subject: "spec.source.image".to_owned(),
        message,
        remedy: Some(format!("use an image named {}", supported_names())),
    };
    let reference =
        parse(image).map_err(|why| refuse(format!("{image:?} is no image reference: {why}")))?;
    let name = reference.path.last().copied().unwrap_or_default();
    SUPPORTED
        .iter()
        .find(|(supported, _)| *supported == name)
        .map(|(_, driver)| *driver)
        .ok_or_else(|| refuse(format!("no native driver is named {name:?} ({image})")))
}

/// A pool stays with the driver that made its group.
///
/// # Errors
/// `ImageInvalid` when the image now names another one.
pub fn same_driver(driver: Driver, recorded: Option<Driver>) -> Result<Driver, Refusal> {
    match recorded.filter(|recorded| *recorded != driver) {
        None => Ok(driver),
        Some(recorded) => Err(Refusal {
            code: "ImageInvalid",
            subject: "spec.source.image".to_owned(),
            message: format!(
                "the pool runs on {} and the image now names {}",
                recorded.name(),
                driver.name()
            ),
            remedy: Some("restore the image, or delete the pool and make a new one".to_owned()),
        }),
    }
}

fn supported_names() -> String {
    let names: Vec<&str> = SUPPORTED.iter().map(|(name, _)| *name).collect();
    names.join(" or ")
}

fn is_host(component: &str) -> bool {
    component == "localhost" || component.contains(['.', ':']) && !component.ends_with(['.', ':'])
}

fn is_component(component: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    component.starts_with(edge)
        && component.ends_with(edge)
        && component
            .chars()
            .all(|c| edge(c) || matches!(c, '.' | '-' | '_'))
}

fn is_tag(tag: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    tag.len() <= 128
        && tag.starts_with(word)
        && tag.chars().all(|c| word(c) || matches!(c, '.' | '-'))
}

fn is_digest(digest: &str) -> bool {
    digest.split_once(':').is_some_and(|(algorithm, hex)| {
        !algorithm.is_empty()
            && algorithm
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
            && hex.len() >= 32
            && hex.chars().all(|c| c.is_ascii_hexdigit())
    })
}
