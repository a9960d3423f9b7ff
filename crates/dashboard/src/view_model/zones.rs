//! How the machines of a pool are spread over zones.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{Level, members::Member};
use crate::object;

/// Squares that are drawn of one zone in a narrow place; the number beside them tells the rest.
const SQUARES: usize = 12;
/// Side of a square and its gap, in pixels.
const STEP: usize = 12;
/// Label of machines whose zone nobody knows.
pub(crate) const NOWHERE: &str = "no zone";

/// One zone with what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Zone {
    /// The whole name.
    pub(crate) name: String,
    /// What tells it from the other zones.
    pub(crate) short: String,
    pub(crate) count: usize,
    /// Drawn machines, the ones that need a look first.
    pub(crate) squares: Vec<Square>,
    /// Machines that are not drawn.
    pub(crate) more: usize,
}

/// One drawn machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Square {
    pub(crate) level: Level,
    pub(crate) x: usize,
}

/// The spread of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Spread {
    pub(crate) zones: Vec<Zone>,
    /// Width of the drawing of one zone.
    pub(crate) width: usize,
    /// The same in words.
    pub(crate) says: String,
}

/// Zones that the pool asks for or has members in, sorted.
pub(crate) fn spread(pool: &Value, members: &[Member]) -> Spread {
    let mut by_zone: BTreeMap<&str, Vec<Level>> = BTreeMap::new();
    for wanted in object::list(pool, "/spec/failureDomains") {
        if let Some(zone) = wanted.as_str() {
            by_zone.entry(zone).or_default();
        }
    }
    for member in members {
        let zone = member.zone.as_deref().unwrap_or(NOWHERE);
        by_zone.entry(zone).or_default().push(member.level);
    }
    let names: Vec<&str> = by_zone
        .keys()
        .copied()
        .filter(|zone| *zone != NOWHERE)
        .collect();
    let common = common_prefix(&names);
    let zones: Vec<Zone> = by_zone
        .into_iter()
        .map(|(name, mut levels)| {
            levels.sort_unstable();
            zone(name, name.get(common..).unwrap_or(name), &levels)
        })
        .collect();
    let widest = zones
        .iter()
        .map(|zone| zone.squares.len())
        .max()
        .unwrap_or(0);
    let says: Vec<String> = zones
        .iter()
        .map(|zone| format!("{}: {}", zone.name, zone.count))
        .collect();
    Spread {
        width: widest * STEP,
        says: says.join(", "),
        zones,
    }
}

fn zone(name: &str, short: &str, levels: &[Level]) -> Zone {
    let short = if name == NOWHERE { NOWHERE } else { short };
    let squares: Vec<Square> = levels
        .iter()
        .take(SQUARES)
        .enumerate()
        .map(|(index, &level)| Square {
            level,
            x: index * STEP,
        })
        .collect();
    Zone {
        name: name.to_owned(),
        short: short.to_owned(),
        count: levels.len(),
        more: levels.len() - squares.len(),
        squares,
    }
}

/// How many bytes all names begin with alike, up to a border between parts of a name: what is left
/// of `us-east-1a` beside `us-east-1b` is `1a`.
fn common_prefix(names: &[&str]) -> usize {
    let Some((first, rest)) = names.split_first() else {
        return 0;
    };
    if rest.is_empty() {
        return 0;
    }
    let alike = rest.iter().fold(first.len(), |alike, name| {
        let pairs = first.bytes().zip(name.bytes()).take(alike);
        pairs.take_while(|(a, b)| a == b).count()
    });
    let head = first.get(..alike).unwrap_or_default();
    head.rfind('-').map_or(0, |border| border + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_cut_at_a_border() {
        for (names, left) in [
            (vec!["us-east-1a", "us-east-1b"], "1a"),
            (vec!["1", "2"], "1"),
            (vec!["us-east-1a"], "us-east-1a"),
            (vec!["eu-west-1a", "us-east-1a"], "eu-west-1a"),
        ] {
            assert_eq!(&names[0][common_prefix(&names)..], left, "{names:?}");
        }
        assert_eq!(common_prefix(&[]), 0);
    }

    #[test]
    fn a_wanted_zone_without_machines_is_shown() {
        let pool = json!({ "spec": { "failureDomains": ["b", "a", 7] } });
        let spread = spread(&pool, &[]);
        let names: Vec<&str> = spread.zones.iter().map(|zone| zone.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(spread.says, "a: 0, b: 0");
    }

    #[test]
    fn a_thousand_machines_are_counted_and_not_all_drawn() {
        let levels = [Level::Good; 1_000];
        let zone = zone("us-east-1a", "1a", &levels);
        assert_eq!(
            (zone.count, zone.squares.len(), zone.more),
            (1_000, SQUARES, 988)
        );
    }
}
