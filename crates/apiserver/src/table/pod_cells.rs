//! The cells of a Pod: how many containers are ready, what the pod does, how often it started anew.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::builtin_cells::{NONE, list, text};

/// What the containers of a pod amount to.
struct Summary<'a> {
    ready: usize,
    total: usize,
    reason: String,
    restarts: i64,
    /// When a container last ended before it was started again.
    last_end: Option<&'a str>,
}

/// What one container adds to a count of restarts.
#[derive(Default)]
struct Restarts<'a> {
    count: i64,
    last_end: Option<&'a str>,
}

impl<'a> Restarts<'a> {
    fn add(&mut self, status: &'a Value) {
        let count = status.pointer("/restartCount").and_then(Value::as_i64);
        self.count += count.unwrap_or(0);
        let end = text(status, "/lastState/terminated/finishedAt");
        if !end.is_empty() {
            self.last_end = self.last_end.max(Some(end));
        }
    }
}

/// `READY/ALL` containers.
pub(super) fn ready(pod: &Value) -> Value {
    let summary = summary(pod);
    json!(format!("{}/{}", summary.ready, summary.total))
}

/// The phase, or the reason why containers don't run.
pub(super) fn status(pod: &Value) -> Value {
    json!(summary(pod).reason)
}

/// How often containers were started again, and when last.
pub(super) fn restarts(pod: &Value, now: Timestamp) -> Value {
    let summary = summary(pod);
    match summary.last_end {
        Some(time) if summary.restarts > 0 => {
            let ago = age::since(Some(time), now);
            json!(format!("{} ({ago} ago)", summary.restarts))
        }
        _ => json!(summary.restarts.to_string()),
    }
}

fn summary(pod: &Value) -> Summary<'_> {
    let sidecars = list(pod, "/spec/initContainers");
    let sidecars = sidecars.iter().filter(|c| is_sidecar(c)).count();
    let mut out = Summary {
        ready: 0,
        total: list(pod, "/spec/containers").len() + sidecars,
        reason: plain_reason(pod),
        restarts: 0,
        last_end: None,
    };
    let begins = initialize(pod, &mut out);
    if !begins || condition(pod, "Initialized") {
        run(pod, &mut out);
    }
    if is_deleted(pod) {
        if text(pod, "/status/reason") == "NodeLost" {
            "Unknown".clone_into(&mut out.reason);
        } else if !matches!(text(pod, "/status/phase"), "Succeeded" | "Failed") {
            "Terminating".clone_into(&mut out.reason);
        }
    }
    out
}

fn plain_reason(pod: &Value) -> String {
    const GATED: &str = "SchedulingGated";
    let waits = |c: &Value| text(c, "/type") == "PodScheduled" && text(c, "/reason") == GATED;
    if list(pod, "/status/conditions").iter().any(waits) {
        return GATED.to_owned();
    }
    match text(pod, "/status/reason") {
        "" => text(pod, "/status/phase").to_owned(),
        reason => reason.to_owned(),
    }
}

/// Reads the init containers; whether one of them keeps the others waiting.
fn initialize<'a>(pod: &'a Value, out: &mut Summary<'a>) -> bool {
    let specs = list(pod, "/spec/initContainers");
    let (mut all, mut sidecars) = (Restarts::default(), Restarts::default());
    let mut begins = false;
    for (index, status) in list(pod, "/status/initContainerStatuses")
        .iter()
        .enumerate()
    {
        all.add(status);
        let name = text(status, "/name");
        let sidecar = specs
            .iter()
            .any(|spec| text(spec, "/name") == name && is_sidecar(spec));
        if sidecar {
            sidecars.add(status);
        }
        if status.pointer("/state/terminated/exitCode") == Some(&json!(0)) {
            continue;
        }
        if sidecar && flag(status, "/started") {
            out.ready += usize::from(flag(status, "/ready"));
            continue;
        }
        let waiting = text(status, "/state/waiting/reason");
        out.reason = match ended(status) {
            Some(reason) => format!("Init:{reason}"),
            None if !matches!(waiting, "" | "PodInitializing") => format!("Init:{waiting}"),
            None => format!("Init:{index}/{}", specs.len()),
        };
        begins = true;
        break;
    }
    let counted = if !begins || condition(pod, "Initialized") {
        sidecars
    } else {
        all
    };
    (out.restarts, out.last_end) = (counted.count, counted.last_end);
    begins
}

/// Reads the containers proper; the first one decides.
fn run<'a>(pod: &'a Value, out: &mut Summary<'a>) {
    let mut restarts = Restarts {
        count: out.restarts,
        last_end: out.last_end,
    };
    let mut runs = false;
    for status in list(pod, "/status/containerStatuses").iter().rev() {
        restarts.add(status);
        let waiting = text(status, "/state/waiting/reason");
        if !waiting.is_empty() {
            waiting.clone_into(&mut out.reason);
        } else if let Some(reason) = ended(status) {
            out.reason = reason;
        } else if flag(status, "/ready") && status.pointer("/state/running").is_some() {
            runs = true;
            out.ready += 1;
        }
    }
    if runs && out.reason == "Completed" {
        let ready = condition(pod, "Ready");
        (if ready { "Running" } else { "NotReady" }).clone_into(&mut out.reason);
    }
    (out.restarts, out.last_end) = (restarts.count, restarts.last_end);
}

/// Why a container ended, if it did.
fn ended(status: &Value) -> Option<String> {
    let state = status
        .pointer("/state/terminated")
        .filter(|state| !state.is_null())?;
    let number = |field: &str| state.pointer(field).and_then(Value::as_i64).unwrap_or(0);
    Some(match (text(state, "/reason"), number("/signal")) {
        ("", 0) => format!("ExitCode:{}", number("/exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    })
}

/// An init container that goes on running beside the others.
fn is_sidecar(container: &Value) -> bool {
    text(container, "/restartPolicy") == "Always"
}

fn is_deleted(pod: &Value) -> bool {
    !text(pod, "/metadata/deletionTimestamp").is_empty()
}

fn flag(object: &Value, pointer: &str) -> bool {
    object.pointer(pointer) == Some(&json!(true))
}

fn condition(pod: &Value, kind: &str) -> bool {
    let holds = |c: &Value| text(c, "/type") == kind && text(c, "/status") == "True";
    list(pod, "/status/conditions").iter().any(holds)
}

/// `TRUE/ALL` readiness gates.
pub(super) fn readiness_gates(pod: &Value) -> Value {
    let gates = list(pod, "/spec/readinessGates");
    if gates.is_empty() {
        return json!(NONE);
    }
    let conditions = list(pod, "/status/conditions");
    let holds = |gate: &&Value| {
        conditions.iter().any(|condition| {
            text(condition, "/type") == text(gate, "/conditionType")
                && text(condition, "/status") == "True"
        })
    };
    json!(format!(
        "{}/{}",
        gates.iter().filter(holds).count(),
        gates.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(spec: Value, status: Value) -> (String, String, String) {
        let pod = json!({"spec": spec, "status": status});
        let text = |cell: Value| cell.as_str().unwrap_or_default().to_owned();
        let now = Timestamp::from_second(3600).unwrap_or_default();
        (
            text(ready(&pod)),
            text(status_cell(&pod)),
            text(restarts(&pod, now)),
        )
    }

    fn status_cell(pod: &Value) -> Value {
        super::status(pod)
    }

    #[test]
    fn a_container_that_ended_names_its_code_signal_or_reason() {
        let cell = |state: Value| {
            let status = json!({"phase": "Running", "containerStatuses": [{"state": state}]});
            cells(json!({"containers": [{}]}), status).1
        };
        assert_eq!(
            cell(json!({"terminated": {"exitCode": 137}})),
            "ExitCode:137"
        );
        assert_eq!(cell(json!({"terminated": {"signal": 9}})), "Signal:9");
        assert_eq!(cell(json!({"terminated": {"reason": "Error"}})), "Error");
        assert_eq!(
            cell(json!({"waiting": {"reason": "CrashLoopBackOff"}})),
            "CrashLoopBackOff"
        );
        assert_eq!(cell(json!({"running": {}})), "Running");
    }

    #[test]
    fn init_containers_come_first_and_sidecars_count() {
        let spec = json!({"containers": [{"name": "c"}], "initContainers": [
            {"name": "side", "restartPolicy": "Always"}, {"name": "once"}]});
        let side = json!({"name": "side", "started": true, "ready": true, "restartCount": 2,
            "lastState": {"terminated": {"finishedAt": "1970-01-01T00:59:00Z"}}});
        let begins = json!({"phase": "Pending", "initContainerStatuses": [side, {"name": "once"}]});
        let expected = ("1/2".into(), "Init:1/2".into(), "2 (60s ago)".into());
        assert_eq!(cells(spec.clone(), begins), expected);
        let failed = json!({"phase": "Pending", "initContainerStatuses": [
            {"name": "once", "state": {"terminated": {"exitCode": 1}}}]});
        assert_eq!(cells(spec.clone(), failed).1, "Init:ExitCode:1");
        let runs = json!({"phase": "Running", "initContainerStatuses": [side,
            {"name": "once", "restartCount": 5, "state": {"terminated": {"exitCode": 0}}}],
            "containerStatuses": [{"ready": true, "state": {"running": {}}}]});
        let expected = ("2/2".into(), "Running".into(), "2 (60s ago)".into());
        assert_eq!(cells(spec, runs), expected);
    }
}
