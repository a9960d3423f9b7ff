//! How instances are saved: template versions once each, however many instances came from them.
//! A version outlives its template for as long as an instance has it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use super::{
    instance::{Instance, Origin},
    template::TemplateVersion,
};
use crate::aws::state::Name;

#[derive(Serialize, Deserialize)]
struct Table<V, I> {
    versions: Vec<V>,
    rows: Vec<Row<I>>,
}

#[derive(Serialize, Deserialize)]
struct Row<I> {
    instance: I,
    origin: Option<SavedOrigin>,
}

#[derive(Serialize, Deserialize)]
struct SavedOrigin {
    template_id: Name,
    template_name: Name,
    /// Position in the table's versions.
    version: usize,
}

pub(crate) fn serialize<S: Serializer>(
    instances: &BTreeMap<Name, Instance>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut versions: Vec<&TemplateVersion> = Vec::new();
    let mut places: HashMap<*const TemplateVersion, usize> = HashMap::new();
    let mut rows = Vec::with_capacity(instances.len());
    for instance in instances.values() {
        let origin = instance.origin.as_ref().map(|origin| SavedOrigin {
            template_id: origin.template_id.clone(),
            template_name: origin.template_name.clone(),
            version: *places
                .entry(Arc::as_ptr(&origin.version))
                .or_insert_with(|| {
                    versions.push(&origin.version);
                    versions.len() - 1
                }),
        });
        rows.push(Row { instance, origin });
    }
    Table { versions, rows }.serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<Name, Instance>, D::Error> {
    let table: Table<Arc<TemplateVersion>, Instance> = Table::deserialize(deserializer)?;
    let mut instances = BTreeMap::new();
    for Row {
        mut instance,
        origin,
    } in table.rows
    {
        instance.origin = match origin {
            None => None,
            Some(origin) => Some(Origin {
                version: table
                    .versions
                    .get(origin.version)
                    .cloned()
                    .ok_or_else(|| D::Error::custom("an instance of no template version"))?,
                template_id: origin.template_id,
                template_name: origin.template_name,
            }),
        };
        instances.insert(instance.id.clone(), instance);
    }
    Ok(instances)
}
