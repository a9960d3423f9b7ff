//! All pools: what needs attention first, then the rest by name.

use remuda_plan::driver::Driver;
use serde::Serialize;
use serde_json::Value;

use super::{
    Doubt, Level, Scene,
    health::{Counts, Health, judge},
    members::Belongings,
    words::{count, is_are},
    zones::{Spread, spread},
};
use crate::{
    object,
    place::{Filter, Place},
};

/// Pools on one page.
pub(crate) const PER_PAGE: usize = 100;

/// What of the pools is asked for.
pub(crate) type Asked = Filter;

/// The page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OverviewPage {
    /// How everything is, in a sentence.
    pub(crate) says: String,
    /// The gravest of all levels.
    pub(crate) level: Level,
    /// Pools that somebody should look at, on this page or another.
    pub(crate) attention: Vec<PoolRow>,
    /// More of them than are listed.
    pub(crate) more_attention: usize,
    pub(crate) pools: Vec<PoolRow>,
    /// How many pools the filter leaves.
    pub(crate) found: usize,
    pub(crate) all: usize,
    pub(crate) words: String,
    pub(crate) namespace: Option<String>,
    /// `1 to 100 of 1,000`; nothing when all are on one page.
    pub(crate) range: Option<String>,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    pub(crate) doubts: Vec<Doubt>,
}

/// A pool on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PoolRow {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) href: String,
    pub(crate) cluster: String,
    /// `AWS`; nothing when it is not known.
    pub(crate) cloud: Option<&'static str>,
    pub(crate) version: Option<String>,
    pub(crate) counts: Counts,
    pub(crate) health: Health,
    pub(crate) zones: Spread,
}

/// Most pools that are listed as in need of attention.
const LISTED: usize = 8;

/// The overview of some MachinePools.
pub(crate) fn overview(pools: &[Value], scene: &Scene, asked: &Asked) -> OverviewPage {
    let belongings = Belongings::of(scene);
    let mut rows: Vec<PoolRow> = pools
        .iter()
        .filter(|pool| is_asked_for(pool, &asked.words))
        .map(|pool| row(pool, &belongings, scene))
        .collect();
    rows.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    let mut attention: Vec<PoolRow> = rows
        .iter()
        .filter(|row| row.health.level <= Level::Unknown)
        .cloned()
        .collect();
    attention.sort_by_key(|row| row.health.level);
    let found = rows.len();
    let last = found.saturating_sub(1) / PER_PAGE;
    let page = asked.page.min(last);
    let first = page * PER_PAGE;
    let says = says(&rows, attention.len());
    let level = rows
        .iter()
        .map(|row| row.health.level)
        .min()
        .unwrap_or(Level::Good);
    let more_attention = attention.len().saturating_sub(LISTED);
    attention.truncate(LISTED);
    let shown: Vec<PoolRow> = rows.into_iter().skip(first).take(PER_PAGE).collect();
    let at = |page: usize| {
        Filter {
            page,
            ..asked.clone()
        }
        .path()
    };
    OverviewPage {
        says,
        level,
        attention,
        more_attention,
        range: (found > PER_PAGE)
            .then(|| format!("{} to {} of {found}", first + 1, first + shown.len())),
        pools: shown,
        found,
        all: pools.len(),
        words: asked.words.clone(),
        namespace: asked.namespace.clone(),
        before: (page > 0).then(|| at(page - 1)),
        after: (page < last).then(|| at(page + 1)),
        doubts: scene.doubts(),
    }
}

fn is_asked_for(pool: &Value, words: &str) -> bool {
    let cluster = object::text(pool, "/spec/clusterName").unwrap_or_default();
    let places = [object::namespace(pool), object::name(pool), cluster];
    let mut words = words.split_whitespace().map(str::to_lowercase);
    words.all(|word| {
        places
            .iter()
            .any(|place| place.to_lowercase().contains(&word))
    })
}

/// The cloud that an infrastructure object's image stands for.
pub(crate) fn cloud_of(infra: Option<&Value>) -> Option<&'static str> {
    let image = object::text(infra?, "/spec/source/image")?;
    Some(match Driver::from_image(image).ok()?.name() {
        "aws" => "AWS",
        "azure" => "Azure",
        other => other,
    })
}

fn row(pool: &Value, belongings: &Belongings<'_>, scene: &Scene) -> PoolRow {
    let infra = belongings.infra(pool);
    let members = belongings.members(pool);
    let counts = Counts::of(pool, members.len());
    let (namespace, name) = (object::namespace(pool), object::name(pool));
    PoolRow {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        href: Place::pool(namespace, name).path(),
        cluster: object::text(pool, "/spec/clusterName")
            .unwrap_or_default()
            .to_owned(),
        cloud: cloud_of(infra),
        version: object::text(pool, "/spec/template/spec/version").map(str::to_owned),
        counts,
        health: judge(pool, infra, counts, scene),
        zones: spread(pool, &members),
    }
}

fn says(rows: &[PoolRow], attention: usize) -> String {
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let (pools, attention) = (number(rows.len()), number(attention));
    if pools == 0 {
        return "There is no machine pool to show.".to_owned();
    }
    let machines: i64 = rows.iter().map(|row| row.counts.have).sum();
    let ready: i64 = rows.iter().map(|row| row.counts.ready).sum();
    let have = format!(
        "{} with {}, {ready} ready",
        count(pools, "pool"),
        count(machines, "machine")
    );
    if attention > 0 {
        let need = if attention == 1 { "needs" } else { "need" };
        return format!("{have}. {attention} {need} attention.");
    }
    let busy = number(
        rows.iter()
            .filter(|row| row.health.level == Level::Busy)
            .count(),
    );
    if busy > 0 {
        return format!("{have}. {busy} {} changing.", is_are(busy));
    }
    format!("{have}. Nothing needs attention.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Known, fixtures};
    use super::*;

    fn scene(pools: &[Value]) -> Scene {
        let mut scene = fixtures::scene();
        let infra = pools.iter().map(|pool| {
            let members = object::list(pool, "/spec/providerIDList").len();
            fixtures::infra(object::name(pool), members)
        });
        scene.infra = Known::All(infra.collect());
        scene
    }

    #[test]
    fn nothing_is_an_answer() {
        let page = overview(&[], &fixtures::scene(), &Asked::default());
        assert_eq!(page.says, "There is no machine pool to show.");
        assert_eq!((page.found, page.range, page.level), (0, None, Level::Good));
    }

    #[test]
    fn what_needs_attention_comes_first_and_the_gravest_before_the_rest() {
        let mut pools = vec![
            fixtures::pool("a", 3, 3),
            fixtures::pool("b", 3, 3),
            fixtures::pool("c", 3, 3),
        ];
        let mut scene = scene(&pools);
        let Known::All(infra) = &mut scene.infra else {
            return;
        };
        fixtures::set(
            &mut infra[1],
            "DriftDetected",
            "True",
            "DriftReported",
            "1 to change",
            9,
        );
        fixtures::set(
            &mut infra[2],
            "ApplyJobSucceeded",
            "False",
            "ApplyFailed",
            "denied",
            9,
        );
        pools.reverse();
        let page = overview(&pools, &scene, &Asked::default());
        let first: Vec<&str> = page.attention.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(first, ["c", "b"]);
        assert_eq!(
            page.says,
            "3 pools with 9 machines, 9 ready. 2 need attention."
        );
        assert_eq!(page.level, Level::Bad);
        let all: Vec<&str> = page.pools.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(all, ["a", "b", "c"]);
    }

    #[test]
    fn a_thousand_pools_come_in_pages() {
        let pools: Vec<Value> = (0..1_000)
            .map(|n| fixtures::pool(&format!("pool-{n:04}"), 0, 0))
            .collect();
        let asked = Asked {
            page: 9,
            ..Asked::default()
        };
        let page = overview(&pools, &scene(&pools), &asked);
        assert_eq!(page.pools.len(), PER_PAGE);
        assert_eq!(page.range.as_deref(), Some("901 to 1000 of 1000"));
        assert_eq!(
            (page.before.as_deref(), page.after),
            (Some("/?page=8"), None)
        );
        let beyond = overview(
            &pools,
            &scene(&pools),
            &Asked {
                page: 99,
                ..Asked::default()
            },
        );
        assert_eq!(beyond.range, page.range);
        let asked = Asked {
            words: "POOL-0042 demo".into(),
            ..Asked::default()
        };
        let one = overview(&pools, &scene(&pools), &asked);
        assert_eq!((one.found, one.all), (1, 1_000));
    }

    #[test]
    fn a_thousand_failing_pools_do_not_bury_the_page() {
        let pools: Vec<Value> = (0..1_000)
            .map(|n| fixtures::pool(&format!("p{n}"), 3, 3))
            .collect();
        let page = overview(&pools, &fixtures::scene(), &Asked::default());
        assert_eq!(
            (page.attention.len(), page.more_attention),
            (LISTED, 1_000 - LISTED)
        );
    }

    #[test]
    fn the_cloud_is_known_by_the_image() {
        assert_eq!(cloud_of(Some(&fixtures::infra("a", 0))), Some("AWS"));
        assert_eq!(cloud_of(Some(&json!({}))), None);
        assert_eq!(cloud_of(None), None);
    }
}
