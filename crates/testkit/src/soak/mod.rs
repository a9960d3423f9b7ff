//! Simulated days from a seed: random scaling, rolls, deletions, outages and crashes, with
//! invariants that hold at every step and a world that comes to rest whenever it is let be.
//!
//! | file | what |
//! | --- | --- |
//! | `story` | what happens, from a seed |
//! | `play` | makes it happen, in virtual time |
//! | `cloud` | the cloud it happens in |
//! | `guard` | what must hold at every step |
//! | `rest` | what must hold once things come to rest |
//! | `picture` | what the world looks like when it does not |

mod cloud;
mod guard;
mod picture;
mod play;
mod rest;
mod story;

pub use self::{
    cloud::Cloud,
    play::{Played, play, replay},
    story::{Chapter, Happening, story},
};
