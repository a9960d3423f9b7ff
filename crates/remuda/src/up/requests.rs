//! Counts requests to a Kubernetes API by verb and resource, where they leave for it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{Router, extract::Request, middleware};
use http::Method;

/// Counted requests: `get secrets`, `watch machines`, to how many there were.
pub(crate) type Counted = BTreeMap<String, u64>;

/// What was counted. Bounded: verbs and resources are few.
#[derive(Debug, Default)]
pub(crate) struct RequestCounts {
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    reads: Counted,
    writes: Counted,
}

impl RequestCounts {
    /// The same API, its requests counted.
    pub(crate) fn counting(self: &Arc<Self>, api: Router) -> Router {
        let counts = self.clone();
        api.layer(middleware::from_fn(
            move |request: Request, next: middleware::Next| {
                counts.count(request.method(), request.uri());
                next.run(request)
            },
        ))
    }

    /// Reads and writes so far.
    pub(crate) fn so_far(&self) -> (Counted, Counted) {
        let book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        (book.reads.clone(), book.writes.clone())
    }

    fn count(&self, method: &Method, uri: &http::Uri) {
        let (resource, named) = resource(uri.path());
        let watches = uri
            .query()
            .is_some_and(|query| query.contains("watch=true"));
        let verb = match method.as_str() {
            "GET" if watches => "watch",
            "GET" if named => "get",
            "GET" => "list",
            "POST" => "create",
            "PUT" => "update",
            "PATCH" => "patch",
            _ => "delete",
        };
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let book = if method == Method::GET {
            &mut book.reads
        } else {
            &mut book.writes
        };
        *book.entry(format!("{verb} {resource}")).or_default() += 1;
    }
}

/// The resource of a path, with its subresource, and whether one object is named.
fn resource(path: &str) -> (String, bool) {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    // `api/VERSION` or `apis/GROUP/VERSION` come first.
    let skipped = if parts.next() == Some("api") { 1 } else { 2 };
    let rest: Vec<&str> = parts.skip(skipped).collect();
    let rest = match rest.as_slice() {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        rest => rest,
    };
    match rest {
        [] => (path.to_owned(), false),
        [kind] => ((*kind).to_owned(), false),
        [kind, _] => ((*kind).to_owned(), true),
        [kind, _, sub, ..] => (format!("{kind}/{sub}"), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_verb_and_resource() {
        let counts = RequestCounts::default();
        let ask = |method: Method, path: &'static str| {
            counts.count(&method, &http::Uri::from_static(path));
        };
        ask(Method::GET, "/api/v1/namespaces/team-a/secrets/x");
        ask(Method::GET, "/api/v1/namespaces/team-a/secrets/y");
        ask(Method::GET, "/api/v1/namespaces/team-a");
        ask(
            Method::GET,
            "/apis/cluster.x-k8s.io/v1beta2/machines?limit=500",
        );
        ask(
            Method::GET,
            "/apis/cluster.x-k8s.io/v1beta2/machines?&watch=true",
        );
        ask(
            Method::PATCH,
            "/apis/cluster.x-k8s.io/v1beta2/namespaces/a/machines/m/status",
        );
        ask(Method::POST, "/apis/events.k8s.io/v1/namespaces/a/events");
        let (reads, writes) = counts.so_far();
        let told = |counted: Counted| -> Vec<String> {
            let rows = counted.into_iter();
            rows.map(|(name, count)| format!("{count} {name}"))
                .collect()
        };
        assert_eq!(
            told(reads),
            [
                "1 get namespaces",
                "2 get secrets",
                "1 list machines",
                "1 watch machines"
            ]
        );
        assert_eq!(told(writes), ["1 create events", "1 patch machines/status"]);
    }
}
