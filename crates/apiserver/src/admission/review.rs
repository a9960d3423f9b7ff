//! The question: an `AdmissionReview`. Pure.

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

/// The whole review. It borrows its objects, which may be large and go to many webhooks.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Review<'a> {
    kind: &'static str,
    api_version: String,
    request: Question<'a>,
}

struct Question<'a> {
    fields: Map<String, Value>,
    objects: [(&'static str, Option<&'a Value>); 2],
}

impl Serialize for Question<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.fields.iter();
        let fields = fields.map(|(field, value)| (field.as_str(), Some(value)));
        serializer.collect_map(fields.chain(self.objects))
    }
}

pub(crate) fn review<'a>(
    version: &str,
    request: Map<String, Value>,
    object: Option<&'a Value>,
    old: Option<&'a Value>,
) -> Review<'a> {
    Review {
        kind: "AdmissionReview",
        api_version: format!("admission.k8s.io/{version}"),
        request: Question {
            fields: request,
            objects: [("object", object), ("oldObject", old)],
        },
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
        let object = json!({"kind": "Widget"});
        let review = review("v1", request, Some(&object), None);
        let wanted = json!({
            "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
            "request": {"uid": "u", "object": {"kind": "Widget"}, "oldObject": null},
        });
        assert_eq!(serde_json::to_value(&review).unwrap(), wanted);
    }
}
