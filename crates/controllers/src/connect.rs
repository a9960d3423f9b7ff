//! Clients of Kubernetes APIs as controllers need them: one answer a request, and soon. What was
//! refused or did not come is the pass's to judge, and its controller's to try again. A client that
//! tried again by itself would hold the pass meanwhile: an eviction that a disruption budget
//! refuses (429) would never be told, nor its drain's timeout be seen to have passed.

use std::time::Duration;

use kube::{Client, Config, client::ClientBuilder};
use tower::timeout::TimeoutLayer;

/// Longest wait for the head of an answer; a watch sends it at once. Ours: as long as an admission
/// webhook may take at most.
const ANSWER: Duration = Duration::from_secs(30);

/// A client.
///
/// # Errors
/// None can be built from the configuration: a certificate or a key is not one.
pub fn client(mut config: Config) -> kube::Result<Client> {
    config.default_retry = false;
    let builder = ClientBuilder::try_from(config)?;
    Ok(builder.with_layer(&TimeoutLayer::new(ANSWER)).build())
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use axum::{Router, http::StatusCode, routing::post};
    use kube::{
        Config,
        config::{KubeConfigOptions, Kubeconfig},
    };
    use remuda_plan::machines::{pod::PodName, progress::Eviction};
    use serde_json::json;
    use tokio::net::TcpListener;

    use crate::{objects::LiveObjects, workload::evacuation::Workload};

    async fn config(address: std::net::SocketAddr) -> Config {
        let file = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "it",
            "contexts": [{ "name": "it", "context": { "cluster": "it", "user": "it" } }],
            "clusters": [{ "name": "it", "cluster": { "server": format!("http://{address}") } }],
            "users": [{ "name": "it", "user": {} }],
        });
        let file: Kubeconfig = serde_json::from_value(file).unwrap();
        let options = KubeConfigOptions::default();
        Config::from_custom_kubeconfig(file, &options)
            .await
            .unwrap()
    }

    /// Over a socket, as in production: a client in process has no layers that could try again.
    #[tokio::test]
    async fn an_eviction_that_a_budget_refuses_is_asked_for_once_and_told() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = asked.clone();
        let refuse = move || {
            counter.fetch_add(1, Ordering::SeqCst);
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429,
                "reason": "TooManyRequests", "message": "the budget shop needs 5 healthy pods",
            });
            let headers = [("content-type", "application/json"), ("retry-after", "1")];
            std::future::ready((StatusCode::TOO_MANY_REQUESTS, headers, status.to_string()))
        };
        let path = "/api/v1/namespaces/default/pods/shop/eviction";
        let router = Router::new().route(path, post(refuse));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move { axum::serve(listener, router).await });

        let client = super::client(config(address).await).unwrap();
        let workload = LiveObjects::new(client);
        let pod = PodName {
            namespace: "default".to_owned(),
            name: "shop".to_owned(),
        };
        let eviction = Workload { objects: &workload };
        let answer = eviction.evict(&pod, "uid", None).await;
        assert!(
            matches!(&answer, Eviction::Blocked(why) if why.contains("needs 5 healthy pods")),
            "{answer:?}"
        );
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        server.abort();
    }
}
