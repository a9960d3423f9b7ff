//! Bounds and desired count, and who owns the count (captf document REP-1 to REP-4).

use super::inputs::Autoscaling;

/// What a group's size may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Lower bound.
    pub min: i64,
    /// Upper bound.
    pub max: i64,
    /// Count sent when the group is created; later a scaler owns it, unless `fixed`.
    pub initial: i64,
    /// The bounds pin the size: the count follows them.
    pub fixed: bool,
}

/// Autoscaling off pins the size to `replicas`; on, the annotations bound it and `replicas` is
/// clamped. `autoscaling` is ordered (`0 <= min <= max`) where it is enabled.
pub fn capacity(replicas: i64, autoscaling: Autoscaling) -> Capacity {
    if autoscaling.enabled {
        Capacity {
            min: autoscaling.min,
            max: autoscaling.max,
            initial: replicas.min(autoscaling.max).max(autoscaling.min),
            fixed: false,
        }
    } else {
        Capacity {
            min: replicas,
            max: replicas,
            initial: replicas,
            fixed: true,
        }
    }
}

/// Whether bounds are ordered: what an enabled autoscaling must be.
pub fn is_ordered(autoscaling: Autoscaling) -> bool {
    0 <= autoscaling.min && autoscaling.min <= autoscaling.max
}
