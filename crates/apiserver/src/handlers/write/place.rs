//! Whether an object belongs where it is sent: type, namespace, name, uid, resource version.

use serde_json::{Map, Value};

use super::Writing;
use crate::metadata;
use crate::object::{self, meta_mut};
use crate::registry::{NAMESPACE_SHELF, Served};
use crate::status_error::{Cause, Failure, Outcome};
use crate::store::Key;

impl Writing<'_> {
    /// Whether type and namespace of the body fit the path.
    pub(super) fn check_place(&self, namespace: Option<&str>, new: &mut Value) -> Outcome<()> {
        check_type(&self.served, new)?;
        let own = object::namespace(new).to_owned();
        match namespace {
            Some(namespace) if own.is_empty() => {
                meta_mut(new).insert("namespace".into(), namespace.into());
            }
            Some(namespace) if own != namespace => {
                return Err(Failure::bad_request(
                    "the namespace of the provided object does not match the namespace sent on \
                     the request",
                ));
            }
            None if self.served.kind.namespaced => {
                let message = "an empty namespace may not be set during creation";
                return Err(Failure::bad_request(message));
            }
            None => {
                meta_mut(new).remove("namespace");
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Objects are made only in namespaces that exist and stay.
    pub(super) fn check_namespace(&self, namespace: &str, name: &str) -> Outcome<()> {
        let key = Key {
            shelf: NAMESPACE_SHELF.into(),
            namespace: String::new(),
            name: namespace.to_owned(),
        };
        let Some(found) = self.instance.latest(&key) else {
            return Err(Failure::not_found_in("", "namespaces", namespace));
        };
        if found.deleting {
            let why = format!(
                "unable to create new content in namespace {namespace} because it is being \
                 terminated"
            );
            let failure = Failure::forbidden(&self.served.kind, name, &why);
            let message = format!("namespace {namespace} is being terminated");
            let cause = Cause::new("NamespaceTerminating", "metadata.namespace", message);
            return Err(failure.with_causes(&[cause]));
        }
        Ok(())
    }

    /// Name, uid and resource version of an update must be those of the live object.
    pub(super) fn check_identity(&self, old: &Value, new: &Value) -> Outcome<()> {
        let kind = &self.served.kind;
        let name = object::name(old);
        let given = object::name(new);
        if !given.is_empty() && given != name {
            return Err(Failure::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({name})"
            )));
        }
        let (namespace, own) = (object::namespace(old), object::namespace(new));
        if !own.is_empty() && own != namespace {
            return Err(Failure::bad_request(
                "the namespace of the provided object does not match the namespace sent on the \
                 request",
            ));
        }
        let (uid, own) = (object::uid(old), object::uid(new));
        if !own.is_empty() && own != uid {
            let why = format!(
                "Precondition failed: UID in precondition: {own}, UID in object meta: {uid}"
            );
            return Err(Failure::conflict(kind, name, &why));
        }
        match object::meta_str(new, "resourceVersion") {
            "" if !self.unconditional => {
                let message = "Invalid value: 0: must be specified for an update";
                let cause = Cause::new("FieldValueInvalid", "metadata.resourceVersion", message);
                Err(Failure::invalid_resource(kind, name, &[cause]))
            }
            "" | "0" => Ok(()),
            revision if revision == object::meta_str(old, "resourceVersion") => Ok(()),
            _ => Err(Failure::stale(kind, name)),
        }
    }

    /// What no client can change.
    pub(super) fn keep_system_fields(&self, old: &Value, new: &mut Value) {
        let tracked = self.tracked;
        let before = object::meta(old);
        let meta = meta_mut(new);
        for field in [
            "name",
            "namespace",
            "uid",
            "creationTimestamp",
            "generation",
            "resourceVersion",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generateName",
        ] {
            match before.and_then(|before| before.get(field)) {
                Some(value) => meta.insert(field.into(), value.clone()),
                None => meta.remove(field),
            };
        }
        meta.remove("selfLink");
        // A client that sends none leaves them as they are; an empty list resets them.
        if !tracked
            && !meta.contains_key("managedFields")
            && let Some(fields) = before.and_then(|before| before.get("managedFields"))
        {
            meta.insert("managedFields".into(), fields.clone());
        }
        drop_empty(meta);
    }
}

/// Takes away the empty parts of metadata, which say nothing and would make two states differ.
pub(super) fn drop_empty(meta: &mut Map<String, Value>) {
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        if meta.get(field).is_some_and(super::difference::is_empty) {
            meta.remove(field);
        }
    }
}

/// Whether the body is of the type that the path is about; a missing type is filled in.
pub(crate) fn check_type(served: &Served, new: &mut Value) -> Outcome<()> {
    let (api_version, kind) = (served.api_version(), &served.kind.kind);
    let given = object::text(new, &["apiVersion"]);
    if !given.is_empty() && given != api_version {
        return Err(Failure::bad_request(format!(
            "the API version in the data ({given}) does not match the expected API version \
             ({api_version})"
        )));
    }
    if let Some(problem) = metadata::decode_problem(new) {
        let version = &served.version().name;
        return Err(Failure::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {problem}"
        )));
    }
    let given = object::text(new, &["kind"]);
    if given.is_empty() && served.kind.is_custom() {
        return Err(Failure::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): Object 'Kind' is \
             missing in '{new}'"
        )));
    }
    if !given.is_empty() && given != kind {
        if !served.kind.is_custom() {
            let message = format!(
                "the object provided is unrecognized (must be of type {kind}): couldn't get \
                 version/kind; got {given:?}"
            );
            return Err(Failure::bad_request(message));
        }
        let cause = Cause::invalid("kind", &given.into(), &format!("must be {kind}"));
        let name = object::name(new);
        return Err(Failure::invalid_as(
            &served.kind.group,
            given,
            name,
            &[cause],
        ));
    }
    new["apiVersion"] = api_version.into();
    new["kind"] = kind.as_str().into();
    Ok(())
}
