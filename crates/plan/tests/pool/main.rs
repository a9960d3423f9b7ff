//! The pool's decisions, without any cloud or Kubernetes: gates, rendering, schedule, deletion,
//! conditions. One file a noun; `world` is the reference pool, `lab` runs whole passes against the
//! model of the cloud that the AWS pool's tests use.

#![allow(
    clippy::panic,
    reason = "a builder or a model that meets the unexpected fails the test"
)]
#![allow(
    clippy::assigning_clones,
    clippy::semicolon_if_nothing_returned,
    clippy::type_complexity,
    reason = "tables of changes read best as bare assignments in closures"
)]

#[allow(dead_code, reason = "the AWS pool's tests use all of it")]
#[path = "../aws_pool/cloud.rs"]
mod cloud;
#[allow(dead_code, reason = "the AWS pool's tests use all of it")]
#[path = "../aws_pool/demo.rs"]
mod demo;
mod lab;
mod world;

mod admission;
mod autoscaling;
mod deletion;
mod drift;
mod events;
mod gates;
mod hash;
mod identity;
mod image;
mod inputs;
mod labels;
mod membership;
mod notices;
mod operations;
mod outputs;
mod property;
mod readiness;
mod rest;
mod schedule;
mod variables;
