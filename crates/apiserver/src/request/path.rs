//! Paths: which resource, object and subresource, or which of the service endpoints.

use percent_encoding::percent_decode_str;

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/`: the list of paths.
    Root,
    Version,
    Health,
    /// `/backup`: every object of every instance, for `remuda backup`; not in discovery.
    Backup,
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/apis/GROUP`
    Group(String),
    /// `/api/v1`, `/apis/GROUP/VERSION`
    Resources {
        group: String,
        version: String,
    },
    /// `/.well-known/openid-configuration`: who issues tokens.
    Issuer,
    /// `/openid/v1/jwks`: the keys of tokens.
    TokenKeys,
    OpenApiV2,
    OpenApiIndex,
    OpenApi {
        group: String,
        version: String,
    },
    Object(Target),
}

/// A collection, an object or a subresource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    /// `None` when the path spans all namespaces or the kind has none.
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    /// Empty when the object itself is meant.
    pub(crate) subresource: String,
}

impl Route {
    /// The group that the path is in, where it is in one.
    pub(crate) fn group(&self) -> &str {
        match self {
            Self::Group(group) | Self::Resources { group, .. } => group,
            _ => "",
        }
    }

    /// The version that the path names.
    pub(crate) fn version(&self) -> &str {
        match self {
            Self::Resources { version, .. } => version,
            _ => "",
        }
    }
}

/// Reads a path; `None` when nothing can be there.
pub(crate) fn parse(path: &str) -> Option<Route> {
    let parts: Vec<String> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(|part| {
            percent_decode_str(part)
                .decode_utf8()
                .ok()
                .map(std::borrow::Cow::into_owned)
        })
        .collect::<Option<_>>()?;
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let owned = |text: &str| text.to_owned();
    match parts.as_slice() {
        [] => Some(Route::Root),
        ["version"] => Some(Route::Version),
        ["backup"] => Some(Route::Backup),
        ["healthz" | "livez" | "readyz", ..] => Some(Route::Health),
        [".well-known", "openid-configuration"] => Some(Route::Issuer),
        ["openid", "v1", "jwks"] => Some(Route::TokenKeys),
        ["api"] => Some(Route::CoreVersions),
        ["apis"] => Some(Route::Groups),
        ["apis", group] => Some(Route::Group(owned(group))),
        ["api", version] => Some(Route::Resources {
            group: String::new(),
            version: owned(version),
        }),
        ["apis", group, version] => Some(Route::Resources {
            group: owned(group),
            version: owned(version),
        }),
        ["openapi", "v2"] => Some(Route::OpenApiV2),
        ["openapi", "v3"] => Some(Route::OpenApiIndex),
        ["openapi", "v3", "api", version] => Some(Route::OpenApi {
            group: String::new(),
            version: owned(version),
        }),
        ["openapi", "v3", "apis", group, version] => Some(Route::OpenApi {
            group: owned(group),
            version: owned(version),
        }),
        ["api", version, rest @ ..] => target("", version, rest).map(Route::Object),
        ["apis", group, version, rest @ ..] => target(group, version, rest).map(Route::Object),
        _ => None,
    }
}

fn target(group: &str, version: &str, rest: &[&str]) -> Option<Target> {
    let base = Target {
        group: group.into(),
        version: version.into(),
        ..Target::default()
    };
    let (namespace, rest) = match rest {
        // The namespaces themselves, unless something lies inside.
        ["namespaces"] | ["namespaces", _] | ["namespaces", _, "status" | "finalize"]
            if group.is_empty() =>
        {
            (None, rest)
        }
        ["namespaces", namespace, rest @ ..] => (Some((*namespace).to_owned()), rest),
        _ => (None, rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (plural, None, ""),
        [plural, name] => (plural, Some((*name).to_owned()), ""),
        // Custom kinds take no notice of what follows.
        [plural, name, subresource, more @ ..] if more.is_empty() || group.contains('.') => {
            (plural, Some((*name).to_owned()), *subresource)
        }
        _ => return None,
    };
    Some(Target {
        plural: (*plural).to_owned(),
        namespace,
        name,
        subresource: subresource.to_owned(),
        ..base
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(path: &str) -> Target {
        match parse(path) {
            Some(Route::Object(target)) => target,
            other => panic!("{path} is {other:?}"),
        }
    }

    #[test]
    fn namespaces_are_objects_and_folders() {
        let namespace = object("/api/v1/namespaces/a/status");
        assert_eq!(namespace.plural, "namespaces");
        assert_eq!(
            (namespace.name.as_deref(), namespace.subresource.as_str()),
            (Some("a"), "status")
        );
        let pod = object("/api/v1/namespaces/a/pods/p/eviction");
        assert_eq!(
            (pod.namespace.as_deref(), pod.plural.as_str()),
            (Some("a"), "pods")
        );
        assert_eq!(
            (pod.name.as_deref(), pod.subresource.as_str()),
            (Some("p"), "eviction")
        );
    }

    #[test]
    fn names_are_percent_decoded() {
        let role = object("/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Aadmin");
        assert_eq!(role.name.as_deref(), Some("system:admin"));
        assert_eq!(role.namespace, None);
    }

    #[test]
    fn unknown_paths_lead_nowhere() {
        assert_eq!(parse("/metricsx"), None);
        assert_eq!(parse("/api/v1/namespaces/a/pods/p/exec/more"), None);
    }
}
