//! `metadata.managedFields`: who set what, and when.
//!
//! In and out: the JSON of an object. A manager is known by name, operation, API version (updates
//! only) and subresource. Invariants of what is written: no empty entries, fields that the server
//! keeps for itself are never owned, at most [`MAX_UPDATE_MANAGERS`] entries of updates.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::field_set::FieldSet;

/// Most entries of updates on one object; older ones are folded together (Kubernetes' own bound).
pub const MAX_UPDATE_MANAGERS: usize = 10;

/// The manager of entries that were folded together (Kubernetes' own name).
const ANCIENT_CHANGES: &str = "ancient-changes";

/// What a manager did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Every other write.
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Who owns fields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Manager {
    /// The field manager's name.
    pub name: String,
    /// What it did.
    pub operation: Operation,
    /// The subresource it wrote through; empty for the object itself.
    pub subresource: String,
    /// The API version of an update; empty for apply, whose manager is one over all versions.
    pub api_version: String,
}

/// What a manager owns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Owned {
    pub(super) fields: FieldSet,
    pub(super) api_version: String,
    pub(super) time: Option<String>,
}

/// Every manager of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Managed {
    pub(super) owners: BTreeMap<Manager, Owned>,
}

impl Managed {
    /// Reads the managers of an object.
    ///
    /// # Errors
    /// An entry that isn't of the known form.
    pub(super) fn read(object: Option<&Value>) -> Result<Self, String> {
        let mut out = Self::default();
        let list = object.and_then(|object| object.pointer("/metadata/managedFields"));
        let Some(list) = list.and_then(Value::as_array) else {
            return Ok(out);
        };
        for entry in list {
            out.add(entry)?;
        }
        Ok(out)
    }

    /// Writes the managers into an object; without any, the field is taken away.
    pub(super) fn write(&self, object: &mut Value) {
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
            return;
        };
        if self.owners.is_empty() {
            metadata.remove("managedFields");
            return;
        }
        let mut entries = self.entries();
        sort(&mut entries);
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }

    /// Every manager as an entry of the list.
    pub(super) fn entries(&self) -> Vec<Value> {
        let owners = self.owners.iter();
        owners
            .map(|(manager, owned)| write_entry(manager, owned))
            .collect()
    }

    /// Adds the manager of an entry of the list.
    ///
    /// # Errors
    /// An entry that isn't of the known form.
    pub(super) fn add(&mut self, entry: &Value) -> Result<(), String> {
        let (manager, owned) = read_entry(entry)?;
        match self.owners.get_mut(&manager) {
            Some(known) => known.fields.absorb(owned.fields),
            None => {
                self.owners.insert(manager, owned);
            }
        }
        Ok(())
    }

    /// Drops managers that own nothing.
    pub(super) fn tidy(&mut self) {
        self.owners.retain(|_, owned| !owned.fields.is_empty());
    }

    /// Folds the oldest updates together when there are too many.
    pub(super) fn cap(&mut self) {
        let mut updates: Vec<(Option<String>, Manager)> = self
            .owners
            .iter()
            .filter(|(manager, _)| manager.operation == Operation::Update)
            .map(|(manager, owned)| (owned.time.clone(), manager.clone()))
            .collect();
        if updates.len() <= MAX_UPDATE_MANAGERS {
            return;
        }
        updates.sort();
        let surplus = updates.len() - MAX_UPDATE_MANAGERS + 1;
        for (_, manager) in updates.into_iter().take(surplus) {
            let Some(owned) = self.owners.remove(&manager) else {
                continue;
            };
            let bucket = Manager {
                name: ANCIENT_CHANGES.to_owned(),
                ..manager
            };
            match self.owners.get_mut(&bucket) {
                Some(known) => {
                    known.fields.absorb(owned.fields);
                    known.time = known.time.take().max(owned.time);
                }
                None => {
                    self.owners.insert(bucket, owned);
                }
            }
        }
    }
}

/// A time as metadata holds it: whole seconds in UTC.
pub(super) fn stamp(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Fields that the server keeps for itself: nobody owns them.
pub(super) fn strip(fields: &FieldSet) -> FieldSet {
    static RESERVED: LazyLock<FieldSet> = LazyLock::new(|| {
        let mut set = FieldSet::default();
        set.insert_path(&["f:apiVersion"]);
        set.insert_path(&["f:kind"]);
        set.insert_path(&["f:metadata"]);
        for name in [
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        ] {
            set.insert_path(&["f:metadata", &format!("f:{name}")]);
        }
        set
    });
    fields.difference(&RESERVED)
}

/// Brings entries into the order of the list.
pub(super) fn sort(entries: &mut [Value]) {
    let text = |entry: &'_ Value, name: &str| -> Option<String> {
        entry.get(name).and_then(Value::as_str).map(str::to_owned)
    };
    // The names of the operations happen to sort as the operations do.
    entries.sort_by_cached_key(|entry| {
        ["operation", "time", "manager", "apiVersion", "subresource"].map(|name| text(entry, name))
    });
}

fn read_entry(entry: &Value) -> Result<(Manager, Owned), String> {
    let text = |name: &str| {
        entry
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let operation = match text("operation").as_str() {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err("operation must be `Apply` or `Update`".to_owned()),
    };
    match text("fieldsType").as_str() {
        "FieldsV1" => {}
        _ => return Err("fieldsType must be `FieldsV1`".to_owned()),
    }
    let fields = match entry.get("fieldsV1") {
        Some(Value::Null) | None => FieldSet::default(),
        Some(json) => FieldSet::from_json(json)?,
    };
    let api_version = text("apiVersion");
    let manager = Manager {
        name: text("manager"),
        operation,
        subresource: text("subresource"),
        api_version: match operation {
            Operation::Apply => String::new(),
            Operation::Update => api_version.clone(),
        },
    };
    let time = entry.get("time").and_then(Value::as_str).map(str::to_owned);
    Ok((
        manager,
        Owned {
            fields,
            api_version,
            time,
        },
    ))
}

fn write_entry(manager: &Manager, owned: &Owned) -> Value {
    let mut out = Map::new();
    out.insert("apiVersion".to_owned(), json!(owned.api_version));
    out.insert("fieldsType".to_owned(), json!("FieldsV1"));
    out.insert("fieldsV1".to_owned(), owned.fields.to_json());
    out.insert("manager".to_owned(), json!(manager.name));
    out.insert("operation".to_owned(), json!(manager.operation.name()));
    if !manager.subresource.is_empty() {
        out.insert("subresource".to_owned(), json!(manager.subresource));
    }
    if let Some(time) = &owned.time {
        out.insert("time".to_owned(), json!(time));
    }
    Value::Object(out)
}
