//! Every call, recorded in order.
//!
//! In: one entry a request that reached a simulated service. Out: the entries, filtered. Key
//! parameters are kept, bodies, user data and credentials never. Calls of simulated instances
//! (a node that fetches its bootstrap data) are kept apart, so that a count of calls counts the
//! customer's only.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
};

use jiff::Timestamp;
use serde::Serialize;

/// Calls kept; older ones are dropped. Ours: hours of a thousand pools, in about 50 MB.
const KEPT: usize = 50_000;

/// One recorded call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Call {
    /// Position in the order of calls, from 0, never reused.
    pub number: u64,
    /// When, on the world's clock.
    pub at: Timestamp,
    /// Account of the caller, or the subscription called; empty when the caller could not be told.
    pub account: String,
    /// Access key id or client id of the caller; empty when there is none.
    pub access_key_id: String,
    /// Region of the credential scope; empty at Azure.
    pub region: String,
    /// `autoscaling`, `ec2`, `s3` or `sts`; `compute`, `network`, `insights`, `resources`, `login`
    /// or `imds` at Azure.
    pub service: String,
    /// `CreateAutoScalingGroup`, `VirtualMachineScaleSets_Update`.
    pub action: String,
    /// Key parameters, flat: `AutoScalingGroupName` to its value.
    pub params: BTreeMap<String, String>,
    /// How it ended.
    pub outcome: Outcome,
    /// The action changes something.
    pub write: bool,
    /// The caller is a simulated instance.
    pub from_instance: bool,
    /// The request as it was sent, at Azure.
    pub sent: Option<Sent>,
}

/// A request as it was sent, secrets left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sent {
    /// `PATCH`.
    pub method: String,
    /// Path, as sent.
    pub path: String,
    /// Query string.
    pub query: String,
    /// Headers but for `authorization`.
    pub headers: BTreeMap<String, String>,
    /// Body of a write, as compact JSON; secret values are `[redacted]`.
    pub body: String,
}

impl Sent {
    /// The body as JSON; null when there is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

impl Call {
    /// `autoscaling:CreateAutoScalingGroup`.
    pub fn name(&self) -> String {
        format!("{}:{}", self.service, self.action)
    }

    /// The parameter of that name, or an empty text.
    pub fn param(&self, name: &str) -> &str {
        self.params.get(name).map_or("", String::as_str)
    }
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Outcome {
    /// Answered with success.
    Ok,
    /// Answered with an error.
    Refused {
        /// Error code of the cloud.
        code: String,
        /// HTTP status.
        status: u16,
    },
    /// Carried out, but the answer never reached the caller.
    AnswerLost,
}

/// The recorded calls of one world. Clones share the record.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    inner: Arc<Mutex<Record>>,
}

#[derive(Debug, Default)]
struct Record {
    calls: VecDeque<Call>,
    next: u64,
}

impl Journal {
    /// All calls but those of simulated instances, oldest first.
    pub fn calls(&self) -> Vec<Call> {
        self.matching(|call| !call.from_instance)
    }

    /// The calls that change something, refused ones included.
    pub fn writes(&self) -> Vec<Call> {
        self.matching(|call| !call.from_instance && call.write)
    }

    /// The calls that only read.
    pub fn reads(&self) -> Vec<Call> {
        self.matching(|call| !call.from_instance && !call.write)
    }

    /// The calls of simulated instances.
    pub fn instance_calls(&self) -> Vec<Call> {
        self.matching(|call| call.from_instance)
    }

    /// The calls of one action: `named("ec2", "DescribeInstances")`.
    pub fn named(&self, service: &str, action: &str) -> Vec<Call> {
        self.matching(|call| {
            !call.from_instance && call.service == service && call.action == action
        })
    }

    /// How many calls of one action there were.
    pub fn count(&self, service: &str, action: &str) -> usize {
        self.named(service, action).len()
    }

    /// The names of the writes in order: `["s3:PutObject", "ec2:CreateLaunchTemplate"]`.
    pub fn write_names(&self) -> Vec<String> {
        self.writes().iter().map(Call::name).collect()
    }

    /// The calls from `number` on: what happened since an earlier look.
    pub fn since(&self, number: u64) -> Vec<Call> {
        self.matching(|call| !call.from_instance && call.number >= number)
    }

    /// The number the next call will get.
    pub fn next_number(&self) -> u64 {
        self.record().next
    }

    /// Forgets all calls; numbers go on.
    pub fn clear(&self) {
        self.record().calls.clear();
    }

    pub(crate) fn push(&self, mut call: Call) {
        let mut record = self.record();
        call.number = record.next;
        record.next += 1;
        if record.calls.len() == KEPT {
            record.calls.pop_front();
        }
        record.calls.push_back(call);
    }

    fn matching(&self, keep: impl Fn(&Call) -> bool) -> Vec<Call> {
        self.record()
            .calls
            .iter()
            .filter(|call| keep(call))
            .cloned()
            .collect()
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.inner.lock().expect("no holder of the journal panics")
    }
}
