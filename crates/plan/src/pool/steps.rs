//! Collecting steps in order; a record write is put right before the call that relies on it, and
//! only where it changes something.

use serde_json::Value;

use super::{
    action::{Action, ChangeKind, Effect, FieldChange, Outlook, Plan, Step},
    record::{DriverRecord, Record},
};
use crate::driver::PoolContext;

/// One cloud call on its way into a plan.
#[derive(Debug)]
pub struct Call {
    /// The call.
    pub action: Action,
    /// Why.
    pub because: String,
    /// What it does to running machines.
    pub effect: Effect,
    /// Stable logical name.
    pub object: String,
    /// How it counts as drift.
    pub kind: ChangeKind,
    /// Fields that differ.
    pub changes: Vec<FieldChange>,
}

impl Call {
    /// A call without an effect on machines and without field changes.
    pub fn new(
        action: impl Into<Action>,
        kind: ChangeKind,
        object: impl Into<String>,
        because: impl Into<String>,
    ) -> Self {
        Self {
            action: action.into(),
            because: because.into(),
            effect: Effect::None,
            object: object.into(),
            kind,
            changes: Vec::new(),
        }
    }

    /// The same call with its effect on running machines.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// The same call with the fields that differ.
    #[must_use]
    pub fn changes(mut self, changes: Vec<FieldChange>) -> Self {
        self.changes = changes;
        self
    }
}

/// Steps of one plan, and the driver's record `R` as it will be after them.
#[derive(Debug)]
pub struct Steps<'a, R> {
    context: &'a PoolContext<'a>,
    base: Record,
    stored: Option<R>,
    /// The driver's record as the plan goes along; [`Steps::remember`] writes it.
    pub record: R,
    collected: Vec<Step>,
    outlook: Option<Outlook>,
}

impl<'a, R> Steps<'a, R>
where
    R: Clone + PartialEq + Into<DriverRecord>,
{
    /// No steps yet. `stored` is what is written already, `record` what the plan begins with.
    pub fn new(context: &'a PoolContext<'a>, stored: Option<R>, record: R) -> Self {
        Self {
            context,
            base: context
                .record
                .cloned()
                .unwrap_or_else(|| Record::new(context.installation)),
            stored,
            record,
            collected: Vec::new(),
            outlook: None,
        }
    }

    /// What the plan is about.
    pub fn context(&self) -> &'a PoolContext<'a> {
        self.context
    }

    /// Adds a call.
    pub fn call(&mut self, call: Call) {
        self.collected.push(Step {
            action: call.action,
            because: call.because,
            effect: call.effect,
            object: call.object,
            kind: call.kind,
            changes: call.changes,
        });
    }

    /// Changes the record and, when it differs from what is stored, writes it.
    pub fn remember(&mut self, because: &str, change: impl FnOnce(&mut R)) {
        change(&mut self.record);
        if self.stored.as_ref() == Some(&self.record) {
            return;
        }
        self.base.revision += 1;
        self.base.driver = self.record.clone().into();
        self.stored = Some(self.record.clone());
        self.collected.push(Step {
            action: Action::Remember(Box::new(self.base.clone())),
            because: because.to_owned(),
            effect: Effect::None,
            object: format!("record/{}", self.context.pool_name),
            kind: ChangeKind::Bookkeeping,
            changes: Vec::new(),
        });
    }

    /// Something takes time: the next pass goes on. The first wait is the one that is told.
    pub fn wait(&mut self, what: impl Into<String>, after_seconds: u32) {
        self.outlook.get_or_insert(Outlook::LookAgain {
            what: what.into(),
            after_seconds,
        });
    }

    /// What follows is another outlook, whatever was awaited.
    pub fn end_with(&mut self, outlook: Outlook) {
        self.outlook = Some(outlook);
    }

    /// The plan.
    pub fn into_plan(self) -> Plan {
        Plan {
            steps: self.collected,
            outlook: self.outlook.unwrap_or(Outlook::Settled),
        }
    }
}

/// A differing field.
pub fn field(name: &str, old: impl Into<Value>, new: impl Into<Value>) -> FieldChange {
    let present = |value: Value| (!value.is_null()).then_some(value);
    FieldChange {
        field: name.to_owned(),
        old: present(old.into()),
        new: present(new.into()),
    }
}

/// `3 -> 5`, for reasons.
pub fn arrow(old: &Value, new: &Value) -> String {
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    format!("{} -> {}", plain(old), plain(new))
}
