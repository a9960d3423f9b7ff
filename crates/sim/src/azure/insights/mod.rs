//! Insights: autoscale settings, and the engine that carries them out.

mod engine;
mod setting;
mod setting_calls;

pub use self::setting::Activity;
pub(crate) use self::{
    setting::Setting,
    setting_calls::{
        delete_setting, get_setting, list_settings, list_settings_of_group, patch_setting,
        put_setting,
    },
};
