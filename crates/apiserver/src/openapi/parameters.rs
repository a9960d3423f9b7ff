//! The query and path parameters of operations.

use serde_json::{Value, json};

/// A parameter: name, JSON type, what it does.
type Parameter = (&'static str, &'static str, &'static str);

const WRITE: &[Parameter] = &[
    (
        "dryRun",
        "string",
        "`All` carries out every check and stores nothing.",
    ),
    (
        "fieldManager",
        "string",
        "Who makes the change; recorded in metadata.managedFields.",
    ),
    (
        "fieldValidation",
        "string",
        "What happens to unknown and repeated fields: Ignore, Warn or Strict.",
    ),
];

const FORCE: Parameter = (
    "force",
    "boolean",
    "Takes fields over from other managers; for apply patches only.",
);

const DELETE: &[Parameter] = &[
    (
        "dryRun",
        "string",
        "`All` carries out every check and deletes nothing.",
    ),
    (
        "gracePeriodSeconds",
        "integer",
        "Seconds until the object goes; zero means at once.",
    ),
    (
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        "Accepted and without effect: objects that can't be read are not deleted unread.",
    ),
    (
        "orphanDependents",
        "boolean",
        "Older spelling of propagationPolicy=Orphan.",
    ),
    (
        "propagationPolicy",
        "string",
        "What happens to objects that this one owns: Orphan, Background or Foreground.",
    ),
];

const LIST: &[Parameter] = &[
    (
        "allowWatchBookmarks",
        "boolean",
        "Asks a watch for bookmarks.",
    ),
    (
        "continue",
        "string",
        "Where the page before this one ended.",
    ),
    ("fieldSelector", "string", "Narrows the list by fields."),
    ("labelSelector", "string", "Narrows the list by labels."),
    ("limit", "integer", "Most objects of one page."),
    (
        "resourceVersion",
        "string",
        "The state of the store that the answer must show.",
    ),
    (
        "resourceVersionMatch",
        "string",
        "How resourceVersion is meant: NotOlderThan or Exact.",
    ),
    (
        "sendInitialEvents",
        "boolean",
        "Asks a watch to begin with the objects that exist.",
    ),
    (
        "timeoutSeconds",
        "integer",
        "Ends the call after this time.",
    ),
    ("watch", "boolean", "Streams changes instead of a list."),
];

const READ: &[Parameter] = &[(
    "resourceVersion",
    "string",
    "The state of the store that the answer must show.",
)];

const PRETTY: Parameter = ("pretty", "string", "`true` asks for indented output.");

fn query((name, kind, description): &Parameter) -> Value {
    json!({
        "name": name,
        "in": "query",
        "description": description,
        "schema": { "type": kind, "uniqueItems": true },
    })
}

/// The query parameters of an action.
pub(super) fn of_action(action: &str) -> Vec<Value> {
    let known = match action {
        "post" | "put" | "patch" => WRITE,
        "delete" => DELETE,
        "list" | "deletecollection" => LIST,
        _ => READ,
    };
    let mut out: Vec<Value> = known.iter().map(query).collect();
    if action == "patch" {
        out.push(query(&FORCE));
    }
    out
}

/// The parameters that every operation of a path shares.
pub(super) fn of_path(kind: &str, named: bool, namespaced: bool) -> Vec<Value> {
    let mut out = Vec::new();
    if named {
        out.push(in_path("name", &format!("name of the {kind}")));
    }
    if namespaced {
        out.push(in_path(
            "namespace",
            "object name and auth scope, such as for teams and projects",
        ));
    }
    out.push(query(&PRETTY));
    out
}

/// The parameters of a path that lists objects of all namespaces.
pub(super) fn of_all_namespaces() -> Vec<Value> {
    LIST.iter().chain([&PRETTY]).map(query).collect()
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
