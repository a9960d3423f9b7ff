//! A bounded run of the fuzz targets on the stable compiler: whole texts cut, joined and damaged.

use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use remuda_apiserver::fuzzing;

/// How long one input may take, in an unoptimised build on a busy machine: far more than any takes,
/// far less than for ever.
const LONGEST: Duration = Duration::from_secs(20);

/// Texts that make sense to one target or another.
const SEEDS: &[&str] = &[
    r#"{"metadata":{"name":"p","labels":{"a":"b"},"finalizers":["x/y"]},"spec":{"containers":[{"name":"c","image":"i"}]}}"#,
    r#"{"spec":{"containers":[{"name":"c","$patch":"delete"}],"$setElementOrder/containers":[{"name":"c"}]}}"#,
    r#"[{"op":"move","from":"/spec/containers/0","path":"/spec/containers/-"},{"op":"test","path":"/a","value":null}]"#,
    r#"{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"array","maxItems":3,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"string","pattern":"^(a+)+$","default":"x"}}}}}}}}"#,
    "self.ports.all(x, x > 0 && self.name.matches('^(a+)+$'))",
    "has(self.labels) ? self.labels.exists(k, self.labels[k] == 'b') : timestamp('2026-01-01T00:00:00Z') < self.time",
    "self.time.getHours('-03:30') + duration('1h').getMinutes() > int('1')",
    "quantity('1Mi').isGreaterThan(quantity('1k')) && cidr('10.0.0.0/8').containsIP('10.0.0.1')",
    "a in (b,,c),!d,e notin (),f>1,g!=h",
    ".spec.containers[?(@.name=='c')].image",
    r#"{"a":[1,-0.5e+3,"\u00e9\\",null,{"b":{}}]}"#,
];

/// What targets are fed: pieces of seeds and bytes of any kind, some of them divided by NUL.
fn input() -> impl Strategy<Value = Vec<u8>> {
    let piece = (prop::sample::select(SEEDS), 0.0..1.0, 0.0..1.0).prop_map(|(seed, from, to)| {
        let at = |part: f64| {
            let place = part * f64::from(u16::try_from(seed.len()).expect("seeds are short"));
            (0..=seed.len()).find(|index| f64::from(u16::try_from(*index).expect("short")) >= place)
        };
        let (from, to) = (at(from).unwrap_or(0), at(to).unwrap_or(0));
        seed.as_bytes()
            .get(from.min(to)..from.max(to))
            .unwrap_or_default()
            .to_vec()
    });
    let whole = prop::sample::select(SEEDS).prop_map(|seed| seed.as_bytes().to_vec());
    let part = prop_oneof![
        3 => whole,
        3 => piece,
        1 => Just(vec![0]),
        1 => vec(any::<u8>(), 0..8),
    ];
    vec(part, 1..5).prop_map(|parts| parts.concat())
}

fn timely(target: fn(&[u8]), data: &[u8]) {
    let begun = Instant::now();
    target(data);
    let took = begun.elapsed();
    assert!(
        took < LONGEST,
        "{took:?} for {:?}",
        String::from_utf8_lossy(data)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_input_breaks_or_holds_up_a_fuzz_target(data in input()) {
        let mut divided = data.clone();
        divided.push(0);
        divided.extend_from_slice(&data);
        for target in [fuzzing::patches, fuzzing::selectors, fuzzing::schemas, fuzzing::rules, fuzzing::texts] {
            timely(target, &data);
            timely(target, &divided);
        }
    }
}

#[test]
fn whole_seeds_in_pairs_break_nothing() {
    for one in SEEDS {
        for other in SEEDS {
            let data = [one.as_bytes(), &[0], other.as_bytes()].concat();
            for target in [
                fuzzing::patches,
                fuzzing::selectors,
                fuzzing::schemas,
                fuzzing::rules,
            ] {
                timely(target, &data);
            }
        }
    }
}
