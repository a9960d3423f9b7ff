//! The admission webhooks of `remuda up`: the manager's own, on loopback.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use futures::{FutureExt, future::BoxFuture};
use kube::Client;
use remuda_apiserver::{AdmissionReview, Reviewer, ServiceResolver};
use remuda_controllers::admission::{
    Admission, CERTIFICATES, Certificates, Endpoint, Review, Scope,
};
use remuda_plan::admission::Gates;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{install::SYSTEM_NAMESPACE, state::loopback};
use crate::webhooks::{self, Settings};

/// How the management API reaches the webhooks once they are served: it is in the same process, so
/// its calls need no connection. Others find them on loopback.
#[derive(Default)]
pub(crate) struct Own(Mutex<Option<(SocketAddr, Arc<dyn Reviewer>)>>);

impl Own {
    fn set(&self, webhooks: Option<(SocketAddr, Arc<dyn Reviewer>)>) {
        *self.0.lock().expect("no holder of this lock panics") = webhooks;
    }
}

/// Takes the webhooks from the API server when it goes: they hold clients of the server that holds
/// them, so that neither would go.
struct Lent(Arc<Own>);

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

impl ServiceResolver for Own {
    fn resolve(&self, _: &str, _: &str, _: &str, _: u16) -> Option<SocketAddr> {
        None
    }

    fn reviewer_at(&self, instance: &str, host: &str, port: u16) -> Option<Arc<dyn Reviewer>> {
        let webhooks = self.0.lock().expect("no holder of this lock panics");
        let (address, reviewer) = webhooks.as_ref()?;
        let same =
            instance.is_empty() && port == address.port() && host.parse() == Ok(address.ip());
        same.then(|| reviewer.clone())
    }
}

struct Answering(Admission);

impl Reviewer for Answering {
    fn review<'a>(
        &'a self,
        path: &'a str,
        review: &'a AdmissionReview,
    ) -> BoxFuture<'a, Result<Value, String>> {
        let review = Review {
            request: &review.request,
            object: review.object.as_deref().unwrap_or(&Value::Null),
            old_object: review.old_object.as_deref().unwrap_or(&Value::Null),
        };
        async move {
            let answer = self.0.review(path, &review).await;
            answer.map_err(|why| why.to_string())
        }
        .boxed()
    }
}

/// Serves the webhooks and installs their configurations; returns the port. `last` is the one that
/// stored configurations name.
pub(crate) async fn serve(
    client: &Client,
    own: Arc<Own>,
    last: Option<u16>,
    gates: Gates,
    shutdown: &CancellationToken,
) -> Result<u16> {
    let listener = match TcpListener::bind(loopback(last.unwrap_or_default())).await {
        Ok(listener) => listener,
        Err(_) => TcpListener::bind(loopback(0))
            .await
            .context("listening for admission reviews")?,
    };
    let address = listener.local_addr()?;
    let settings = Settings {
        endpoint: Endpoint::Host(address.to_string()),
        certificates: Certificates::Own {
            namespace: SYSTEM_NAMESPACE.to_owned(),
            secret: CERTIFICATES.to_owned(),
        },
        scope: Some(Scope::ALL),
        gates,
    };
    let (keeper, admission) = webhooks::serve(client, listener, settings, shutdown)?;
    own.set(Some((address, Arc::new(Answering(admission)))));
    let (lent, ending) = (Lent(own), shutdown.clone());
    tokio::spawn(async move {
        ending.cancelled().await;
        drop(lent);
    });
    keeper
        .pass()
        .await
        .context("installing the admission webhooks")?;
    tokio::spawn(keeper.run(shutdown.clone()));
    Ok(address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Silent;

    impl Reviewer for Silent {
        fn review<'a>(
            &'a self,
            _: &'a str,
            _: &'a AdmissionReview,
        ) -> BoxFuture<'a, Result<Value, String>> {
            std::future::pending().boxed()
        }
    }

    #[test]
    fn only_the_management_api_has_them_at_hand_and_only_at_their_own_address() {
        let own = Arc::<Own>::default();
        assert!(own.reviewer_at("", "127.0.0.1", 9443).is_none());
        let silent = Arc::new(Silent);
        own.set(Some((loopback(9443), silent)));
        let lent = Lent(own.clone());
        assert!(own.reviewer_at("", "127.0.0.1", 9443).is_some());
        for (instance, host, port) in [
            ("demo/ranch", "127.0.0.1", 9443),
            ("", "127.0.0.2", 9443),
            ("", "localhost", 9443),
            ("", "127.0.0.1", 443),
        ] {
            assert!(own.reviewer_at(instance, host, port).is_none(), "{host}");
        }
        drop(lent);
        assert!(own.reviewer_at("", "127.0.0.1", 9443).is_none());
    }
}
