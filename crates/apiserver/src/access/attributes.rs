//! What a request wants to do, as plain data: the question that the authorizer answers.

use http::{Method, Uri};
use percent_encoding::percent_decode_str;

use crate::request::path::{Route, Target};

/// A verb on a resource or on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) verb: String,
    pub(crate) object: Asked,
}

/// What the verb is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Resource(Resource),
    /// A path that names no resource: `/healthz`.
    Path(String),
}

/// Objects of one resource; an empty field means all, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Resource {
    /// `pods`, or `pods/status`.
    pub(crate) fn combined(&self) -> String {
        match self.subresource.as_str() {
            "" => self.plural.clone(),
            part => format!("{}/{part}", self.plural),
        }
    }
}

impl Attributes {
    pub(crate) fn on(verb: &str, resource: Resource) -> Self {
        Self {
            verb: verb.to_owned(),
            object: Asked::Resource(resource),
        }
    }

    /// The question of an HTTP request.
    pub(crate) fn of(method: &Method, uri: &Uri, route: Option<&Route>) -> Self {
        if let Some(Route::Object(target)) = route {
            return Self::of_target(method, uri.query().unwrap_or_default(), target);
        }
        let path = percent_decode_str(uri.path()).decode_utf8_lossy();
        Self {
            verb: method.as_str().to_ascii_lowercase(),
            object: Asked::Path(path.into_owned()),
        }
    }

    fn of_target(method: &Method, query: &str, target: &Target) -> Self {
        let mut name = target.name.clone().unwrap_or_default();
        let collection = name.is_empty();
        let options = if collection {
            Options::read(query)
        } else {
            Options::default()
        };
        let verb = match *method {
            Method::GET | Method::HEAD if !collection => "get",
            Method::GET | Method::HEAD if options.watch => "watch",
            Method::GET | Method::HEAD => "list",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if collection => "deletecollection",
            Method::DELETE => "delete",
            _ => "",
        };
        // A rule for one name lets its holder list and watch just that object.
        if matches!(verb, "list" | "watch") {
            name = options.name;
        }
        // A namespace lies inside itself.
        let own = target.group.is_empty() && target.plural == "namespaces" && !collection;
        let namespace = if own {
            name.clone()
        } else {
            target.namespace.clone().unwrap_or_default()
        };
        Self::on(
            verb,
            Resource {
                group: target.group.clone(),
                plural: target.plural.clone(),
                subresource: target.subresource.clone(),
                namespace,
                name,
            },
        )
    }

    /// The refusal's text: who cannot do what.
    pub(crate) fn denied(&self, user: &str) -> String {
        let verb = &self.verb;
        match &self.object {
            Asked::Path(path) => format!("User {user:?} cannot {verb} path {path:?}"),
            Asked::Resource(resource) => {
                let what = resource.combined();
                let scope = match resource.namespace.as_str() {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace {namespace:?}"),
                };
                format!(
                    "User {user:?} cannot {verb} resource {what:?} in API group {:?} {scope}",
                    resource.group
                )
            }
        }
    }
}

/// What of a list's query says which objects are meant.
#[derive(Default)]
struct Options {
    watch: bool,
    name: String,
}

impl Options {
    fn read(query: &str) -> Self {
        let mut options = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*key {
                "watch" => options.watch = !matches!(&*value, "false" | "0"),
                "fieldSelector" => selected_name(&value).clone_into(&mut options.name),
                _ => {}
            }
        }
        options
    }
}

/// The one name that a field selector lets through; with escapes in it, it is not looked for.
fn selected_name(selector: &str) -> &str {
    if selector.contains('\\') {
        return "";
    }
    let terms = selector.split(',').map(str::trim);
    let mut names = terms.filter_map(|term| {
        let name = term.strip_prefix("metadata.name=")?;
        Some(name.strip_prefix('=').unwrap_or(name))
    });
    names.next().unwrap_or_default()
}
