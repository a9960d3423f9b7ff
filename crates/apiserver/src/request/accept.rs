//! The wished form of the answer, from the `Accept` header.

use http::HeaderMap;

use crate::status_error::{Failure, Outcome};

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Object,
    Table,
    /// `PartialObjectMetadata`, or its list.
    Metadata,
}

/// Form and encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) form: Form,
    pub(crate) yaml: bool,
    /// The version of `meta.k8s.io` that tables and metadata come in.
    pub(crate) version: &'static str,
}

/// Which shape of discovery is wished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Discovery {
    Plain,
    AggregatedV2,
    AggregatedV2Beta1,
}

struct Clause<'a> {
    media: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl Clause<'_> {
    fn parameter(&self, name: &str) -> &str {
        self.parameters
            .iter()
            .find(|(key, _)| *key == name)
            .map_or("", |(_, value)| *value)
    }

    fn is_json(&self) -> bool {
        matches!(self.media, "application/json" | "*/*" | "application/*")
    }
}

fn accept(headers: &HeaderMap) -> &str {
    headers
        .get(http::header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("*/*")
}

fn clauses(accept: &str) -> impl Iterator<Item = Clause<'_>> {
    accept.split(',').map(|clause| {
        let mut parts = clause.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let parameters = parts.filter_map(|part| part.split_once('=')).collect();
        Clause { media, parameters }
    })
}

impl Wish {
    /// A plain object in JSON.
    pub(crate) const JSON: Self = Self {
        form: Form::Object,
        yaml: false,
        version: "meta.k8s.io/v1",
    };

    /// The first clause of the header that can be met.
    pub(crate) fn of(headers: &HeaderMap, custom: bool) -> Outcome<Self> {
        let accept = accept(headers);
        for clause in clauses(accept) {
            let yaml = clause.media == "application/yaml";
            if !clause.is_json() && !yaml {
                continue;
            }
            let form = match (clause.parameter("as"), clause.parameter("v")) {
                ("", _) => Form::Object,
                ("Table", "v1" | "v1beta1") => Form::Table,
                ("PartialObjectMetadata" | "PartialObjectMetadataList", "v1" | "v1beta1") => {
                    Form::Metadata
                }
                _ => continue,
            };
            let version = match clause.parameter("v") {
                "v1beta1" => "meta.k8s.io/v1beta1",
                _ => "meta.k8s.io/v1",
            };
            return Ok(Self {
                form,
                yaml,
                version,
            });
        }
        if accept.trim().is_empty() {
            return Ok(Self::JSON);
        }
        Err(Failure::not_acceptable(custom))
    }
}

impl Discovery {
    /// The first shape of the header that can be met.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        for clause in clauses(accept(headers)).filter(Clause::is_json) {
            let aggregated = clause.parameter("as") == "APIGroupDiscoveryList"
                && clause.parameter("g") == "apidiscovery.k8s.io";
            match (aggregated, clause.parameter("as"), clause.parameter("v")) {
                (true, _, "v2") => return Self::AggregatedV2,
                (true, _, "v2beta1") => return Self::AggregatedV2Beta1,
                (false, "", _) => return Self::Plain,
                _ => {}
            }
        }
        Self::Plain
    }
}
