//! What a derived schema lacks to be the schema of a definition.
//!
//! Five things, none of which an attribute on a field can say: an absent `Option` is not a
//! `null`; a count that may be a percentage is `anyOf` two types; an object has `apiVersion`,
//! `kind` and `metadata`; Kubernetes' own types describe themselves at length; and they come
//! without the list types and formats that the API server knows them by. The last is a table of
//! [`RULES`], each for one place where such a type is used.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// What a rule adds to the schema at its place.
#[derive(Clone, Copy)]
enum Add {
    /// The list is replaced as a whole.
    AtomicList,
    /// The list has one entry for each value of this key.
    MapList(&'static str),
    /// The object is replaced as a whole.
    AtomicObject,
    /// A number or a string with a unit.
    Quantity,
    /// The property may be left out.
    Optional(&'static str),
}

/// Places in Kubernetes' own types. A place is the end of a path: `[]` stands for the items of a
/// list, `{}` for the values of a map.
const RULES: &[(&str, Add)] = &[
    ("selector", Add::AtomicObject),
    ("selector.matchExpressions", Add::AtomicList),
    ("selector.matchExpressions[].values", Add::AtomicList),
    ("clusterSelector", Add::AtomicObject),
    ("clusterSelector.matchExpressions", Add::AtomicList),
    ("clusterSelector.matchExpressions[].values", Add::AtomicList),
    ("namespaceSelector", Add::AtomicObject),
    ("namespaceSelector.matchExpressions", Add::AtomicList),
    (
        "namespaceSelector.matchExpressions[].values",
        Add::AtomicList,
    ),
    ("jobs.imagePullSecrets[]", Add::AtomicObject),
    ("jobs.imagePullSecrets[]", Add::Optional("name")),
    ("jobs.env[].valueFrom.configMapKeyRef", Add::AtomicObject),
    (
        "jobs.env[].valueFrom.configMapKeyRef",
        Add::Optional("name"),
    ),
    ("jobs.env[].valueFrom.fieldRef", Add::AtomicObject),
    ("jobs.env[].valueFrom.fileKeyRef", Add::AtomicObject),
    ("jobs.env[].valueFrom.resourceFieldRef", Add::AtomicObject),
    (
        "jobs.env[].valueFrom.resourceFieldRef.divisor",
        Add::Quantity,
    ),
    ("jobs.env[].valueFrom.secretKeyRef", Add::AtomicObject),
    ("jobs.env[].valueFrom.secretKeyRef", Add::Optional("name")),
    (
        "jobs.podSecurityContext.supplementalGroups",
        Add::AtomicList,
    ),
    ("jobs.podSecurityContext.sysctls", Add::AtomicList),
    ("jobs.resources.claims", Add::MapList("name")),
    ("jobs.resources.limits{}", Add::Quantity),
    ("jobs.resources.requests{}", Add::Quantity),
    ("jobs.securityContext.capabilities.add", Add::AtomicList),
    ("jobs.securityContext.capabilities.drop", Add::AtomicList),
    ("status.nodeRefs[]", Add::AtomicObject),
];

/// What Kubernetes accepts as a quantity.
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// Longest description in bytes that is kept whole; ours, because every description of ours fits.
const LONGEST_DESCRIPTION: usize = 160;

/// Completes the schema of one version, whose root is given.
pub(super) fn complete(root: &mut JSONSchemaProps) {
    add_object_fields(root);
    // The derive names the root after the Rust type, which definitions do not.
    root.title = None;
    walk(root, "");
}

fn add_object_fields(root: &mut JSONSchemaProps) {
    let fields = [
        (
            "apiVersion",
            "string",
            Some("Group and version the object is written in."),
        ),
        ("kind", "string", Some("Kind of the object.")),
        // Kubernetes refuses a definition that says anything about `metadata` but its type.
        ("metadata", "object", None),
    ];
    let properties = root.properties.get_or_insert_default();
    for (name, type_, description) in fields {
        properties.insert(
            name.to_owned(),
            JSONSchemaProps {
                description: description.map(str::to_owned),
                type_: Some(type_.to_owned()),
                ..JSONSchemaProps::default()
            },
        );
    }
}

fn walk(schema: &mut JSONSchemaProps, path: &str) {
    schema.nullable = None;
    schema.description = schema.description.take().map(first_sentence);
    if schema.x_kubernetes_int_or_string == Some(true) {
        schema.type_ = None;
        schema.any_of = Some(["integer", "string"].map(of_type).into());
    }
    for (_, add) in RULES.iter().filter(|(place, _)| ends_at(path, place)) {
        apply(*add, schema);
    }
    for (name, child) in schema.properties.iter_mut().flatten() {
        let below = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        walk(child, &below);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        walk(items, &format!("{path}[]"));
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        walk(values, &format!("{path}{{}}"));
    }
}

/// Cuts a description that is longer than ours ever are. The rest is in Kubernetes' own reference.
fn first_sentence(description: String) -> String {
    if description.len() <= LONGEST_DESCRIPTION {
        return description;
    }
    let first_line = description.lines().next().unwrap_or_default();
    match first_line.split_once(". ") {
        Some((sentence, _)) => format!("{sentence}."),
        None => first_line.to_owned(),
    }
}

fn ends_at(path: &str, place: &str) -> bool {
    path.strip_suffix(place)
        .is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

fn apply(add: Add, schema: &mut JSONSchemaProps) {
    match add {
        Add::AtomicList => schema.x_kubernetes_list_type = Some("atomic".to_owned()),
        Add::MapList(key) => {
            schema.x_kubernetes_list_type = Some("map".to_owned());
            schema.x_kubernetes_list_map_keys = Some(vec![key.to_owned()]);
        }
        Add::AtomicObject => schema.x_kubernetes_map_type = Some("atomic".to_owned()),
        Add::Quantity => {
            schema.pattern = Some(QUANTITY.to_owned());
            // Kubernetes' own text on quantities is longer than the rest of the schema.
            schema.description = Some("An amount, such as `250m` or `2Gi`.".to_owned());
        }
        Add::Optional(property) => {
            let required = schema.required.take().unwrap_or_default();
            let rest: Vec<_> = required
                .into_iter()
                .filter(|name| name != property)
                .collect();
            schema.required = (!rest.is_empty()).then_some(rest);
        }
    }
}

fn of_type(name: &str) -> JSONSchemaProps {
    JSONSchemaProps {
        type_: Some(name.to_owned()),
        ..JSONSchemaProps::default()
    }
}
