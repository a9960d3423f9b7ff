//! The Azure pool's decisions, without any cloud: tables, properties and a model of what the calls
//! do. One file a noun; `demo` is fixture F of the Azure document, `cloud` the model.

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

mod agent;
mod bootstrap;
mod capacity;
mod errors;
mod exports;
mod health;
mod hook_shell;
mod image;
mod labels;
mod lifecycle;
mod machine_rolls;
mod machines;
mod members;
mod model;
mod names;
mod operation;
mod ownership;
mod plans;
mod property;
mod ranch;
mod roll;
mod tags;
mod teardown;
mod template_rolls;
mod vars;
mod zones;
