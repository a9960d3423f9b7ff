//! The deletion of a machine as text.

use super::{Drain, Fate, Removal, Row};
use crate::output::lines;

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// The pool gets one smaller.
    pub(crate) shrink: bool,
    /// No drain.
    pub(crate) force: bool,
}

/// What the deletion comes to, for people.
pub(crate) fn draw(removal: &Removal, asked: Asked) -> String {
    let mut out = vec![heading(removal)];
    out.extend(pool_line(removal, asked));
    if removal.is_deleting {
        out.push("  it is being deleted already".to_owned());
    }
    if removal.is_paused {
        out.push("  it or its cluster is paused: nothing happens until that ends".to_owned());
    }
    for hook in &removal.hooks {
        out.push(format!("  waits for whoever removes the annotation {hook}"));
    }
    out.extend(drain_lines(removal, asked));
    out.push("  then the instance ends and the node goes".to_owned());
    lines(out)
}

fn heading(removal: &Removal) -> String {
    let known = [&removal.provider_id, &removal.zone, &removal.node];
    let facts: Vec<&str> = known.into_iter().flatten().map(String::as_str).collect();
    let name = format!("Machine {}/{}", removal.namespace, removal.name);
    if facts.is_empty() {
        return name;
    }
    format!("{name} ({})", facts.join(", "))
}

fn pool_line(removal: &Removal, asked: Asked) -> Option<String> {
    let pool = removal.pool.as_ref()?;
    let (name, wanted) = (&pool.name, pool.replicas);
    Some(if asked.shrink {
        format!(
            "  pool {name} shrinks from {wanted} to {} replicas",
            (wanted - 1).max(0)
        )
    } else {
        format!("  pool {name} keeps its {wanted} replicas: a new machine takes the place")
    })
}

fn drain_lines(removal: &Removal, asked: Asked) -> Vec<String> {
    let rows = match &removal.drain {
        _ if asked.force => {
            return vec![
                "  no drain (--force): pods end with the instance, whatever their budgets say"
                    .to_owned(),
            ];
        }
        Drain::Excluded => return vec!["  no drain: an annotation excludes it".to_owned()],
        Drain::NoNode => return vec!["  no drain: it has no node".to_owned()],
        Drain::Unknown(why) => {
            return vec![format!("  what is drained is not known: {why}")];
        }
        Drain::Pods(rows) => rows,
    };
    let mut out = vec![match removal.limit_seconds {
        Some(limit) => format!("  drain, for {limit} s at most:"),
        None => "  drain, without a time limit:".to_owned(),
    }];
    if rows.is_empty() {
        out.push("    no pods".to_owned());
    }
    let width = rows.iter().map(|row| row.pod.len()).max().unwrap_or(0);
    out.extend(rows.iter().map(|row| draw_row(row, width)));
    let blocked = rows.iter().filter(|row| row.fate == Fate::Blocked).count();
    if blocked > 0 {
        let pods = if blocked == 1 {
            "pod waits"
        } else {
            "pods wait"
        };
        out.push(format!(
            "  {blocked} {pods} for a disruption budget; they are tried again and again"
        ));
    }
    out
}

fn draw_row(row: &Row, width: usize) -> String {
    let word = match row.fate {
        Fate::Evict => "evict",
        Fate::Blocked => "blocked",
        Fate::Later => "later",
        Fate::Stopping => "stopping",
        Fate::Awaited => "awaited",
        Fate::Stays => "stays",
    };
    let remarks = row.remarks.join("; ");
    let line = format!("    {word:<8}  {:<width$}  {remarks}", row.pod);
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{super::Pool, *};

    fn removal(drain: Drain) -> Removal {
        Removal {
            namespace: "team-a".into(),
            name: "demo-pool-0-1a2b3c4d5e".into(),
            provider_id: Some("aws:///us-east-1a/i-0aaa".into()),
            zone: Some("us-east-1a".into()),
            node: Some("ip-10-0-1-11.ec2.internal".into()),
            pool: Some(Pool {
                name: "demo-pool-0".into(),
                replicas: 3,
                managed_by: None,
            }),
            is_deleting: false,
            is_paused: false,
            hooks: Vec::new(),
            drain,
            limit_seconds: None,
        }
    }

    fn row(pod: &str, fate: Fate, remark: &str) -> Row {
        let remarks = Some(remark).filter(|remark| !remark.is_empty());
        Row {
            pod: pod.into(),
            fate,
            remarks: remarks.map(str::to_owned).into_iter().collect(),
        }
    }

    const KEEP: Asked = Asked {
        shrink: false,
        force: false,
    };

    #[test]
    fn what_goes_what_stays_and_what_blocks_is_told() {
        let rows = vec![
            row("default/shop-1", Fate::Evict, ""),
            row(
                "default/shop-22",
                Fate::Blocked,
                "PodDisruptionBudget default/shop needs 5 healthy pods and has 6",
            ),
            row("kube-system/agent", Fate::Stays, "of DaemonSet node-agent"),
        ];
        insta::assert_snapshot!(draw(&removal(Drain::Pods(rows)), KEEP));
    }

    #[test]
    fn force_and_shrink_say_what_they_do() {
        let asked = Asked {
            shrink: true,
            force: true,
        };
        let mut removal = removal(Drain::Pods(Vec::new()));
        removal.is_paused = true;
        removal.hooks = vec!["pre-drain.delete.hook.machine.cluster.x-k8s.io/backup".into()];
        insta::assert_snapshot!(draw(&removal, asked));
    }

    #[test]
    fn an_unknown_drain_is_never_told_as_an_empty_one() {
        let text = draw(&removal(Drain::Unknown("connection refused".into())), KEEP);
        assert!(text.contains("not known: connection refused"), "{text}");
    }
}
