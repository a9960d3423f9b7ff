//! The dashboard: server-rendered pages of machine pools, with updates while one looks.
//!
//! ```text
//! request ─▶ server (guards, sessions) ─▶ gather (reads, as the person) ─▶ view_model (pure) ─▶ pages
//!                                            ▲                                                  │
//! stream (watches, as the person) ───────────┘◀───────────── replaced fragments ────────────────┘
//! ```
//!
//! It does nothing with rights of its own: every read and write carries the token of whoever looks,
//! and what the API refuses is shown as the API words it. Invariants: nothing is rendered
//! unescaped; a page works without scripts; the browser never holds a token; a read that failed is
//! shown as unknown, never as nothing.

mod calls;
mod client;
mod gather;
mod history;
mod kinds;
mod object;
mod pages;
mod place;
mod server;
mod session;
mod stream;
mod view_model;

use std::sync::Arc;

use jiff::Timestamp;

pub use calls::{CallFigure, CallFigures, CallMinute, CallReport};
pub use history::History;
pub use server::{Dashboard, Options, StartError};
pub use session::NoRandomness;

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
