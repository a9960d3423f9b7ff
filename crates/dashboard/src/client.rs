//! The Kubernetes API with the rights of one person. Every read and write carries the person's own
//! token, so that roles decide; nothing is done with the rights of the process.

use std::fmt;

use http::{HeaderValue, Request, header};
use kube::{
    Client,
    api::{
        DeleteParams, DynamicObject, GetParams, ListParams, Patch, PatchParams, PostParams,
        Preconditions,
    },
    client::Body,
};
use remuda_api::keys::annotation;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{kinds::Kind, object};

/// Objects asked for in one page.
const PAGE: u32 = 500;
/// Field manager of what people change.
const MANAGER: &str = "remuda-dashboard";
/// Tries of a write that other writers may come before.
const TRIES: usize = 4;

/// A bearer token. It never prints.
#[derive(Clone)]
pub(crate) struct Token(HeaderValue);

impl Token {
    /// `None` for what no header can carry.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {text}")).ok()?;
        value.set_sensitive(true);
        Some(Self(value))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Why the API did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// The token is not, or no longer, valid.
    #[error("the token is not valid")]
    SignIn,
    /// The person may not: the API's words.
    #[error("{0}")]
    Forbidden(String),
    /// There is no such object, or no such kind.
    #[error("there is no such object")]
    Missing,
    /// Another writer came first, or the object is another one by now.
    #[error("{0}")]
    Conflict(String),
    /// The API refuses what was sent: its words.
    #[error("{0}")]
    Invalid(String),
    /// It did not answer, or not in a way that can be read.
    #[error("the Kubernetes API does not answer: {0}")]
    Unreachable(String),
}

impl From<kube::Error> for Refusal {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => match status.code {
                401 => Self::SignIn,
                403 => Self::Forbidden(status.message.clone()),
                404 => Self::Missing,
                409 => Self::Conflict(status.message.clone()),
                400..=499 => Self::Invalid(status.message.clone()),
                _ => Self::Unreachable(status.message.clone()),
            },
            other => Self::Unreachable(other.to_string()),
        }
    }
}

/// The API as one person sees it.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: Value,
    #[serde(default = "Vec::new")]
    items: Vec<Value>,
}

impl Api {
    /// `base` reaches the API and carries no credentials.
    pub(crate) fn new(base: &Client, token: &Token) -> Self {
        let (base, Token(bearer)) = (base.clone(), token.clone());
        let with_token = tower::service_fn(move |mut request: Request<Body>| {
            request
                .headers_mut()
                .insert(header::AUTHORIZATION, bearer.clone());
            let base = base.clone();
            async move { base.send(request).await }
        });
        Self {
            client: Client::new(with_token, "default"),
        }
    }

    /// The client itself, for watches.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// The name under which the API knows the person.
    pub(crate) async fn who_am_i(&self) -> Result<String, Refusal> {
        const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let review =
            json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
        let asked = kube::core::Request::new(REVIEWS)
            .create(&PostParams::default(), review.to_string().into_bytes())
            .map_err(unbuilt)?;
        let answer: Value = self.client.request(asked).await?;
        let name = object::text(&answer, "/status/userInfo/username");
        Ok(name.unwrap_or("unknown").to_owned())
    }

    /// Every object of a kind, in one namespace or in all.
    pub(crate) async fn list(
        &self,
        kind: Kind,
        namespace: Option<&str>,
    ) -> Result<Vec<Value>, Refusal> {
        self.list_as(kind, namespace, ListParams::default()).await
    }

    /// The objects of a kind that some parameters select.
    pub(crate) async fn list_as(
        &self,
        kind: Kind,
        namespace: Option<&str>,
        params: ListParams,
    ) -> Result<Vec<Value>, Refusal> {
        let asked = request(kind, namespace);
        let mut page = params.limit(PAGE);
        let mut items = Vec::new();
        loop {
            let one: Page = self
                .client
                .request(asked.list(&page).map_err(unbuilt)?)
                .await?;
            items.extend(one.items);
            match object::text(&one.metadata, "/continue") {
                Some(token) => page = page.continue_token(token),
                None => return Ok(items),
            }
        }
    }

    /// One object.
    pub(crate) async fn get(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Value, Refusal> {
        named(&[namespace, name])?;
        let asked = request(kind, Some(namespace)).get(name, &GetParams::default());
        Ok(self.client.request(asked.map_err(unbuilt)?).await?)
    }

    /// Sets the wanted count of a pool, as long as it is still `from`: through the scale
    /// subresource, so that whoever may scale needs no more.
    pub(crate) async fn scale(
        &self,
        namespace: &str,
        pool: &str,
        from: i64,
        to: i64,
    ) -> Result<(), Refusal> {
        named(&[namespace, pool])?;
        let api = self.objects(Kind::MachinePool, namespace);
        let params = manager();
        for _ in 0..TRIES {
            let scale = api.get_scale(pool).await?;
            let now = scale.spec.and_then(|spec| spec.replicas).unwrap_or(0);
            if i64::from(now) != from {
                let why = format!("somebody changed the count to {now} in the meantime");
                return Err(Refusal::Conflict(why));
            }
            let patch = json!({
                "metadata": { "resourceVersion": scale.metadata.resource_version },
                "spec": { "replicas": to },
            });
            match api
                .patch_scale(pool, &params, &Patch::Merge(&patch))
                .await
                .map_err(Refusal::from)
            {
                // A status was written in between: look again.
                Err(Refusal::Conflict(_)) => {}
                outcome => return outcome.map(drop),
            }
        }
        Err(Refusal::Conflict(
            "the pool changes too fast; try again".to_owned(),
        ))
    }

    /// Pauses or resumes an object.
    pub(crate) async fn set_paused(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        paused: bool,
    ) -> Result<(), Refusal> {
        named(&[namespace, name])?;
        let value = if paused {
            Value::from("true")
        } else {
            Value::Null
        };
        let patch = json!({ "metadata": { "annotations": { annotation::PAUSED: value } } });
        let api = self.objects(kind, namespace);
        Ok(api
            .patch(name, &manager(), &Patch::Merge(&patch))
            .await
            .map(drop)?)
    }

    /// Deletes a Machine, as long as it is still the one that was meant.
    pub(crate) async fn delete_machine(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
    ) -> Result<(), Refusal> {
        named(&[namespace, name])?;
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(uid.to_owned()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        let api = self.objects(Kind::Machine, namespace);
        Ok(api.delete(name, &params).await.map(drop)?)
    }

    fn objects(&self, kind: Kind, namespace: &str) -> kube::Api<DynamicObject> {
        kube::Api::namespaced_with(self.client(), namespace, &kind.resource())
    }
}

/// A name becomes a part of an address: what could be another address names nothing.
fn named(names: &[&str]) -> Result<(), Refusal> {
    let fits = |name: &&str| {
        let mut letters = name.bytes();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        letters.all(plain) && !matches!(*name, "" | "." | "..")
    };
    if names.iter().all(fits) {
        Ok(())
    } else {
        Err(Refusal::Missing)
    }
}

fn manager() -> PatchParams {
    PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

fn request(kind: Kind, namespace: Option<&str>) -> kube::core::Request {
    use kube::Resource as _;
    kube::core::Request::new(DynamicObject::url_path(&kind.resource(), namespace))
}

fn unbuilt(error: kube::core::request::Error) -> Refusal {
    Refusal::Invalid(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_does_not_print() {
        let token = Token::new(" abc.def ").unwrap();
        assert_eq!(format!("{token:?}"), "[redacted]");
        assert!(!format!("{:?}", token.0).contains("abc"));
    }

    #[test]
    fn a_name_is_no_address() {
        assert_eq!(named(&["team-a", "demo-pool-0.x"]), Ok(()));
        for name in ["", "..", "a/b", "a?b", "a%2fb"] {
            assert_eq!(named(&["team-a", name]), Err(Refusal::Missing), "{name}");
        }
    }

    #[test]
    fn what_no_header_carries_is_no_token() {
        assert!(Token::new("").is_none());
        assert!(Token::new("a\nb").is_none());
    }
}
