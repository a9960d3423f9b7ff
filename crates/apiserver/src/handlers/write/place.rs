//! Whether an object belongs where it is sent: type, namespace, name, uid, resource version.

use serde_json::{Map, Value};

use super::Writing;
use crate::metadata;
use crate::object::{self, meta_mut};
use crate::registry::{NAMESPACE_SHELF, Served};
use crate::request::options::FieldValidation;
use crate::status_error::{Cause, Failure, Outcome};
use crate::store::Key;

impl Writing<'_> {
    /// Whether type and namespace of the body fit the path.
    pub(super) fn check_place(&self, namespace: Option<&str>, new: &mut Value) -> Outcome<()> {
        self.check_version(new)?;
        check_kind(&self.served, new)?;
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

    /// Whether the body is of the version that the path is about. Of a custom kind at another
    /// version no field is known.
    pub(super) fn check_version(&self, new: &mut Value) -> Outcome<()> {
        if self.patches {
            return self.check_patched(new);
        }
        let refused = check_type(&self.served, new);
        let named = object::text(new, &["apiVersion"]);
        let other = !named.is_empty() && named != self.served.api_version();
        if self.served.kind.is_custom() && other && self.field_validation == FieldValidation::Warn {
            let fields = new
                .as_object()
                .into_iter()
                .flatten()
                .map(|(field, _)| field);
            fields
                .filter(|field| !matches!(field.as_str(), "apiVersion" | "kind" | "metadata"))
                .for_each(|field| (self.warn)(format!("unknown field {field:?}")));
        }
        refused
    }

    /// What a patch made of an object must still be one of its kind.
    fn check_patched(&self, new: &Value) -> Outcome<()> {
        let (own, given) = (
            self.served.api_version(),
            object::text(new, &["apiVersion"]),
        );
        let kind = &self.served.kind.kind;
        if self.served.kind.is_custom() && given != own {
            let cause = Cause::invalid("apiVersion", &given.into(), &format!("must be {own}"));
            return Err(Failure::invalid_as("", kind, object::name(new), &[cause]));
        }
        match metadata::decode_problem(new) {
            Some(why) => Err(self.unreadable(&why, Some(new.clone()))),
            None => Ok(()),
        }
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
        if given.is_empty() {
            return Err(Failure::bad_request(format!(
                "the name of the object ({name} based on URL) was undeterminable: name must be \
                 provided"
            )));
        }
        if given != name {
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
        self.check_uid(old, new)?;
        self.check_deletion(old, new)?;
        match object::meta_str(new, "resourceVersion") {
            "" | "0" if !self.unconditional => {
                let message = "Invalid value: 0: must be specified for an update";
                let cause = Cause::new("FieldValueInvalid", "metadata.resourceVersion", message);
                Err(Failure::invalid_resource(kind, name, &[cause]))
            }
            "" | "0" => Ok(()),
            revision if revision == object::meta_str(old, "resourceVersion") => Ok(()),
            revision if revision.parse::<u64>().is_err() => {
                Err(Failure::unreadable_revision("", revision))
            }
            _ => Err(Failure::stale(kind, name)),
        }
    }

    /// Only a delete begins a deletion.
    fn check_deletion(&self, old: &Value, new: &Value) -> Outcome<()> {
        const FIELD: &str = "deletionTimestamp";
        let given = object::at(new, &["metadata", FIELD]).filter(|given| !given.is_null());
        let Some(given) = given.filter(|_| !object::is_deleting(old)) else {
            return Ok(());
        };
        let cause = Cause::invalid("metadata.deletionTimestamp", given, "field is immutable");
        // The check is made by the store and once more by the kind.
        let causes = [cause.clone(), cause];
        Err(Failure::invalid(
            &self.served.kind,
            object::name(old),
            &causes,
        ))
    }

    /// A replacement names the object that it replaces; a patch cannot change what it patches.
    fn check_uid(&self, old: &Value, new: &Value) -> Outcome<()> {
        let kind = &self.served.kind;
        let (uid, own) = (object::uid(old), object::uid(new));
        if own.is_empty() || own == uid {
            return Ok(());
        }
        if !self.guarded {
            let cause = Cause::invalid("metadata.uid", &own.into(), "field is immutable");
            // The check is made by the store and once more by the kind.
            return Err(Failure::invalid(
                kind,
                object::name(old),
                &[cause.clone(), cause],
            ));
        }
        let key = [
            kind.group.as_str(),
            &kind.plural,
            object::namespace(old),
            object::name(old),
        ];
        let key: Vec<&str> = key.into_iter().filter(|part| !part.is_empty()).collect();
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{}, ResourceVersion: 0, \
             AdditionalErrorMsg: Precondition failed: UID in precondition: {own}, UID in object \
             meta: {uid}",
            key.join("/")
        );
        Err(Failure::conflict(kind, object::name(old), &why))
    }

    /// What no client can change.
    pub(super) fn keep_system_fields(&self, old: &Value, new: &mut Value, seen: bool) {
        let tracked = self.tracked || seen;
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

/// Whether the body is of the version that the path is about, and can be read.
fn check_type(served: &Served, new: &mut Value) -> Outcome<()> {
    check_version(served, new)?;
    let kind = &served.kind.kind;
    if let Some(problem) = metadata::decode_problem(new) {
        let version = &served.version().name;
        return Err(Failure::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {problem}"
        )));
    }
    Ok(())
}

/// Whether the body is of the version that the path is about; a missing version is filled in.
pub(crate) fn check_version(served: &Served, new: &mut Value) -> Outcome<()> {
    let (api_version, kind) = (served.api_version(), &served.kind.kind);
    let given = object::text(new, &["apiVersion"]);
    let other = given != api_version && (!given.is_empty() || served.kind.is_custom());
    if other && !served.kind.is_custom() {
        let (_, version) = object::split_api_version(given);
        return Err(Failure::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: no kind {kind:?} is \
             registered for version {given:?} in scheme \"pkg/api/legacyscheme/scheme.go:30\""
        )));
    }
    if other {
        return Err(Failure::bad_request(format!(
            "the API version in the data ({given}) does not match the expected API version \
             ({api_version})"
        )));
    }
    new["apiVersion"] = api_version.into();
    Ok(())
}

/// Whether the body is of the kind that the path is about; a missing kind is filled in.
pub(crate) fn check_kind(served: &Served, new: &mut Value) -> Outcome<()> {
    let kind = &served.kind.kind;
    let given = object::text(new, &["kind"]);
    if !given.is_empty() && given != kind {
        if !served.kind.is_custom() {
            return Err(other_kind(served, given));
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
    new["kind"] = kind.as_str().into();
    Ok(())
}

/// The refusal of an object of another kind at the path of a built-in one.
fn other_kind(served: &Served, given: &str) -> Failure {
    let (kind, version) = (&served.kind.kind, &served.version().name);
    let group = match served.kind.group.split('.').next() {
        Some("" | "events") | None => "core",
        Some(group) => group,
    };
    Failure::bad_request(format!(
        "{given} in version {version:?} cannot be handled as a {kind}: converting \
         ({version}.{given}) to ({group}.{kind}): unknown conversion"
    ))
}
