//! Serves a CustomResourceDefinition to kubectl:
//! `cargo run --example serve_crd -- [DATA_DIR]`, then
//! `kubectl --kubeconfig serve_crd.kubeconfig get widgets`.
#![allow(
    clippy::print_stdout,
    reason = "an example talks to the person who runs it"
)]

use remuda_apiserver::ApiServer;
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = ApiServer::builder();
    if let Some(folder) = std::env::args().nth(1) {
        builder = builder.data_dir(folder);
    }
    let server = builder.build()?;
    let management = server.management();
    let client = kube::Client::new(management.router(), "default");
    let definition = serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {
                    "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
                "additionalPrinterColumns": [
                    {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
                    {"name": "Ready", "type": "string",
                     "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
                    {"name": "Size", "type": "string", "jsonPath": ".spec.size", "priority": 1},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}],
                "schema": {"openAPIV3Schema": {"type": "object", "description": "A widget.",
                    "properties": {
                        "spec": {"type": "object", "required": ["replicas"], "description": "What is wished.",
                            "properties": {
                                "replicas": {"type": "integer", "minimum": 0, "maximum": 10,
                                             "description": "How many."},
                                "size": {"type": "string", "enum": ["small", "large"], "default": "small"}},
                            "x-kubernetes-validations": [
                                {"rule": "self.size != 'large' || self.replicas <= 5",
                                 "message": "at most five large widgets"}]},
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}
            }]
        }
    }))?;
    let definitions: kube::Api<k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition> =
        kube::Api::all(client);
    if definitions.get_opt("widgets.example.com").await?.is_none() {
        definitions
            .create(&kube::api::PostParams::default(), &definition)
            .await?;
    }
    let serving = server.serve("127.0.0.1:0".parse()?).await?;
    std::fs::write("serve_crd.kubeconfig", serving.kubeconfig(&management))?;
    println!(
        "serving {}; kubeconfig in serve_crd.kubeconfig; Ctrl-C ends",
        serving.url(&management)
    );
    tokio::signal::ctrl_c().await?;
    serving.shutdown().await;
    Ok(())
}
