//! Keeps certificates and webhook configurations as they should be: one pass every minute.
//!
//! Level triggered: a pass reads what is there and does what is due, so a crash between two writes
//! is repaired by the next pass, of this process or of another replica. Replicas share one Secret;
//! of two that renew at once one meets a conflict and takes what the other wrote.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    certificates::{CertificateError, Material},
    configurations::{Endpoint, Scope, configurations},
    listener::{Rotating, certified},
};
use crate::{
    clock::Clock,
    context::FIELD_MANAGER,
    kinds::Kind,
    objects::{ApiError, LiveObjects, Objects, Target},
};

/// Time between two passes. A new authority is signed with in the pass after the one that made it
/// known, so API servers have this long to hear of it.
const EVERY: Duration = Duration::from_mins(1);
/// Time until the next try after a pass failed.
const RETRY: Duration = Duration::from_secs(5);

/// Where certificates come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Certificates {
    /// Our own, kept in this Secret.
    Own {
        /// Its namespace.
        namespace: String,
        /// Its name.
        secret: String,
    },
    /// `tls.crt` and `tls.key` in a folder, which something else keeps: cert-manager, say. `ca.crt`
    /// goes into the configurations where it is there.
    Mounted(PathBuf),
}

/// Why a pass failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeepError {
    /// A read or write of the API failed.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// A certificate could not be made or read.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A file could not be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// See the module's words.
pub struct Keeper {
    /// The management API.
    pub objects: LiveObjects,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where certificates come from.
    pub certificates: Certificates,
    /// Where the webhooks answer.
    pub endpoint: Endpoint,
    /// Whose kinds are judged here; `None` leaves the configurations to someone else.
    pub scope: Option<Scope>,
    /// Who shows the certificate.
    pub rotating: Arc<Rotating>,
}

impl Keeper {
    /// Keeps everything until `shutdown`.
    pub async fn run(self, shutdown: CancellationToken) {
        loop {
            let wait = match self.pass().await {
                Ok(()) => EVERY,
                Err(error) => {
                    tracing::warn!(%error, "the webhooks' certificates are not as they should be");
                    RETRY
                }
            };
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// One pass. After the first that succeeds, the webhooks can be called.
    ///
    /// # Errors
    /// Something could not be read or written; what is shown stays.
    pub async fn pass(&self) -> Result<(), KeepError> {
        match &self.certificates {
            Certificates::Own { namespace, secret } => self.own(namespace, secret).await,
            Certificates::Mounted(folder) => self.mounted(folder).await,
        }
    }

    async fn own(&self, namespace: &str, name: &str) -> Result<(), KeepError> {
        let (names, now) = (self.endpoint.names(), self.clock.now());
        let stored = self.objects.get(Kind::Secret, namespace, name).await?;
        let data = stored.as_ref().and_then(|it| it["data"].as_object());
        let (found, next) = match data.and_then(Material::from_data) {
            None => (None, Some(Material::new(&names, now)?)),
            Some(found) => {
                let known = self.is_known(&found.authorities).await?;
                let next = found.renewed(&names, now, known)?;
                (Some(found), next)
            }
        };
        if let Some(next) = &next {
            self.store(namespace, name, stored, next).await?;
        }
        // One of the two is there: nothing was found, or nothing was due.
        if let Some(material) = next.or(found) {
            self.configure(Some(&material.authorities)).await?;
            self.rotating.show(&material.certificate, &material.key)?;
        }
        Ok(())
    }

    async fn mounted(&self, folder: &Path) -> Result<(), KeepError> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).map_err(|source| KeepError::File { path, source })
        };
        // Files are replaced one after the other: nobody is to trust the authorities of a
        // certificate that is not shown.
        let certified = certified(&read("tls.crt")?, &read("tls.key")?)?;
        self.configure(read("ca.crt").ok().as_deref()).await?;
        self.rotating.present(certified);
        Ok(())
    }

    /// Whether the configurations trusted these authorities before this pass.
    async fn is_known(&self, authorities: &str) -> Result<bool, ApiError> {
        let Some(scope) = self.scope else {
            return Ok(true);
        };
        for wanted in configurations(&self.endpoint, scope, Some(authorities)) {
            let stored = self.stored(&wanted).await?;
            if !stored.is_some_and(|stored| holds(&wanted["webhooks"], &stored["webhooks"])) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Creates or corrects the configurations. Without `authorities` those stay that are there.
    async fn configure(&self, authorities: Option<&str>) -> Result<(), ApiError> {
        let Some(scope) = self.scope else {
            return Ok(());
        };
        for mut wanted in configurations(&self.endpoint, scope, authorities) {
            let resource = resource(&wanted);
            let Some(stored) = self.stored(&wanted).await? else {
                self.objects
                    .create(&resource, None, &wanted, FIELD_MANAGER)
                    .await?;
                continue;
            };
            if holds(&wanted["webhooks"], &stored["webhooks"]) {
                continue;
            }
            if authorities.is_none() {
                keep_authorities(&mut wanted, &stored);
            }
            let target = Target {
                resource: &resource,
                namespace: None,
                name: name_of(&wanted),
                subresource: None,
            };
            let patch = json!({
                "metadata": { "resourceVersion": stored["metadata"]["resourceVersion"] },
                "webhooks": wanted["webhooks"],
            });
            self.objects
                .merge_patch(&target, &patch, FIELD_MANAGER)
                .await?;
        }
        Ok(())
    }

    async fn stored(&self, configuration: &Value) -> Result<Option<Value>, ApiError> {
        let resource = resource(configuration);
        self.objects
            .get_of(&resource, None, name_of(configuration))
            .await
    }

    async fn store(
        &self,
        namespace: &str,
        name: &str,
        stored: Option<Value>,
        material: &Material,
    ) -> Result<(), ApiError> {
        let resource = Kind::Secret.resource();
        if let Some(mut body) = stored {
            body["data"] = material.data();
            self.objects
                .replace(&resource, Some(namespace), &body, FIELD_MANAGER)
                .await?;
            return Ok(());
        }
        let body = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": name, "namespace": namespace },
            "type": "Opaque",
            "data": material.data(),
        });
        self.objects
            .create(&resource, Some(namespace), &body, FIELD_MANAGER)
            .await?;
        Ok(())
    }
}

fn name_of(configuration: &Value) -> &str {
    configuration["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
}

fn resource(configuration: &Value) -> ApiResource {
    let kind = configuration["kind"].as_str().unwrap_or_default();
    ApiResource::from_gvk(&GroupVersionKind::gvk(
        "admissionregistration.k8s.io",
        "v1",
        kind,
    ))
}

/// Whom the stored webhooks trust, webhook by webhook.
fn keep_authorities(wanted: &mut Value, stored: &Value) {
    let stored = stored["webhooks"].as_array();
    for webhook in wanted["webhooks"].as_array_mut().into_iter().flatten() {
        let same = stored
            .into_iter()
            .flatten()
            .find(|other| other["name"] == webhook["name"]);
        let bundle = same.map(|other| &other["clientConfig"]["caBundle"]);
        if let Some(bundle) = bundle.filter(|bundle| !bundle.is_null()) {
            webhook["clientConfig"]["caBundle"] = bundle.clone();
        }
    }
}

/// Whether everything that is wanted is there; a server fills in more.
fn holds(wanted: &Value, stored: &Value) -> bool {
    match (wanted, stored) {
        (Value::Object(wanted), Value::Object(stored)) => wanted
            .iter()
            .all(|(key, value)| stored.get(key).is_some_and(|it| holds(value, it))),
        (Value::Array(wanted), Value::Array(stored)) => {
            wanted.len() == stored.len()
                && wanted
                    .iter()
                    .zip(stored)
                    .all(|(one, other)| holds(one, other))
        }
        (wanted, stored) => wanted == stored,
    }
}
