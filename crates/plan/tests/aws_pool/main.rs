//! The AWS pool's decisions, without any cloud: tables, properties and a model of what the calls
//! do. One file a noun; `demo` is the reference pool of the AWS document, `cloud` the model.

#![allow(
    clippy::panic,
    reason = "a model or a builder that meets the unexpected fails the test"
)]
#![allow(
    clippy::assigning_clones,
    clippy::semicolon_if_nothing_returned,
    clippy::type_complexity,
    reason = "tables of changes read best as bare assignments in closures"
)]

mod cloud;
mod demo;
mod rendered;

mod bootstrap;
mod capacity;
mod errors;
mod exports;
mod health;
mod holds;
mod image;
mod labels;
mod lifecycle;
mod machines;
mod members;
mod names;
mod notices;
mod ownership;
mod payload;
mod plans;
mod property;
mod roll;
mod schema;
mod storm;
mod stub_shell;
mod tags;
mod teardown;
mod template;
mod template_rolls;
mod vars;
mod zones;
