//! The pages there are, and their addresses.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What a part of a path keeps as it is.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// All pools.
    Overview(Filter),
    /// One pool.
    Pool {
        namespace: String,
        name: String,
        /// Every machine is listed, however many there are.
        all: bool,
    },
    /// A member of a pool that no Machine stands for.
    Member {
        namespace: String,
        pool: String,
        id: String,
    },
    /// A Machine.
    Machine { namespace: String, name: String },
    /// Cloud calls.
    Calls,
}

/// What of the overview is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// Only this namespace.
    pub(crate) namespace: Option<String>,
    /// Only pools whose name, namespace or cluster holds this.
    pub(crate) words: String,
    /// Page, from 0.
    pub(crate) page: usize,
}

impl Place {
    /// Its path and query.
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Overview(filter) => filter.path(),
            Self::Pool {
                namespace,
                name,
                all,
            } => {
                let all = if *all { "?all=1" } else { "" };
                format!("/pools/{}/{}{all}", part(namespace), part(name))
            }
            Self::Member {
                namespace,
                pool,
                id,
            } => format!(
                "/pools/{}/{}/machines/{}",
                part(namespace),
                part(pool),
                part(id)
            ),
            Self::Machine { namespace, name } => {
                format!("/machines/{}/{}", part(namespace), part(name))
            }
            Self::Calls => "/calls".to_owned(),
        }
    }

    /// The page at a path and query of this server; `None` for anything else. Foreign addresses
    /// are nowhere, so that nobody can be sent there.
    pub(crate) fn at(path_and_query: &str) -> Option<Self> {
        let (path, query) = path_and_query
            .split_once('?')
            .unwrap_or((path_and_query, ""));
        let asked = |key: &str| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            let found = pairs.find(|(name, _)| name == key)?.1.trim().to_owned();
            Some(found).filter(|value| !value.is_empty())
        };
        let parts: Vec<String> = path
            .strip_prefix('/')?
            .split('/')
            .map(|part| percent_decode_str(part).decode_utf8().map(Into::into))
            .collect::<Result<_, _>>()
            .ok()?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Some(match parts.as_slice() {
            [""] => Self::Overview(Filter {
                namespace: asked("namespace"),
                words: asked("q").unwrap_or_default(),
                page: asked("page")
                    .and_then(|page| page.parse().ok())
                    .unwrap_or(0),
            }),
            ["pools", namespace, name] if filled(&[namespace, name]) => Self::Pool {
                namespace: (*namespace).to_owned(),
                name: (*name).to_owned(),
                all: asked("all").is_some(),
            },
            ["pools", namespace, pool, "machines", id] if filled(&[namespace, pool, id]) => {
                Self::Member {
                    namespace: (*namespace).to_owned(),
                    pool: (*pool).to_owned(),
                    id: (*id).to_owned(),
                }
            }
            ["machines", namespace, name] if filled(&[namespace, name]) => Self::Machine {
                namespace: (*namespace).to_owned(),
                name: (*name).to_owned(),
            },
            ["calls"] => Self::Calls,
            _ => return None,
        })
    }

    /// A pool's page.
    pub(crate) fn pool(namespace: &str, name: &str) -> Self {
        Self::Pool {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            all: false,
        }
    }
}

impl Filter {
    /// Path and query of the overview it describes.
    pub(crate) fn path(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if let Some(namespace) = &self.namespace {
            query.append_pair("namespace", namespace);
        }
        if !self.words.is_empty() {
            query.append_pair("q", &self.words);
        }
        if self.page > 0 {
            query.append_pair("page", &self.page.to_string());
        }
        match query.finish() {
            query if query.is_empty() => "/".to_owned(),
            query => format!("/?{query}"),
        }
    }
}

fn part(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, KEPT)
}

/// Names that could lead out of their place in an address of the API are none.
fn filled(parts: &[&str]) -> bool {
    parts
        .iter()
        .all(|part| !matches!(*part, "" | "." | "..") && !part.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_back_to_their_place() {
        let places = [
            Place::Overview(Filter::default()),
            Place::Overview(Filter {
                namespace: Some("team-a".into()),
                words: "a & b".into(),
                page: 3,
            }),
            Place::pool("team-a", "demo-pool-0"),
            Place::Pool {
                namespace: "a".into(),
                name: "b".into(),
                all: true,
            },
            Place::Member {
                namespace: "a".into(),
                pool: "b".into(),
                id: "i-0/&?\"<ü".replace('/', "_"),
            },
            Place::Machine {
                namespace: "a".into(),
                name: "b".into(),
            },
            Place::Calls,
        ];
        for place in places {
            assert_eq!(
                Place::at(&place.path()),
                Some(place.clone()),
                "{}",
                place.path()
            );
        }
    }

    #[test]
    fn foreign_addresses_are_nowhere() {
        for address in [
            "https://example.com/",
            "//example.com/",
            "/pools//",
            "/pools/../x",
            "/pools/a/%2e%2e",
            "/pools/a/b%2Fc",
            "",
            "/nowhere",
            "/machines/a",
            "javascript:alert(1)",
        ] {
            assert_eq!(Place::at(address), None, "{address}");
        }
    }
}
