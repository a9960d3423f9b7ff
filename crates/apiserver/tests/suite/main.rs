//! The server from outside: requests in process, over its socket, by kube-rs and by real kubectl.
//!
//! One binary, so that the tests link once. `golden_*` replay what a genuine server answered.

mod admission;
mod apply;
mod asking;
mod at_rest;
mod authentication;
mod authorization;
mod backup;
mod controller;
mod conversion;
mod crash;
mod durability;
mod expressions;
mod fuzz;
mod golden_apply;
mod golden_core;
mod golden_definition;
mod golden_hooks;
mod golden_table;
mod golden_validation;
mod granting;
mod hooks;
mod http;
mod in_process_hooks;
mod instances;
mod kubectl;
mod kubectl_access;
mod lifecycle;
mod listener;
mod model;
mod on_disk;
mod openapi;
mod reviews;
mod robustness;
mod serving;
mod third_party_crds;
mod tokens;
mod versions;
mod watch;
mod widget;
