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
use serde::{Deserialize, Serialize};

/// Bytes of calls kept; older calls are dropped. Ours: some ten thousand calls.
const MOST_BYTES: usize = 4 << 20;

/// One recorded call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    calls: VecDeque<Kept>,
    /// What all of them take.
    bytes: usize,
    next: u64,
}

/// A call as it is kept: many are, few are read, and as JSON one takes a quarter of the memory.
#[derive(Debug)]
struct Kept {
    number: u64,
    write: bool,
    from_instance: bool,
    json: Box<[u8]>,
}

impl Kept {
    fn of(call: &Call) -> Self {
        let json = serde_json::to_vec(call).expect("a call is texts, numbers and flags");
        Self {
            number: call.number,
            write: call.write,
            from_instance: call.from_instance,
            json: json.into_boxed_slice(),
        }
    }

    fn call(&self) -> Call {
        serde_json::from_slice(&self.json).expect("it was written from a call")
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.json.len()
    }
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
        let mut calls = self.calls();
        calls.retain(|call| call.service == service && call.action == action);
        calls
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
        let mut record = self.record();
        record.calls.clear();
        record.bytes = 0;
    }

    pub(crate) fn push(&self, mut call: Call) {
        let mut record = self.record();
        call.number = record.next;
        record.next += 1;
        let kept = Kept::of(&call);
        record.bytes += kept.bytes();
        record.calls.push_back(kept);
        while record.bytes > MOST_BYTES
            && let Some(oldest) = record.calls.pop_front()
        {
            record.bytes -= oldest.bytes();
        }
    }

    fn matching(&self, keep: impl Fn(&Kept) -> bool) -> Vec<Call> {
        let record = self.record();
        let kept = record.calls.iter().filter(|call| keep(call));
        kept.map(Kept::call).collect()
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.inner.lock().expect("no holder of the journal panics")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(body: &str) -> Call {
        Call {
            number: 0,
            at: Timestamp::from_second(1_790_812_800).expect("a time"),
            account: "111122223333".to_owned(),
            access_key_id: "AKIA".to_owned(),
            region: String::new(),
            service: "compute".to_owned(),
            action: "VirtualMachineScaleSets_Update".to_owned(),
            params: BTreeMap::from([("name".to_owned(), "a \"b\"".to_owned())]),
            outcome: Outcome::Refused {
                code: "Conflict".to_owned(),
                status: 409,
            },
            write: true,
            from_instance: false,
            sent: Some(Sent {
                method: "PATCH".to_owned(),
                path: "/x".to_owned(),
                query: String::new(),
                headers: BTreeMap::new(),
                body: body.to_owned(),
            }),
        }
    }

    #[test]
    fn a_call_is_read_as_it_was_recorded() {
        let journal = Journal::default();
        journal.push(call("{}"));
        journal.push(call("{\"a\":1}"));
        let second = Call {
            number: 1,
            ..call("{\"a\":1}")
        };
        assert_eq!(journal.calls(), [call("{}"), second.clone()]);
        assert_eq!(journal.since(1), [second]);
        assert!(journal.reads().is_empty() && journal.instance_calls().is_empty());
    }

    #[test]
    fn the_oldest_calls_go_when_all_weigh_too_much() {
        let journal = Journal::default();
        let body = "x".repeat(MOST_BYTES / 4);
        for _ in 0..6 {
            journal.push(call(&body));
        }
        let numbers: Vec<u64> = journal.calls().iter().map(|call| call.number).collect();
        assert_eq!(numbers, [3, 4, 5]);
        journal.clear();
        journal.push(call(&body));
        assert_eq!(journal.calls().len(), 1);
        assert_eq!(journal.next_number(), 7);
    }
}
