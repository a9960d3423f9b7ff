//! Calls as data. A backend declares every call it can make in one table, with the permissions the
//! call needs and why: what is not listed can't be made, and what is granted can be derived.

use crate::retry::Repeat;

/// One call of a cloud's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// As people know it: `autoscaling:UpdateAutoScalingGroup`, `PATCH virtualMachineScaleSets`.
    pub name: &'static str,
    /// Ceilings it counts against, in the order in which its turn is waited for.
    pub buckets: &'static [&'static str],
    /// It changes something.
    pub mutating: bool,
    /// What a lost answer allows.
    pub repeat: Repeat,
    /// What an identity must be allowed.
    pub needs: &'static [Permission],
}

/// A permission in the cloud's words, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// `autoscaling:UpdateAutoScalingGroup`, `Microsoft.Compute/virtualMachineScaleSets/write`.
    pub action: &'static str,
    /// What for, for people.
    pub why: &'static str,
}

impl Call {
    /// A call that changes nothing.
    pub const fn read(name: &'static str, buckets: &'static [&'static str]) -> Self {
        Self {
            name,
            buckets,
            mutating: false,
            repeat: Repeat::Harmless,
            needs: &[],
        }
    }

    /// A call that changes something, and does no more when it arrives twice.
    pub const fn write(name: &'static str, buckets: &'static [&'static str]) -> Self {
        Self {
            name,
            buckets,
            mutating: true,
            repeat: Repeat::Harmless,
            needs: &[],
        }
    }

    /// The same, and nobody may send it again without looking first.
    #[must_use]
    pub const fn once(self) -> Self {
        Self {
            repeat: Repeat::LookFirst,
            ..self
        }
    }

    /// The same with what it needs.
    #[must_use]
    pub const fn needing(self, needs: &'static [Permission]) -> Self {
        Self { needs, ..self }
    }
}

/// Declares a table of calls: a static each, and `ALL` of them.
#[macro_export]
macro_rules! calls {
    ($($name:ident = $call:expr => { $($action:literal: $why:literal),* $(,)? };)*) => {
        $(pub(crate) static $name: $crate::calls::Call = $call.needing(&[$(
            $crate::calls::Permission { action: $action, why: $why },
        )*]);)*

        /// Every call that can be made.
        pub(crate) static ALL: &[&$crate::calls::Call] = &[$(&$name),*];
    };
}
