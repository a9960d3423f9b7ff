//! Lists as tables, the form in which kubectl asks for what it prints.
//!
//! In: columns and objects. Out: a `meta.k8s.io/v1` `Table`. Columns of custom kinds come from
//! `additionalPrinterColumns` ([`custom_columns`]), those of built-in kinds from [`builtin_columns`].
//! The caller sets the table's `metadata` from the list.

pub mod age;
mod builtin;
mod builtin_cells;
mod columns;
pub mod json_path;
mod pod_cells;
mod volume_cells;

use jiff::Timestamp;
use serde_json::{Value, json};

pub use builtin::{builtin_columns, scale_columns};
pub use columns::{Column, custom_columns};

/// How much of each object a row carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    /// Nothing.
    None,
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

impl IncludeObject {
    /// Reads the query parameter `includeObject`.
    pub fn from_query(text: &str) -> Option<Self> {
        match text {
            "" | "Metadata" => Some(Self::Metadata),
            "None" => Some(Self::None),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }
}

/// The table of some objects.
pub fn render(
    columns: &[Column],
    objects: &[Value],
    include: IncludeObject,
    now: Timestamp,
) -> Value {
    let definitions: Vec<Value> = columns.iter().map(Column::definition).collect();
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| row(columns, object, include, now))
        .collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": definitions,
        "rows": rows,
    })
}

fn row(columns: &[Column], object: &Value, include: IncludeObject, now: Timestamp) -> Value {
    let cells: Vec<Value> = columns
        .iter()
        .map(|column| column.cell(object, now))
        .collect();
    let carried = match include {
        IncludeObject::None => Value::Null,
        IncludeObject::Object => object.clone(),
        IncludeObject::Metadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
        }),
    };
    json!({ "cells": cells, "object": carried })
}
