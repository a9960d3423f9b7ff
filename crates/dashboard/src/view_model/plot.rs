//! A plot of how a pool grew and shrank: steps, because counts jump.

use std::fmt::Write;

use jiff::Timestamp;
use serde::Serialize;

use super::words::span;
use crate::history::Point;

/// Size of the drawing; it is stretched to the place it gets.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;

/// What is drawn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Plot {
    /// Paths in a box of 600 by 120.
    pub(crate) wanted: String,
    pub(crate) have: String,
    /// A closed area.
    pub(crate) ready: String,
    /// Labels of the vertical axis, from the top.
    pub(crate) counts: Vec<i64>,
    /// How far back it goes.
    pub(crate) since: String,
    /// The same in words.
    pub(crate) says: String,
}

/// The plot of what was seen; nothing while there is not a minute to show.
pub(crate) fn plot(points: &[Point], now: Timestamp) -> Option<Plot> {
    const SHORTEST: i64 = 10;
    let first = points.first()?;
    let last = points.last()?;
    let seconds = now.duration_since(first.at).as_secs();
    if seconds < SHORTEST {
        return None;
    }
    let highest = points
        .iter()
        .map(|point| point.wanted.unwrap_or(0).max(point.have).max(point.ready))
        .max()?;
    let top = ceiling(highest);
    let scale = Scale {
        first: first.at,
        seconds: as_f64(seconds),
        top: as_f64(top),
    };
    let of = |value: fn(&Point) -> i64| -> Vec<(f64, f64)> {
        let mut places: Vec<(f64, f64)> = points
            .iter()
            .map(|point| scale.place(point.at, value(point)))
            .collect();
        places.push(scale.place(now, value(last)));
        places
    };
    let wanted = points.iter().all(|point| point.wanted.is_some());
    let ready = of(|point| point.ready);
    Some(Plot {
        wanted: if wanted {
            steps(&of(|point| point.wanted.unwrap_or(0)))
        } else {
            String::new()
        },
        have: steps(&of(|point| point.have)),
        ready: format!("{}V{HEIGHT:.1}H0Z", steps(&ready)),
        counts: vec![top, top / 2, 0],
        since: span(seconds),
        says: says(points, last, seconds),
    })
}

fn says(points: &[Point], last: &Point, seconds: i64) -> String {
    let lowest = points.iter().map(|point| point.have).min().unwrap_or(0);
    let highest = points.iter().map(|point| point.have).max().unwrap_or(0);
    let span = span(seconds);
    if lowest == highest {
        return format!("{} machines throughout the last {span}.", last.have);
    }
    format!(
        "Between {lowest} and {highest} machines in the last {span}, {} now.",
        last.have
    )
}

struct Scale {
    first: Timestamp,
    seconds: f64,
    top: f64,
}

impl Scale {
    fn place(&self, at: Timestamp, count: i64) -> (f64, f64) {
        let elapsed = as_f64(at.duration_since(self.first).as_secs());
        let x = (elapsed / self.seconds * WIDTH).clamp(0.0, WIDTH);
        (x, HEIGHT - as_f64(count) / self.top * HEIGHT)
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "counts and seconds are far below 2^52"
)]
fn as_f64(number: i64) -> f64 {
    number as f64
}

/// The next even number that leaves the line below the edge.
fn ceiling(highest: i64) -> i64 {
    let above = highest.max(1) + 1;
    let step = match above {
        ..=10 => 2,
        11..=50 => 10,
        51..=200 => 20,
        _ => 100,
    };
    (above + step - 1) / step * step
}

fn steps(places: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (index, (x, y)) in places.iter().enumerate() {
        let written = if index == 0 {
            write!(path, "M{x:.1} {y:.1}")
        } else {
            write!(path, "H{x:.1}V{y:.1}")
        };
        debug_assert!(written.is_ok(), "a String takes everything");
    }
    path
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::super::fixtures;
    use super::*;

    fn point(ago: i64, wanted: i64, have: i64) -> Point {
        Point {
            at: fixtures::now() - SignedDuration::from_secs(ago),
            wanted: Some(wanted),
            have,
            ready: have,
        }
    }

    #[test]
    fn counts_are_steps_within_the_box() {
        let plot = plot(
            &[point(600, 3, 3), point(300, 5, 3), point(60, 5, 5)],
            fixtures::now(),
        )
        .unwrap();
        assert_eq!(plot.counts, [6, 3, 0]);
        assert_eq!(plot.have, "M0.0 60.0H300.0V60.0H540.0V20.0H600.0V20.0");
        assert_eq!(plot.wanted, "M0.0 60.0H300.0V20.0H540.0V20.0H600.0V20.0");
        assert_eq!(
            plot.says,
            "Between 3 and 5 machines in the last 10 min, 5 now."
        );
    }

    #[test]
    fn a_moment_is_no_history() {
        assert_eq!(plot(&[], fixtures::now()), None);
        assert_eq!(plot(&[point(0, 3, 3)], fixtures::now()), None);
    }

    #[test]
    fn the_axis_ends_on_an_even_number_above_the_highest() {
        for (highest, top) in [
            (0, 2),
            (1, 2),
            (3, 4),
            (5, 6),
            (10, 20),
            (60, 80),
            (1_000, 1_100),
        ] {
            assert_eq!(ceiling(highest), top, "{highest}");
        }
    }

    #[test]
    fn a_pool_whose_number_nobody_asks_for_has_no_wanted_line() {
        let mut bare = point(60, 0, 3);
        bare.wanted = None;
        assert_eq!(plot(&[bare], fixtures::now()).unwrap().wanted, "");
    }
}
