//! The Kubernetes API answers.

use std::time::Instant;

use super::{finding::Finding, patient::Patient};

const SUBJECT: &str = "Kubernetes API";

/// Asks for its version.
pub(super) async fn run(patient: &Patient) -> Vec<Finding> {
    let asked = Instant::now();
    let finding = match patient.client.apiserver_version().await {
        Ok(version) => {
            let took = asked.elapsed().as_millis();
            let found = format!("{} answers within {took} ms", version.git_version);
            Finding::ok(SUBJECT, found)
        }
        Err(error) => Finding::fail(
            SUBJECT,
            format!("does not answer: {error}"),
            "check the kubeconfig (--kubeconfig, KUBECONFIG) and the way to its server",
        ),
    };
    vec![finding]
}
