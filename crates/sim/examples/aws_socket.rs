//! Serves the DEMO world on a loopback port, for boto3, the AWS CLI and curl.
//!
//! ```text
//! cargo run -p remuda-sim --example aws_socket -- 4566
//! aws --endpoint-url http://127.0.0.1:4566 ec2 describe-subnets
//! curl http://127.0.0.1:4566/_sim/world
//! ```
#![allow(
    clippy::print_stdout,
    reason = "an example talks to the person who started it"
)]

use jiff::Timestamp;
use remuda_sim::{
    SimClock,
    aws::{AwsSim, DEMO_ACCESS_KEY_ID, DEMO_REGION, DEMO_SECRET_ACCESS_KEY},
};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let port: u16 = std::env::args()
        .nth(1)
        .and_then(|port| port.parse().ok())
        .unwrap_or(0);
    let clock = SimClock::starting_at(Timestamp::now()).with_speed(10.0);
    let sim = AwsSim::builder().clock(clock).seed(1).demo();
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("endpoint http://{}", listener.local_addr()?);
    println!("AWS_REGION={DEMO_REGION}");
    println!("AWS_ACCESS_KEY_ID={DEMO_ACCESS_KEY_ID}");
    println!("AWS_SECRET_ACCESS_KEY={DEMO_SECRET_ACCESS_KEY}");
    let router = sim.router().nest("/_sim", sim.control_router());
    axum::serve(listener, router).await
}
