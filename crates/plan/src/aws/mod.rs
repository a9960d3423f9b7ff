//! The AWS machine pool: one Auto Scaling group, one launch template, one S3 object.

pub mod action;
pub mod desired;
pub mod observed;
