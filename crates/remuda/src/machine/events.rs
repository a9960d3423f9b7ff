//! Events of a machine, its infrastructure object and its node, in the order of time.

use anyhow::{Context, Result};
use comfy_table::{ContentArrangement, Table, presets};
use jiff::Timestamp;
use kube::{Api, Client};
use remuda_api::capi::Machine;
use remuda_controllers::workload::{ClusterKey, KubeconfigClusters, WorkloadClusters};
use serde_json::Value;

use super::Reader;
use crate::{output::lines, view::age};

/// Kinds whose objects have the machine's name.
const KINDS: [&str; 2] = ["Machine", "TerraformMachinePoolMachine"];

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Happened {
    /// When it happened last.
    pub(crate) at: Option<Timestamp>,
    /// Kind and name of what it happened to.
    pub(crate) object: String,
    /// `Normal` or `Warning`.
    pub(crate) kind: String,
    /// Reason.
    pub(crate) reason: String,
    /// Message.
    pub(crate) message: String,
    /// How often.
    pub(crate) count: i64,
}

/// What happened, oldest first; and why the node's part is missing, if it is.
pub(crate) async fn gather_events(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<(Vec<Happened>, Option<String>)> {
    let management = Reader(client.clone());
    let all = management
        .list(&format!(
            "/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        ))
        .await?;
    let of_machine = |event: &Value| {
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
        text("/regarding/name") == Some(name)
            && text("/regarding/kind").is_some_and(|kind| KINDS.contains(&kind))
    };
    let mut found: Vec<Happened> = all.iter().filter(|e| of_machine(e)).map(happened).collect();
    let machines: Api<Machine> = Api::namespaced(client.clone(), namespace);
    let machine = machines
        .get_opt(name)
        .await
        .context("reading the Machine")?;
    let missing = match machine {
        Some(machine) => match of_node(client, namespace, &machine).await {
            Ok(events) => {
                found.extend(events);
                None
            }
            Err(error) => Some(format!("events of its node are left out: {error:#}")),
        },
        None => None,
    };
    found.sort();
    Ok((found, missing))
}

async fn of_node(client: &Client, namespace: &str, machine: &Machine) -> Result<Vec<Happened>> {
    let node = machine
        .status
        .as_ref()
        .and_then(|status| status.node_ref.as_ref());
    let Some(node) = node else {
        return Ok(Vec::new());
    };
    let clusters = KubeconfigClusters::new(client.clone());
    let key = ClusterKey {
        namespace: namespace.to_owned(),
        name: machine.spec.cluster_name.clone(),
    };
    let workload = clusters.client(&key).await.map_err(anyhow::Error::new)?;
    let events = Reader(workload)
        .list("/apis/events.k8s.io/v1/events?fieldSelector=regarding.kind%3DNode")
        .await?;
    let of_node = |event: &&Value| {
        event.pointer("/regarding/name").and_then(Value::as_str) == Some(&node.name)
    };
    Ok(events.iter().filter(of_node).map(happened).collect())
}

fn happened(event: &Value) -> Happened {
    let text = |pointer: &str| {
        let text = event.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let number = |pointer: &str| event.pointer(pointer).and_then(Value::as_i64);
    let times = [
        "/series/lastObservedTime",
        "/deprecatedLastTimestamp",
        "/eventTime",
        "/deprecatedFirstTimestamp",
        "/metadata/creationTimestamp",
    ];
    Happened {
        at: times.iter().find_map(|time| text(time).parse().ok()),
        object: format!("{}/{}", text("/regarding/kind"), text("/regarding/name")),
        kind: text("/type"),
        reason: text("/reason"),
        message: text("/note"),
        count: number("/series/count")
            .or(number("/deprecatedCount"))
            .unwrap_or(1),
    }
}

/// A table for people.
pub(crate) fn draw_events(events: &[Happened], now: Timestamp) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .force_no_tty()
        .set_header(["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]);
    for event in events {
        let ago = event.at.map_or_else(
            || "unknown".to_owned(),
            |at| age(now.duration_since(at).as_secs()),
        );
        let seen = match event.count {
            ..=1 => ago,
            count => format!("{ago} (x{count})"),
        };
        table.add_row([
            &seen,
            &event.kind,
            &event.reason,
            &event.object,
            &event.message,
        ]);
    }
    let text = table.to_string();
    lines(
        text.lines()
            .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end()),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(reason: &str, seen: &str, count: i64) -> Value {
        json!({
            "regarding": { "kind": "Machine", "name": "m" }, "type": "Normal",
            "reason": reason, "note": "it did", "deprecatedCount": count,
            "deprecatedLastTimestamp": seen,
        })
    }

    #[test]
    fn events_stand_in_the_order_of_time() {
        let mut events = vec![
            happened(&event("Deleted", "2026-10-01T08:05:00Z", 1)),
            happened(&event("Drained", "2026-10-01T08:04:00Z", 3)),
        ];
        events.sort();
        let now = "2026-10-01T08:05:10Z".parse().unwrap();
        insta::assert_snapshot!(draw_events(&events, now));
    }
}
