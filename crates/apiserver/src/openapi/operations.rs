//! The paths of a document: what can be done with a kind.

use serde_json::{Map, Value, json};

use super::schemas::{SCALE, reference};
use super::{KindSchema, parameters, prefix};

/// Adds the paths of a kind; `schema` and `list` name its schemas.
pub(super) fn add_paths(
    paths: &mut Map<String, Value>,
    group: &str,
    version: &str,
    kind: &KindSchema<'_>,
    schema: &str,
    list: &str,
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
        list,
    };
    build.insert(paths, &collection, build.collection(), false);
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
    if kind.namespaced && build.serves("list") {
        let id = format!("list{}{}ForAllNamespaces", build.group_version(), kind.kind);
        let operation = build.operation(&id, "list", "");
        let mut all = Map::new();
        all.insert("get".to_owned(), operation);
        if let Some(get) = all.get_mut("get").and_then(Value::as_object_mut) {
            get.remove("parameters");
        }
        all.insert(
            "parameters".to_owned(),
            parameters::of_all_namespaces().into(),
        );
        paths.insert(format!("{root}/{}", kind.plural), Value::Object(all));
    }
}

struct Build<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a KindSchema<'a>,
    schema: &'a str,
    list: &'a str,
}

/// Patch types that every kind takes, and the one that only built-in kinds take.
const PATCHES: [&str; 3] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
];
const STRATEGIC: &str = "application/strategic-merge-patch+json";

impl Build<'_> {
    fn serves(&self, verb: &str) -> bool {
        self.kind.verbs.contains(&verb)
    }

    /// Group and version inside an operation's name, for example `CoordinationV1`.
    fn group_version(&self) -> String {
        let group = match self.group {
            "" => "core",
            group if self.kind.custom.is_some() => group,
            group => group.split('.').next().unwrap_or(group),
        };
        let parts = group.split(['.', '-']).chain([self.version]);
        parts.map(capital).collect()
    }

    fn id(&self, verb: &str, subresource: &str) -> String {
        let scope = if self.kind.namespaced {
            "Namespaced"
        } else {
            ""
        };
        let kind = self.kind.kind;
        format!(
            "{verb}{}{scope}{kind}{}",
            self.group_version(),
            capital(subresource)
        )
    }

    fn collection(&self) -> Map<String, Value> {
        let mut out = Map::new();
        if self.serves("list") {
            let operation = self.operation(&self.id("list", ""), "list", "");
            out.insert("get".to_owned(), operation);
        }
        if self.serves("create") {
            out.insert(
                "post".to_owned(),
                self.operation(&self.id("create", ""), "post", ""),
            );
        }
        if self.serves("deletecollection") {
            let scope = if self.kind.namespaced {
                "Namespaced"
            } else {
                ""
            };
            let kind = self.kind.kind;
            let id = format!("delete{}Collection{scope}{kind}", self.group_version());
            out.insert(
                "delete".to_owned(),
                self.operation(&id, "deletecollection", ""),
            );
        }
        out
    }

    fn object(&self, subresource: &str) -> Map<String, Value> {
        let mut out = Map::new();
        let mut add = |method: &str, verb: &str, id: &str, action: &str| {
            if self.serves(verb) {
                let operation = self.operation(&self.id(id, subresource), action, subresource);
                out.insert(method.to_owned(), operation);
            }
        };
        add("get", "get", "read", "get");
        add("put", "update", "replace", "put");
        add("patch", "patch", "patch", "patch");
        if subresource.is_empty() {
            add("delete", "delete", "delete", "delete");
        }
        out
    }

    fn operation(&self, id: &str, action: &str, subresource: &str) -> Value {
        let scale = subresource == "scale";
        let answer = match action {
            "list" => self.list,
            _ if scale => SCALE,
            _ => self.schema,
        };
        let kind = if scale && self.kind.custom.is_none() {
            json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" })
        } else {
            json!({ "group": self.group, "version": self.version, "kind": self.kind.kind })
        };
        let mut out = json!({
            "operationId": id,
            "parameters": parameters::of_action(action),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind,
            "responses": { "200": {
                "description": "OK",
                "content": { "application/json": { "schema": reference(answer) } },
            } },
        });
        if let Some(body) = self.body(action, answer) {
            out["requestBody"] = body;
        }
        out
    }

    fn body(&self, action: &str, schema: &str) -> Option<Value> {
        let object = json!({ "schema": { "type": "object" } });
        let mut content = Map::new();
        match action {
            "patch" => {
                let strategic = self.kind.custom.is_none().then_some(STRATEGIC);
                for media in PATCHES.into_iter().chain(strategic) {
                    content.insert(media.to_owned(), object.clone());
                }
            }
            "post" | "put" | "delete" => {
                let schema = match action {
                    "delete" => object,
                    _ => json!({ "schema": reference(schema) }),
                };
                let custom = ["application/json", "application/yaml"].as_slice();
                let media = if self.kind.custom.is_some() {
                    custom
                } else {
                    &["*/*"]
                };
                for media in media {
                    content.insert((*media).to_owned(), schema.clone());
                }
            }
            _ => return None,
        }
        let mut body = json!({ "content": content });
        if action != "delete" {
            body["required"] = json!(true);
        }
        Some(body)
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
        let shared = parameters::of_path(self.kind.kind, named, self.kind.namespaced);
        operations.insert("parameters".to_owned(), shared.into());
        paths.insert(path.to_owned(), Value::Object(operations));
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
