//! The credential of an identity, for whoever asks the cloud with it outside a pool's pass.

use remuda_cloud::{Credentials, backend::CredentialSource};
use remuda_plan::pool::objects::{IdentityObject, SecretRef};

use crate::{
    kinds::Kind,
    objects::{ApiError, Objects},
    terraform_machine_pool::secret_data,
};

/// What was found of an identity's credential.
#[derive(Debug)]
pub enum Credential {
    /// The identity names no Secret.
    Unnamed,
    /// The Secret is not there.
    Missing(SecretRef),
    /// The Secret lacks keys that the identity requires.
    Lacks(Vec<String>),
    /// The Secret is no Secret's shape; the text names no value.
    Unreadable(String),
    /// Here it is.
    Found(Credentials),
}

/// Reads the credential of an identity.
///
/// # Errors
/// The Secret could not be read.
pub async fn credential(
    identity: &IdentityObject,
    objects: &dyn Objects,
) -> Result<Credential, ApiError> {
    let Some(source) = &identity.spec.secret_ref else {
        return Ok(Credential::Unnamed);
    };
    let read = objects.get(Kind::Secret, &source.namespace, &source.name);
    let Some(secret) = read.await? else {
        return Ok(Credential::Missing(source.clone()));
    };
    let keys = match secret_data(&secret) {
        Ok(keys) => keys,
        Err(why) => return Ok(Credential::Unreadable(why)),
    };
    let required = identity.spec.required_keys.iter();
    let lacks: Vec<String> = required
        .filter(|key| !keys.contains_key(*key))
        .cloned()
        .collect();
    if !lacks.is_empty() {
        return Ok(Credential::Lacks(lacks));
    }
    let version = secret.pointer("/metadata/resourceVersion");
    let version = version
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    Ok(Credential::Found(Credentials {
        cache_key: format!("{}@{}/{version}", identity.metadata.name, source.namespace),
        source: CredentialSource::Keys(keys),
    }))
}
