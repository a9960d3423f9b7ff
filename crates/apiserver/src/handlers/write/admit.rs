//! Where a write meets admission webhooks: what they are shown, and what becomes of their changes.
//!
//! Mutating webhooks see the object as it was decoded, with its managed fields; what they change is
//! completed and validated like any write, but belongs to no manager, as on a genuine server.
//! Validating webhooks see what will be stored.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Writing;
use crate::admission::{
    Asking, Attributes, Concerned, KindName, NamespaceLabels, Operation, Resource,
};
use crate::apply;
use crate::handlers::scale;
use crate::object::{self, at, meta_mut};
use crate::registry::{Behaviour, NAMESPACE_SHELF};
use crate::schema;
use crate::status_error::Outcome;
use crate::store::Key;

/// The part of a write that webhooks are told beside the object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// The options of the request, without their kind.
    pub(crate) options: Value,
    /// Whether the request is about a collection: then it names no object.
    pub(crate) of_collection: bool,
}

impl Writing<'_> {
    /// Which webhooks could be asked about this write. Nothing is copied for others.
    pub(super) fn seen(&self, operation: Operation) -> Concerned {
        if self.told.is_none() {
            return Concerned::default();
        }
        let kind = &self.served.kind;
        let hooks = self.instance.hooks();
        hooks.concerned(operation, (&kind.group, &kind.plural), self.tracked_as)
    }

    fn asking(&self) -> Asking<'_> {
        Asking {
            instance: self.instance,
            kind: &self.served.kind,
            warn: self.warn,
        }
    }

    /// An object that is about to be made, as the mutating webhooks leave it.
    pub(super) async fn mutate_create(
        &self,
        namespace: Option<&str>,
        new: Value,
    ) -> Outcome<Value> {
        let mut shaped = new.clone();
        self.shape_create(&mut shaped, false)?;
        let mut shown = self.as_decoded(new, shaped);
        if let Some(meta) = shown.get_mut("metadata").and_then(Value::as_object_mut)
            && !self.served.kind.is_custom()
        {
            for field in ["uid", "creationTimestamp", "generation"] {
                meta.remove(field);
            }
        }
        let namespace_of = namespace.unwrap_or_default();
        let shown = Arc::new(shown);
        let request = self.attributes(Operation::Create, namespace_of, Some(shown.clone()), None);
        let changed = self.asking().mutate(request).await?;
        let Some(mut changed) = changed else {
            return Ok(Arc::unwrap_or_clone(shown));
        };
        self.keep_fields_valid(&shown, &mut changed);
        self.check_place(namespace, &mut changed)?;
        Ok(changed)
    }

    /// The wished state of an object that exists, as the mutating webhooks leave it.
    pub(super) async fn mutate_update(&self, old: &Arc<Value>, wished: Value) -> Outcome<Value> {
        let shaped = self.shape_update(old, wished.clone(), false)?;
        let shown = Arc::new(self.as_decoded(wished, shaped));
        let namespace = object::namespace(old);
        let (object, before) = match &self.scale {
            Some(paths) => (
                Arc::new(scale::shown(&shown, paths)),
                Arc::new(scale::shown(old, paths)),
            ),
            None => (shown.clone(), old.clone()),
        };
        let request = self.attributes(Operation::Update, namespace, Some(object), Some(before));
        let Some(mut changed) = self.asking().mutate(request).await? else {
            return Ok(Arc::unwrap_or_clone(shown));
        };
        if let Some(paths) = &self.scale {
            let shown = Arc::unwrap_or_clone(shown);
            return Ok(scale::with_scale(shown, paths, &changed));
        }
        self.keep_fields_valid(&shown, &mut changed);
        Ok(changed)
    }

    /// Lets the validating webhooks see what will be stored.
    pub(super) async fn approve(
        &self,
        operation: Operation,
        namespace: Option<&str>,
        new: Arc<Value>,
        old: Option<Arc<Value>>,
    ) -> Outcome<()> {
        let show = |object: Arc<Value>| match &self.scale {
            Some(paths) => Arc::new(scale::shown(&object, paths)),
            None => object,
        };
        let namespace = namespace.unwrap_or_default();
        let request = self.attributes(operation, namespace, Some(show(new)), old.map(show));
        self.asking().validate(request).await
    }

    /// Asks all webhooks about the end of an object.
    pub(crate) async fn admit_delete(&self, old: &Value) -> Outcome<()> {
        if self.seen(Operation::Delete) == Concerned::default() {
            return Ok(());
        }
        let namespace = object::namespace(old);
        let old = Arc::new(old.clone());
        let request = self.attributes(Operation::Delete, namespace, None, Some(old));
        self.asking().mutate(request.clone()).await?;
        self.asking().validate(request).await
    }

    /// Asks all webhooks about an object that is not stored, such as an eviction. Returns it as
    /// they leave it.
    pub(crate) async fn admit_unstored(&self, namespace: &str, object: Value) -> Outcome<Value> {
        if self.seen(Operation::Create) == Concerned::default() {
            return Ok(object);
        }
        let object = Arc::new(object);
        let request = self.attributes(Operation::Create, namespace, Some(object.clone()), None);
        let changed = self.asking().mutate(request.clone()).await?;
        let object = changed.map_or(object, Arc::new);
        let request = Attributes {
            object: Some(object.clone()),
            ..request
        };
        self.asking().validate(request).await?;
        Ok(Arc::unwrap_or_clone(object))
    }

    /// What was sent, as decoding leaves it, with the managed fields of the shaped state.
    fn as_decoded(&self, sent: Value, shaped: Value) -> Value {
        // Built-in types are completed as they are decoded.
        if !self.served.kind.is_custom() {
            return shaped;
        }
        let mut shown = sent;
        if let Some(schema) = &self.served.version().schema {
            schema::prune(&mut shown, schema);
            schema::default(&mut shown, schema);
        }
        let fields = at(&shaped, &["metadata", "managedFields"]).cloned();
        let meta = meta_mut(&mut shown);
        match fields {
            Some(fields) => meta.insert("managedFields".into(), fields),
            None => meta.remove("managedFields"),
        };
        shown
    }

    /// A webhook that spoils the managed fields gets them back as they were.
    fn keep_fields_valid(&self, before: &Value, after: &mut Value) {
        let Some(why) = apply::problem_of_fields(after) else {
            return;
        };
        if let Some(fields) = at(before, &["metadata", "managedFields"]) {
            meta_mut(after).insert("managedFields".into(), fields.clone());
        }
        (self.warn)(format!(
            ".metadata.managedFields was in an invalid state after admission; this could be caused \
             by an outdated mutating admission controller; please fix your requests: {why}"
        ));
    }

    fn attributes(
        &self,
        operation: Operation,
        namespace: &str,
        object: Option<Arc<Value>>,
        old: Option<Arc<Value>>,
    ) -> Attributes {
        let kind = &self.served.kind;
        let told = self.told.clone().unwrap_or_default();
        let subresource = self.tracked_as.to_owned();
        let named = |version: &str| match subresource.as_str() {
            "scale" => kind_name("autoscaling", "v1", "Scale"),
            "binding" => kind_name("", "v1", "Binding"),
            "eviction" => kind_name("policy", "v1", "Eviction"),
            _ => kind_name(&kind.group, version, &kind.kind),
        };
        let equivalents = self.instance.registry().equivalents(kind);
        let equivalents = equivalents.into_iter().map(|(other, version)| {
            let own = match subresource.as_str() {
                "scale" | "binding" | "eviction" => named(&version),
                _ => kind_name(&other.group, &version, &other.kind),
            };
            (resource(&other.group, &version, &other.plural), own)
        });
        let given = object.as_deref().or(old.as_deref()).map(object::name);
        let name = match given {
            Some(name) if !told.of_collection => name.to_owned(),
            _ => String::new(),
        };
        let namespace = match kind.behaviour {
            Behaviour::Namespace => name.clone(),
            _ => namespace.to_owned(),
        };
        let kind_of_options = match operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            Operation::Delete => "DeleteOptions",
        };
        let mut options = json!({"kind": kind_of_options, "apiVersion": "meta.k8s.io/v1"});
        for (field, value) in told.options.as_object().into_iter().flatten() {
            options[field] = value.clone();
        }
        let version = &self.served.version().name;
        Attributes {
            operation,
            kind: named(version),
            resource: resource(&kind.group, version, &kind.plural),
            equivalents: equivalents.collect(),
            namespace_labels: self.namespace_labels(operation, &namespace, object.as_deref()),
            name,
            namespace,
            user: self.caller.user_info(),
            dry_run: self.dry_run,
            options,
            object,
            old,
            subresource,
        }
    }

    fn namespace_labels(
        &self,
        operation: Operation,
        namespace: &str,
        object: Option<&Value>,
    ) -> NamespaceLabels {
        let labels = |object: &Value| {
            let labels = at(object, &["metadata", "labels"]).cloned();
            NamespaceLabels::Of(labels.unwrap_or_default())
        };
        let own = self.served.kind.behaviour == Behaviour::Namespace;
        if namespace.is_empty() && !own {
            return NamespaceLabels::Cluster;
        }
        // The stored namespace is older than the one that is written.
        if own && self.tracked_as.is_empty() && operation != Operation::Delete {
            return object.map_or(NamespaceLabels::Missing, labels);
        }
        let key = Key {
            shelf: NAMESPACE_SHELF.into(),
            namespace: String::new(),
            name: namespace.to_owned(),
        };
        let found = self.instance.latest(&key);
        found.map_or(NamespaceLabels::Missing, |record| labels(&record.value()))
    }
}

fn kind_name(group: &str, version: &str, kind: &str) -> KindName {
    KindName {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
    }
}

fn resource(group: &str, version: &str, resource: &str) -> Resource {
    Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        resource: resource.to_owned(),
    }
}
