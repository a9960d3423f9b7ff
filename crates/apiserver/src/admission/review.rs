//! The question: an `AdmissionReview`. Pure.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::attributes::{Attributes, Invocation};

/// The `request` of a review, its objects at the version that the webhook asked for. The objects
/// come apart, since conditions see them apart.
pub(crate) fn request(
    request: &Attributes,
    invocation: &Invocation,
    uid: &str,
) -> Map<String, Value> {
    let mut out = Map::new();
    let mut put = |field: &str, value: Value| {
        out.insert(field.to_owned(), value);
    };
    put("uid", uid.into());
    put("kind", invocation.kind.value());
    put("resource", invocation.resource.value());
    let subresource = request.subresource.as_str();
    if !subresource.is_empty() {
        put("subResource", subresource.into());
    }
    put("requestKind", request.kind.value());
    put("requestResource", request.resource.value());
    if !subresource.is_empty() {
        put("requestSubResource", subresource.into());
    }
    for (field, value) in [("name", &request.name), ("namespace", &request.namespace)] {
        if !value.is_empty() {
            put(field, value.as_str().into());
        }
    }
    put("operation", request.operation.name().into());
    put("userInfo", request.user.clone());
    put("dryRun", request.dry_run.into());
    put("options", request.options.clone());
    out
}

/// The whole review. It shares its objects, which may be large and go to many webhooks.
#[derive(Debug, Clone)]
pub struct AdmissionReview {
    /// `admission.k8s.io/v1`, for example.
    pub api_version: String,
    /// `request`, an object, without the two that follow.
    pub request: Value,
    /// `request.object`: what is to be stored; a delete has none.
    pub object: Option<Arc<Value>>,
    /// `request.oldObject`: what is stored; a create has none.
    pub old_object: Option<Arc<Value>>,
}

impl Serialize for AdmissionReview {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Whole<'a> {
            kind: &'static str,
            api_version: &'a str,
            request: Question<'a>,
        }
        let whole = Whole {
            kind: "AdmissionReview",
            api_version: &self.api_version,
            request: Question(self),
        };
        whole.serialize(serializer)
    }
}

struct Question<'a>(&'a AdmissionReview);

impl Serialize for Question<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.0.request.as_object().into_iter().flatten();
        let fields = fields.map(|(field, value)| (field.as_str(), Some(value)));
        let objects = [
            ("object", self.0.object.as_deref()),
            ("oldObject", self.0.old_object.as_deref()),
        ];
        serializer.collect_map(fields.chain(objects))
    }
}

pub(crate) fn review(
    version: &str,
    request: Map<String, Value>,
    object: Option<&Arc<Value>>,
    old: Option<&Arc<Value>>,
) -> AdmissionReview {
    AdmissionReview {
        api_version: format!("admission.k8s.io/{version}"),
        request: Value::Object(request),
        object: object.cloned(),
        old_object: old.cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_review_names_both_objects_even_where_there_is_none() {
        let mut request = Map::new();
        request.insert("uid".into(), "u".into());
        let object = Arc::new(json!({"kind": "Widget"}));
        let review = review("v1", request, Some(&object), None);
        let wanted = json!({
            "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
            "request": {"uid": "u", "object": {"kind": "Widget"}, "oldObject": null},
        });
        assert_eq!(serde_json::to_value(&review).unwrap(), wanted);
    }
}
