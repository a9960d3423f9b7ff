//! Throttling: token buckets for each policy (azure-machinepool.md, 10.5).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::route::{Action, Policy};
use crate::azure::protocol::ArmError;

/// A budget: so many tokens at once, refilled at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Budget {
    pub(crate) bucket: f64,
    pub(crate) per_second: f64,
}

impl Budget {
    /// `refill` tokens a minute, at most `bucket` at once.
    pub(crate) fn per_minute(refill: f64, bucket: f64) -> Self {
        Self {
            bucket,
            per_second: refill / 60.0,
        }
    }
}

/// What is left of one budget.
#[derive(Debug, Clone, Copy)]
struct Level {
    tokens: f64,
    at: Timestamp,
}

/// What one call costs and leaves.
#[derive(Debug, Default)]
pub(crate) struct Charged {
    /// `Microsoft.Compute/GetVMScaleSet3Min;197`, for each policy.
    pub(crate) resource: Vec<String>,
    /// Left of ARM's own budget.
    pub(crate) subscription: Option<u64>,
}

/// All budgets of the world. None is limited until the world says so.
#[derive(Debug, Default)]
pub(crate) struct Budgets {
    /// Budget of a policy for one resource, and for the subscription.
    policies: BTreeMap<Policy, (Option<Budget>, Option<Budget>)>,
    /// ARM's own, by `reads`, `writes`, `deletes`.
    arm: BTreeMap<&'static str, Budget>,
    levels: BTreeMap<String, Level>,
}

impl Policy {
    /// Name in the headers, without the unit of time.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PutSet => "PutVMScaleSet",
            Self::PatchSet => "PatchVMScaleSet",
            Self::DeleteSet => "DeleteVMScaleSet",
            Self::GetSet => "LowCostGetVMScaleSet",
            Self::InstanceView => "VMScaleSetInstanceView",
            Self::List => "HighCostGetVMScaleSet",
            Self::GetInstance => "GetVMScaleSetVM",
            Self::ChangeInstance => "UpdateVMScaleSetVM",
            Self::GetOperation => "GetOperation",
        }
    }

    /// The policy of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|policy| policy.name().eq_ignore_ascii_case(name))
    }

    const ALL: [Self; 9] = [
        Self::PutSet,
        Self::PatchSet,
        Self::DeleteSet,
        Self::GetSet,
        Self::InstanceView,
        Self::List,
        Self::GetInstance,
        Self::ChangeInstance,
        Self::GetOperation,
    ];
}

impl Budgets {
    /// Limits a policy for each resource.
    pub(crate) fn limit(&mut self, policy: Policy, budget: Budget) {
        self.policies.entry(policy).or_default().0 = Some(budget);
    }

    /// Sets the budgets Azure publishes.
    pub(crate) fn limit_like_azure(&mut self) {
        let minute = Budget::per_minute;
        let published = [
            (Policy::PutSet, Some((4.0, 12.0)), Some((125.0, 375.0))),
            (Policy::PatchSet, Some((4.0, 12.0)), Some((500.0, 1500.0))),
            (Policy::DeleteSet, Some((4.0, 12.0)), Some((175.0, 525.0))),
            (Policy::GetSet, Some((12.0, 36.0)), Some((800.0, 2400.0))),
            (Policy::InstanceView, Some((10.0, 30.0)), None),
            (Policy::List, None, Some((360.0, 1080.0))),
            (
                Policy::GetInstance,
                Some((12.0, 36.0)),
                Some((2000.0, 6000.0)),
            ),
            (
                Policy::ChangeInstance,
                Some((4.0, 12.0)),
                Some((500.0, 1500.0)),
            ),
            (
                Policy::GetOperation,
                Some((15.0, 45.0)),
                Some((5000.0, 15000.0)),
            ),
        ];
        for (policy, resource, subscription) in published {
            let budget = |pair: Option<(f64, f64)>| pair.map(|(refill, size)| minute(refill, size));
            self.policies
                .insert(policy, (budget(resource), budget(subscription)));
        }
        for (kind, bucket, per_second) in [
            ("reads", 250.0, 25.0),
            ("writes", 200.0, 10.0),
            ("deletes", 200.0, 10.0),
        ] {
            self.arm.insert(kind, Budget { bucket, per_second });
        }
    }

    /// Lifts all limits.
    pub(crate) fn lift(&mut self) {
        *self = Self::default();
    }

    /// Charges a call to its budgets, or refuses it.
    pub(crate) fn charge(
        &mut self,
        action: &Action,
        caller: &str,
        subscription: &str,
        resource: &str,
        now: Timestamp,
    ) -> Result<Charged, ArmError> {
        let mut charged = Charged::default();
        let kind = match (action.deletes, action.writes()) {
            (true, _) => "deletes",
            (false, true) => "writes",
            (false, false) => "reads",
        };
        if let Some(budget) = self.arm.get(kind).copied() {
            let bucket = format!("{kind}/{subscription}/{caller}").to_ascii_lowercase();
            let left = self
                .take(&bucket, budget, now)
                .map_err(|wait| ArmError::subscription_throttled(kind, wait))?;
            charged.subscription = Some(left);
        }
        let Some(policy) = action.policy else {
            return Ok(charged);
        };
        let (each, all) = self.policies.get(&policy).copied().unwrap_or_default();
        let scopes = [
            (each, format!("{}/{resource}", policy.name())),
            (all, format!("{}/{subscription}", policy.name())),
        ];
        for (budget, bucket) in scopes {
            let Some(budget) = budget else { continue };
            let left = self
                .take(&bucket.to_ascii_lowercase(), budget, now)
                .map_err(|wait| ArmError::throttled(policy.name(), wait))?;
            charged
                .resource
                .push(format!("Microsoft.Compute/{};{left}", policy.name()));
        }
        Ok(charged)
    }

    /// Takes a token: how many are left, or how many seconds until there is one.
    fn take(&mut self, bucket: &str, budget: Budget, now: Timestamp) -> Result<u64, u64> {
        let full = Level {
            tokens: budget.bucket,
            at: now,
        };
        let level = self.levels.entry(bucket.to_owned()).or_insert(full);
        let passed = now.duration_since(level.at).as_secs_f64().max(0.0);
        level.tokens = (level.tokens + passed * budget.per_second).min(budget.bucket);
        level.at = now;
        if level.tokens < 1.0 {
            let wait = (1.0 - level.tokens) / budget.per_second.max(1e-9);
            return Err(whole(wait.ceil().max(1.0)));
        }
        level.tokens -= 1.0;
        Ok(whole(level.tokens))
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts and waits are small and never negative"
)]
fn whole(number: f64) -> u64 {
    number.min(1e9) as u64
}
