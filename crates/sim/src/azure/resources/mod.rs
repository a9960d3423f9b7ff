//! Resource groups, and the index of all resources.

mod group_calls;
mod index;

pub(crate) use self::{
    group_calls::{delete_group, get_group, permissions, put_group},
    index::list_resources,
};
