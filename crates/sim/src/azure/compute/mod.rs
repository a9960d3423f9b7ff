//! Compute: scale sets, their instances, and the operations that change them.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `scale_set` `model` | a set, and what new instances are made of |
//! | `validate` `change` | what a body may say, and what of it may change |
//! | `set_calls` `set_reads` | the calls on sets |
//! | `sizing` `instance` | growing and shrinking; an instance from Creating until it is gone |
//! | `instance_calls` `instance_reads` | the calls on instances |
//! | `image_reads` | looking for an image |
//! | `usages` | how much of the quotas is used |
//! | `operation` `operation_reads` | long-running operations |

mod change;
mod image_reads;
pub(crate) mod instance;
mod instance_calls;
mod instance_reads;
mod model;
mod operation;
mod operation_reads;
mod scale_set;
mod set_calls;
mod set_reads;
mod sizing;
mod usages;
mod validate;

pub(crate) use self::{
    image_reads::get_image,
    instance::{Instance, Power},
    instance_calls::{delete_instance, evict, set_action, vm_action},
    instance_reads::{find, get_instance, instance_view, list_instances},
    model::Model,
    operation::{Kind, Operation},
    operation_reads::get_operation,
    scale_set::{Provisioning, ScaleSet},
    set_calls::{delete_set, grow, patch_set, put_set, resize_set, set_document},
    set_reads::{get_set, list_sets, list_sets_of_group, listed, set_view},
    usages::usages,
    validate::check_tags,
};
