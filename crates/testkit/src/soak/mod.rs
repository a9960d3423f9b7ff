//! Simulated days from a seed: random scaling, rolls, deletions, outages and crashes, with
//! invariants that hold at every step and a world that comes to rest whenever it is let be.
//!
//! | file | what |
//! | --- | --- |
//! | `story` | what happens, from a seed |
//! | `play` | makes it happen, in virtual time |
//! | `guard` | what must hold at every step |
//! | `rest` | what must hold once things come to rest |

mod guard;
mod play;
mod rest;
mod story;

pub use self::{
    play::{Played, play, replay},
    story::{Chapter, Happening, story},
};
