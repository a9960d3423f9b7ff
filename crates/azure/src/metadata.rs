//! Tokens of a managed identity, from the machine's own metadata service (Azure document 12.4).

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use remuda_cloud::CloudError;
use remuda_plan::error::FailureClass;

use crate::{
    calls, errors,
    tokens::{self, Granted, Tokens},
};

const RESOURCE: &str = "https://management.azure.com/";

/// Waits before each try (Azure document 12.4): the service restarts now and then, and answers 404
/// or 410 meanwhile.
const WAITS: [u64; 5] = [0, 2, 6, 14, 30];

/// Asks for a token of the identity with this client id.
pub(crate) async fn ask(
    tokens: &Tokens,
    endpoint: &str,
    client_id: &str,
) -> Result<Granted, CloudError> {
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let url = format!(
        "{endpoint}/metadata/identity/oauth2/token?api-version=2018-02-01&resource={}&client_id={}",
        encoded(RESOURCE),
        encoded(client_id)
    );
    let mut last = None;
    for seconds in WAITS {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let request = Request::get(&url)
            .header("Metadata", "true")
            .body(Full::new(Bytes::new()))
            .map_err(|_| {
                errors::failure(
                    FailureClass::Bug,
                    calls::TOKEN,
                    "the metadata URL is no URL",
                )
            })?;
        match tokens.exchange(request).await {
            Ok(answer) if answer.status().is_success() => return tokens::granted(&answer),
            Ok(answer) if is_passing(&answer) => last = Some(passing(&answer)),
            Ok(answer) => return Err(tokens::refusal(&answer)),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| {
        errors::failure(FailureClass::Transient, calls::TOKEN, "no answer").into()
    }))
}

fn is_passing(answer: &Response<Bytes>) -> bool {
    matches!(answer.status().as_u16(), 404 | 410 | 429 | 500..=599)
}

/// What passes by itself is no fault of the identity.
fn passing(answer: &Response<Bytes>) -> CloudError {
    let mut error = tokens::refusal(answer);
    if error.class() == FailureClass::NoCredentials {
        error.failure.class = FailureClass::Transient;
    }
    error
}
