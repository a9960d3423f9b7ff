//! Serves a CustomResourceDefinition to kubectl, and keeps what is made in the folder
//! `serve_crd.data`: `cargo run -p remuda-apiserver --example serve_crd`, then
//! `kubectl --kubeconfig serve_crd.kubeconfig get widgets`.
#![allow(
    clippy::print_stdout,
    reason = "an example talks to the person who runs it"
)]

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use remuda_apiserver::ApiServer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = ApiServer::builder().data_dir("serve_crd.data").build()?;
    let management = server.management();

    let definition = serde_saphyr::from_str(include_str!("widgets.yaml"))?;
    let client = kube::Client::new(management.router(), "default");
    Api::<CustomResourceDefinition>::all(client)
        .patch(
            "widgets.example.com",
            &PatchParams::apply("serve_crd"),
            &Patch::Apply::<CustomResourceDefinition>(definition),
        )
        .await?;

    let serving = server.serve("127.0.0.1:0".parse()?).await?;
    std::fs::write("serve_crd.kubeconfig", serving.kubeconfig(&management))?;
    println!("{} is ready; Ctrl-C ends it", serving.url(&management));
    tokio::signal::ctrl_c().await?;
    serving.shutdown().await;
    Ok(())
}
