//! Collecting steps in order; a record write is put right before the call that relies on it, and
//! only where it changes something.

use std::collections::BTreeSet;

use serde_json::Value;

use super::action;
use crate::{
    driver::PoolContext,
    pool::{
        action::{Action, ChangeKind, Effect, FieldChange, Outlook, Plan, Step},
        record::{AwsRecord, DriverRecord, Record},
    },
};

/// One AWS call on its way into a plan.
#[derive(Debug)]
pub struct Call {
    /// The call.
    pub action: action::Action,
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
        action: action::Action,
        kind: ChangeKind,
        object: impl Into<String>,
        because: impl Into<String>,
    ) -> Self {
        Self {
            action,
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

/// Steps of one plan, and the record as it will be after them.
#[derive(Debug)]
pub struct Steps<'a> {
    context: &'a PoolContext<'a>,
    base: Record,
    stored: Option<AwsRecord>,
    /// The driver's record as the plan goes along; [`Steps::remember`] writes it.
    pub record: AwsRecord,
    collected: Vec<Step>,
    wait: Option<Outlook>,
}

impl<'a> Steps<'a> {
    /// No steps yet. `templates` are the names that a read showed: superseded ones that are gone
    /// are forgotten, which is no reason to write.
    pub fn new(
        context: &'a PoolContext<'a>,
        stored: Option<&AwsRecord>,
        record: AwsRecord,
        templates: &BTreeSet<&str>,
    ) -> Self {
        let pruned = |mut record: AwsRecord| {
            record
                .superseded_templates
                .retain(|name| templates.contains(name.as_str()));
            record
        };
        Self {
            context,
            base: context
                .record
                .cloned()
                .unwrap_or_else(|| Record::new(context.installation)),
            stored: stored.cloned().map(pruned),
            record: pruned(record),
            collected: Vec::new(),
            wait: None,
        }
    }

    /// Adds a call.
    pub fn call(&mut self, call: Call) {
        self.collected.push(Step {
            action: Action::Aws(call.action),
            because: call.because,
            effect: call.effect,
            object: call.object,
            kind: call.kind,
            changes: call.changes,
        });
    }

    /// Changes the record and, when it differs from what is stored, writes it.
    pub fn remember(&mut self, because: &str, change: impl FnOnce(&mut AwsRecord)) {
        change(&mut self.record);
        if self.stored.as_ref() == Some(&self.record) {
            return;
        }
        self.base.revision += 1;
        self.base.driver = DriverRecord::Aws(self.record.clone());
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
        self.wait.get_or_insert(Outlook::LookAgain {
            what: what.into(),
            after_seconds,
        });
    }

    /// The plan.
    pub fn into_plan(self) -> Plan {
        Plan {
            steps: self.collected,
            outlook: self.wait.unwrap_or(Outlook::Settled),
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
