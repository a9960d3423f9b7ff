//! Worker machines of Kubernetes clusters on AWS and Azure.

fn main() {}
