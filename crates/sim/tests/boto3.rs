//! boto3 as an independent client: its parsers reject answers of a wrong shape.
//!
//! Needs a Python with boto3, named by `REMUDA_PYTHON`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use remuda_sim::{SimClock, aws::AwsSim};
use tokio::{net::TcpListener, process::Command};

#[tokio::test]
async fn boto3_understands_every_answer() {
    let Ok(python) = std::env::var("REMUDA_PYTHON") else {
        eprintln!("skipped: set REMUDA_PYTHON to a Python that has boto3");
        return;
    };
    // boto3 signs with the wall clock; the world need not share it.
    let clock = SimClock::starting_at(support::start()).with_speed(50.0);
    let sim = AwsSim::builder().clock(clock).seed(1).demo();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let router = sim.router().nest("/_sim", sim.control_router());
    let server = tokio::spawn(axum::serve(listener, router).into_future());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/boto3_shapes.py");
    let output = Command::new(python)
        .arg(script)
        .arg(&endpoint)
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env_remove("HTTP_PROXY")
        .env_remove("http_proxy")
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .await
        .unwrap();
    server.abort();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{out}\n{err}");
    assert!(out.contains("all shapes accepted"));
}
