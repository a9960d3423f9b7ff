//! `remuda up` as a person runs it: the program, a data directory, real kubectl.

mod data_dir;
mod running;
mod tour;
