//! Pools as a tree with columns.

use comfy_table::{Cell, Color, ContentArrangement, Table, presets};

use super::{MachineView, PoolView};
use crate::{cli::Noun, output::lines};

/// How to draw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drawing {
    /// What stands below a pool.
    pub(crate) what: Noun,
    /// More columns.
    pub(crate) wide: bool,
    /// Colour health and state: only on a terminal.
    pub(crate) colour: bool,
}

/// A table for people; with no pools, an empty string.
pub(crate) fn draw(pools: &[PoolView], drawing: Drawing) -> String {
    if pools.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    if drawing.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    if !drawing.wide {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table.set_header(header(drawing));
    for pool in pools {
        table.add_row(pool_row(pool, drawing));
        if drawing.what == Noun::Pools {
            zone_rows(pool, &mut table);
        } else {
            machine_rows(pool, drawing, &mut table);
        }
    }
    let text = table.to_string();
    lines(
        text.lines()
            .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end()),
    )
}

fn header(drawing: Drawing) -> Vec<&'static str> {
    let mut columns = match drawing.what {
        Noun::Pools => vec!["POOL", "CLOUD", "WANTED", "HAVE", "READY", "HEALTH", "AGE"],
        Noun::Machines => vec!["MACHINE", "ZONE", "PHASE", "STATE", "NODE", "STATUS", "AGE"],
        Noun::Nodes => vec!["NODE", "STATUS", "VERSION", "ZONE", "AGE"],
    };
    if drawing.wide {
        columns.extend_from_slice(match drawing.what {
            Noun::Pools => &["CLUSTER", "VERSION", "MESSAGE"],
            Noun::Machines => &["UP-TO-DATE", "ADDRESS", "VERSION", "PROVIDER-ID"],
            Noun::Nodes => &["MACHINE", "ADDRESS", "PROVIDER-ID"],
        });
    }
    columns
}

fn pool_row(pool: &PoolView, drawing: Drawing) -> Vec<Cell> {
    let name = format!("{}/{}", pool.namespace, pool.name);
    if drawing.what == Noun::Machines {
        return vec![Cell::new(name), Cell::new(spread(pool))];
    }
    if drawing.what == Noun::Nodes {
        return vec![Cell::new(name)];
    }
    let wanted = pool
        .wanted
        .map_or_else(|| "?".to_owned(), |wanted| wanted.to_string());
    let mut row = vec![
        Cell::new(name),
        Cell::new(&pool.cloud),
        Cell::new(wanted),
        Cell::new(pool.have),
        Cell::new(pool.ready),
        coloured(&pool.health, pool.health == "Healthy"),
        Cell::new(age(pool.age_seconds)),
    ];
    if drawing.wide {
        row.extend([
            Cell::new(&pool.cluster),
            optional(pool.version.as_ref()),
            optional(pool.message.as_ref()),
        ]);
    }
    row
}

/// Below a pool: its zones, each with its machines drawn as dots (ready) and circles (not yet).
fn zone_rows(pool: &PoolView, table: &mut Table) {
    let zones = &pool.zones;
    for (index, (zone, count)) in zones.iter().enumerate() {
        let here = pool
            .machines
            .iter()
            .filter(|machine| machine.zone.as_deref().unwrap_or("unknown") == zone);
        let dots: String = here
            .map(|machine| if is_ready(machine) { '●' } else { '○' })
            .collect();
        let branch = branch(index, zones.len());
        let count = count.to_string();
        table.add_row([&format!("{branch} {zone}"), "", "", &count, "", &dots]);
    }
}

/// How a pool's machines spread over zones: `3 in 2 zones (2+1)`.
fn spread(pool: &PoolView) -> String {
    let counts: Vec<String> = pool.zones.values().map(ToString::to_string).collect();
    let zones = if counts.len() == 1 { "zone" } else { "zones" };
    match counts.len() {
        0 => "none".to_owned(),
        count => format!("{} in {count} {zones} ({})", pool.have, counts.join("+")),
    }
}

fn machine_rows(pool: &PoolView, drawing: Drawing, table: &mut Table) {
    let shown: Vec<&MachineView> = pool
        .machines
        .iter()
        .filter(|machine| drawing.what == Noun::Machines || machine.node.is_some())
        .collect();
    for (index, machine) in shown.iter().enumerate() {
        let branch = branch(index, shown.len());
        let row = if drawing.what == Noun::Machines {
            machine_row(branch, machine, drawing)
        } else {
            node_row(branch, machine, drawing)
        };
        table.add_row(row);
    }
}

fn machine_row(branch: &str, machine: &MachineView, drawing: Drawing) -> Vec<Cell> {
    let node = machine.node.as_ref();
    let state = machine.state.clone().unwrap_or_default();
    let object = machine.machine.as_ref();
    let phase = object.map(super::ObjectView::status).unwrap_or_default();
    let seconds = object
        .map(|object| object.age_seconds)
        .or(node.map(|node| node.age_seconds));
    let name = object.map_or(&machine.id, |object| &object.name);
    let mut row = vec![
        Cell::new(format!("{branch} {name}")),
        optional(machine.zone.as_ref()),
        coloured(&phase, phase == "Running"),
        coloured(&state, state == "running"),
        Cell::new(node.map_or("-", |node| &node.name)),
        node.map_or_else(
            || Cell::new(""),
            |node| coloured(&node.status(), node.ready),
        ),
        Cell::new(seconds.map_or_else(String::new, age)),
    ];
    if drawing.wide {
        let up_to_date = object.and_then(|object| object.up_to_date);
        row.extend([
            Cell::new(up_to_date.map_or_else(String::new, |yes| yes.to_string())),
            optional(machine.address.as_ref()),
            optional(node.map(|node| &node.version)),
            Cell::new(&machine.provider_id),
        ]);
    }
    row
}

fn node_row(branch: &str, machine: &MachineView, drawing: Drawing) -> Vec<Cell> {
    let Some(node) = &machine.node else {
        return Vec::new();
    };
    let mut row = vec![
        Cell::new(format!("{branch} {}", node.name)),
        coloured(&node.status(), node.ready),
        Cell::new(&node.version),
        optional(machine.zone.as_ref()),
        Cell::new(age(node.age_seconds)),
    ];
    if drawing.wide {
        row.extend([
            Cell::new(&machine.id),
            optional(machine.address.as_ref()),
            Cell::new(&machine.provider_id),
        ]);
    }
    row
}

fn is_ready(machine: &MachineView) -> bool {
    machine.node.as_ref().is_some_and(|node| node.ready)
}

fn branch(index: usize, count: usize) -> &'static str {
    if index + 1 == count {
        "└─"
    } else {
        "├─"
    }
}

/// Green when good, yellow otherwise; the table drops colours where there is no terminal.
fn coloured(text: &str, good: bool) -> Cell {
    Cell::new(text).fg(if good { Color::Green } else { Color::Yellow })
}

fn optional(text: Option<&String>) -> Cell {
    Cell::new(text.map_or("", String::as_str))
}

/// An age as kubectl writes it: two units at most, one when it is large.
pub(crate) fn age(seconds: i64) -> String {
    let (minute, hour, day) = (60, 3_600, 86_400);
    match seconds.max(0) {
        s if s < 2 * minute => format!("{s}s"),
        s if s < 10 * minute && s % minute != 0 => format!("{}m{}s", s / minute, s % minute),
        s if s < 3 * hour => format!("{}m", s / minute),
        s if s < 8 * hour && s % hour >= minute => format!("{}h{}m", s / hour, s % hour / minute),
        s if s < 2 * day => format!("{}h", s / hour),
        s => format!("{}d", s / day),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{NodeView, ObjectView},
        *,
    };

    fn machine(id: &str, zone: &str, ready: bool) -> MachineView {
        MachineView {
            machine: ready.then(|| ObjectView {
                name: format!("demo-pool-0-{id}"),
                phase: Some("Running".into()),
                deleting: (id == "i-0ccc").then(|| "DrainingNode".into()),
                up_to_date: Some(true),
                age_seconds: 50,
            }),
            id: id.into(),
            provider_id: format!("aws:///{zone}/{id}"),
            zone: Some(zone.into()),
            state: Some(if ready { "running" } else { "pending" }.into()),
            address: Some("10.0.1.11".into()),
            node: ready.then(|| NodeView {
                name: format!("node-of-{id}"),
                ready: true,
                unschedulable: false,
                version: "v1.34.1".into(),
                age_seconds: 42,
            }),
        }
    }

    fn demo() -> Vec<PoolView> {
        vec![PoolView {
            namespace: "team-a".into(),
            name: "demo-pool-0".into(),
            cluster: "demo".into(),
            cloud: "aws".into(),
            version: Some("v1.34.1".into()),
            wanted: Some(3),
            have: 3,
            ready: 2,
            phase: Some("Running".into()),
            health: "InstanceUnhealthy".into(),
            message: None,
            age_seconds: 75,
            zones: [("us-east-1a".into(), 2), ("us-east-1b".into(), 1)].into(),
            machines: vec![
                machine("i-0aaa", "us-east-1a", true),
                machine("i-0bbb", "us-east-1a", false),
                machine("i-0ccc", "us-east-1b", true),
            ],
        }]
    }

    fn plain(what: Noun, wide: bool) -> String {
        draw(
            &demo(),
            Drawing {
                what,
                wide,
                colour: false,
            },
        )
    }

    #[test]
    fn pools_show_their_zones_with_a_dot_a_machine() {
        insta::assert_snapshot!(plain(Noun::Pools, false));
    }

    #[test]
    fn machines_stand_below_their_pool() {
        insta::assert_snapshot!(plain(Noun::Machines, true));
    }

    #[test]
    fn nodes_leave_out_machines_without_one() {
        let text = plain(Noun::Nodes, false);
        assert!(
            text.contains("node-of-i-0aaa") && !text.contains("i-0bbb"),
            "{text}"
        );
    }

    #[test]
    fn colour_never_changes_the_columns() {
        let coloured = draw(
            &demo(),
            Drawing {
                what: Noun::Pools,
                wide: false,
                colour: true,
            },
        );
        assert!(coloured.contains('\u{1b}'), "{coloured}");
        let mut bare = String::new();
        for (index, part) in coloured.split('\u{1b}').enumerate() {
            bare.push_str(if index == 0 {
                part
            } else {
                part.split_once('m').map_or("", |p| p.1)
            });
        }
        let columns = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(columns(&bare), columns(&plain(Noun::Pools, false)));
    }

    #[test]
    fn ages_read_like_kubectl() {
        let ages = [
            (5, "5s"),
            (119, "119s"),
            (125, "2m5s"),
            (3_600, "60m"),
            (90_000, "25h"),
            (200_000, "2d"),
        ];
        for (seconds, text) in ages {
            assert_eq!(age(seconds), text);
        }
    }
}
