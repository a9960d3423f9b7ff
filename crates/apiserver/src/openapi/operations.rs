//! The paths of a document: what can be done with a kind, and which query parameters that takes.

use serde_json::{Map, Value, json};

use super::schemas::reference;
use super::{KindSchema, prefix};

/// Adds the paths of a kind.
pub(super) fn add_paths(
    paths: &mut Map<String, Value>,
    group: &str,
    version: &str,
    kind: &KindSchema<'_>,
    schema: &str,
) {
    let root = prefix(group, version);
    let scope = if kind.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let collection = format!("{root}{scope}/{}", kind.plural);
    let build = Build {
        group,
        version,
        kind,
        schema,
    };
    let has = |verb: &str| kind.verbs.contains(&verb);
    let mut many = Map::new();
    if has("list") {
        many.insert("get".to_owned(), build.operation("list", "list", None));
    }
    if has("create") {
        many.insert(
            "post".to_owned(),
            build.operation("create", "post", Some("*/*")),
        );
    }
    if has("deletecollection") {
        let operation = build.operation("deleteCollection", "deletecollection", Some("*/*"));
        many.insert("delete".to_owned(), operation);
    }
    build.insert(paths, &collection, many, false);
    build.insert(
        paths,
        &format!("{collection}/{{name}}"),
        build.object(""),
        true,
    );
    for subresource in &kind.subresources {
        let path = format!("{collection}/{{name}}/{subresource}");
        build.insert(paths, &path, build.object(subresource), true);
    }
    if kind.namespaced && has("list") {
        let mut all = Map::new();
        all.insert(
            "get".to_owned(),
            build.operation("listForAllNamespaces", "list", None),
        );
        paths.insert(format!("{root}/{}", kind.plural), Value::Object(all));
    }
}

struct Build<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a KindSchema<'a>,
    schema: &'a str,
}

const PATCHES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

impl Build<'_> {
    fn object(&self, subresource: &str) -> Map<String, Value> {
        let has = |verb: &str| self.kind.verbs.contains(&verb);
        let mut out = Map::new();
        let id = |verb: &str| format!("{verb}{}", capital(subresource));
        if has("get") {
            out.insert("get".to_owned(), self.operation(&id("read"), "get", None));
        }
        if has("update") {
            out.insert(
                "put".to_owned(),
                self.operation(&id("replace"), "put", Some("*/*")),
            );
        }
        if has("patch") {
            out.insert(
                "patch".to_owned(),
                self.operation(&id("patch"), "patch", Some("patch")),
            );
        }
        if has("delete") && subresource.is_empty() {
            out.insert(
                "delete".to_owned(),
                self.operation("delete", "delete", Some("*/*")),
            );
        }
        out
    }

    fn operation(&self, id: &str, action: &str, body: Option<&str>) -> Value {
        let kind = self.kind.kind;
        let mut out = json!({
            "operationId": format!("{id}{}{}{kind}", capital(&self.version.replace('.', "")),
                if self.kind.namespaced { "Namespaced" } else { "" }),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind":
                { "group": self.group, "version": self.version, "kind": kind },
            "responses": { "200": {
                "description": "OK",
                "content": { "application/json": { "schema": reference(self.schema) } },
            } },
        });
        let mut parameters = Vec::new();
        if matches!(
            action,
            "post" | "put" | "patch" | "delete" | "deletecollection"
        ) {
            parameters.push(query(
                "dryRun",
                "string",
                "`All` checks everything and stores nothing.",
            ));
        }
        if matches!(action, "post" | "put" | "patch") {
            parameters.push(query("fieldManager", "string", "Who makes the change."));
            let text = "Ignore, Warn or Strict: what happens to unknown and duplicate fields.";
            parameters.push(query("fieldValidation", "string", text));
        }
        if action == "patch" {
            let text = "Takes over fields of other managers; for apply only.";
            parameters.push(query("force", "boolean", text));
        }
        if action == "list" {
            for name in [
                "labelSelector",
                "fieldSelector",
                "continue",
                "resourceVersion",
            ] {
                parameters.push(query(name, "string", "Narrows or pages the list."));
            }
            parameters.push(query("limit", "integer", "Most objects of one page."));
            parameters.push(query(
                "watch",
                "boolean",
                "Streams changes instead of a list.",
            ));
        }
        out["parameters"] = Value::Array(parameters);
        if let Some(body) = body {
            out["requestBody"] = self.body(action, body);
        }
        out
    }

    fn body(&self, action: &str, body: &str) -> Value {
        let mut content = Map::new();
        if body == "patch" {
            let strategic = usize::from(self.kind.custom.is_some());
            let patch = json!({ "schema": { "type": "object" } });
            for media in PATCHES.iter().take(PATCHES.len() - strategic) {
                content.insert((*media).to_owned(), patch.clone());
            }
        } else if action.starts_with("delete") {
            content.insert(body.to_owned(), json!({ "schema": { "type": "object" } }));
        } else {
            content.insert(body.to_owned(), json!({ "schema": reference(self.schema) }));
        }
        json!({ "content": content, "required": body != "*/*" || !action.starts_with("delete") })
    }

    fn insert(
        &self,
        paths: &mut Map<String, Value>,
        path: &str,
        mut operations: Map<String, Value>,
        named: bool,
    ) {
        if operations.is_empty() {
            return;
        }
        let mut parameters = Vec::new();
        if named {
            let text = format!("name of the {}", self.kind.kind);
            parameters.push(in_path("name", &text));
        }
        if self.kind.namespaced {
            parameters.push(in_path("namespace", "namespace of the object"));
        }
        operations.insert("parameters".to_owned(), Value::Array(parameters));
        paths.insert(path.to_owned(), Value::Object(operations));
    }
}

fn query(name: &str, kind: &str, description: &str) -> Value {
    json!({
        "name": name,
        "in": "query",
        "description": description,
        "schema": { "type": kind, "uniqueItems": true },
    })
}

fn in_path(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "in": "path",
        "description": description,
        "required": true,
        "schema": { "type": "string", "uniqueItems": true },
    })
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
