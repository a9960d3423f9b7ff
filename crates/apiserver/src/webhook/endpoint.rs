//! Where a `clientConfig` points.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use serde_json::Value;

use crate::object::{at, text};

/// A service of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Service {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) port: u16,
}

/// The address of a webhook, and whom to trust there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// `https://host:port/path`, without the timeout.
    url: String,
    pub(crate) service: Option<Service>,
    /// Certificates in PEM; empty: the machine's own.
    pub(crate) ca_bundle: Vec<u8>,
}

impl Endpoint {
    /// Reads a `clientConfig`, which was validated when it was stored.
    pub(crate) fn of(config: &Value) -> Self {
        let ca_bundle = STANDARD.decode(text(config, &["caBundle"]));
        let service = at(config, &["service"]).filter(|service| service.is_object());
        let Some(service) = service else {
            return Self {
                url: text(config, &["url"]).to_owned(),
                service: None,
                ca_bundle: ca_bundle.unwrap_or_default(),
            };
        };
        let port = service.get("port").and_then(Value::as_u64);
        let service_of = Service {
            namespace: text(service, &["namespace"]).to_owned(),
            name: text(service, &["name"]).to_owned(),
            port: port.and_then(|port| port.try_into().ok()).unwrap_or(443),
        };
        let path = match text(service, &["path"]) {
            "" => "/",
            path => path,
        };
        Self {
            url: format!("https://{}:{}{path}", service_of.host(), service_of.port),
            service: Some(service_of),
            ca_bundle: ca_bundle.unwrap_or_default(),
        }
    }

    /// The address with the time limit that the webhook is told, whole seconds.
    pub(crate) fn url(&self, timeout: Duration) -> String {
        let seconds = timeout.as_secs_f64().ceil();
        format!("{}?timeout={seconds}s", self.url)
    }

    /// The address to ask.
    pub(crate) fn uri(&self, timeout: Duration) -> Option<Uri> {
        let uri: Uri = self.url(timeout).parse().ok()?;
        (uri.scheme_str() == Some("https") && uri.host().is_some()).then_some(uri)
    }
}

impl Service {
    /// The name that the certificate must be for.
    pub(crate) fn host(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_service_is_asked_by_its_name_at_port_443() {
        let service = json!({"service": {"namespace": "ns", "name": "svc", "path": "/x"}});
        let endpoint = Endpoint::of(&service);
        assert_eq!(
            endpoint.url(Duration::from_secs(10)),
            "https://svc.ns.svc:443/x?timeout=10s"
        );
        let bare = Endpoint::of(&json!({"service": {"namespace": "ns", "name": "svc", "port": 8}}));
        assert_eq!(
            bare.url(Duration::from_millis(1500)),
            "https://svc.ns.svc:8/?timeout=2s"
        );
    }

    #[test]
    fn only_https_is_asked() {
        let plain = Endpoint::of(&json!({"url": "http://example.com/x"}));
        assert_eq!(plain.uri(Duration::from_secs(1)), None);
        let safe = Endpoint::of(&json!({"url": "https://example.com/x"}));
        assert!(safe.uri(Duration::from_secs(1)).is_some());
    }
}
