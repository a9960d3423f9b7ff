//! What holds for every sequence of applies and updates, whatever the objects.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use jiff::Timestamp;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use remuda_apiserver::apply::field_set::FieldSet;
use remuda_apiserver::apply::{self, ApplyError};
use remuda_apiserver::schema::{self, Structural};
use serde_json::{Map, Value, json};

fn structural() -> Structural {
    let text = json!({"type": "string"});
    let pair = json!({"type": "object", "properties": {"a": text, "b": text}});
    Structural::parse(&json!({
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {
            "s": text,
            "i": {"type": "integer"},
            "o": {"type": "object", "properties": {"a": text, "b": text, "p": pair}},
            "m": {"type": "object", "additionalProperties": text},
            "mm": {"type": "object", "additionalProperties": pair},
            "am": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": text},
            "al": {"type": "array", "items": text},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
            "kl": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "required": ["k"],
                    "properties": {"k": text, "v": text, "o": pair}},
            },
            "any": {"x-kubernetes-preserve-unknown-fields": true},
        }}},
    }))
    .unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + second).unwrap()
}

fn object(spec: &Map<String, Value>) -> Value {
    json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a"}, "spec": spec})
}

/// An object of up to two fields, `a` and `b`, each with one of two values.
fn pair() -> impl Strategy<Value = Value> {
    (option::of("[xy]"), option::of("[xy]")).prop_map(|(a, b)| {
        let fields = [("a", a), ("b", b)].into_iter();
        fields
            .filter_map(|(name, value)| Some((name.to_owned(), json!(value?))))
            .collect()
    })
}

fn entry() -> impl Strategy<Value = (String, Value)> {
    ("[abc]", option::of("[xy]"), option::of(pair())).prop_map(|(k, v, o)| {
        let mut out = json!({"k": k});
        if let Some(v) = v {
            out["v"] = json!(v);
        }
        if let Some(o) = o {
            out["o"] = o;
        }
        (k, out)
    })
}

/// A list with at most one entry of each name, in any order. It isn't empty: nobody owns an empty
/// list whose entries have identities.
fn entries() -> impl Strategy<Value = Value> {
    vec(entry(), 1..4).prop_map(|entries| {
        let mut seen = std::collections::BTreeSet::new();
        entries
            .into_iter()
            .filter(|(k, _)| seen.insert(k.clone()))
            .map(|(_, v)| v)
            .collect()
    })
}

fn set() -> impl Strategy<Value = Value> {
    vec("[abcd]", 1..4).prop_map(|values| {
        let mut seen = std::collections::BTreeSet::new();
        values
            .into_iter()
            .filter(|value| seen.insert(value.clone()))
            .collect()
    })
}

fn spec() -> impl Strategy<Value = Map<String, Value>> {
    let map = || btree_map("[abc]", "[xy]", 0..3).prop_map(|map| json!(map));
    let deep = (pair(), option::of(pair())).prop_map(|(mut outer, inner)| {
        if let Some(inner) = inner {
            outer["p"] = inner;
        }
        outer
    });
    let any = prop_oneof![
        map(),
        set(),
        Just(json!(1)),
        pair().prop_map(|p| json!({ "n": p }))
    ];
    let scalars = (option::of("[xy]"), option::of(0..2));
    let maps = (
        option::of(deep),
        option::of(map()),
        option::of(btree_map("[ab]", pair(), 0..3)),
        option::of(map()),
    );
    let lists = (
        option::of(set()),
        option::of(set()),
        option::of(entries()),
        option::of(any),
    );
    (scalars, maps, lists).prop_map(|((s, i), (o, m, mm, am), (al, set, kl, any))| {
        let fields = [
            ("s", s.map(|s| json!(s))),
            ("i", i.map(|i| json!(i))),
            ("o", o),
            ("m", m),
            ("mm", mm.map(|mm| json!(mm))),
            ("am", am),
            ("al", al),
            ("set", set),
            ("kl", kl),
            ("any", any),
        ];
        fields
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    })
}

fn applied(
    live: Option<&Value>,
    spec: &Map<String, Value>,
    manager: &str,
    force: bool,
    second: i64,
) -> Result<Value, ApplyError> {
    apply::apply(
        live,
        &object(spec),
        manager,
        force,
        &structural(),
        at(second),
        "",
    )
}

/// Several managers apply, forced, one after another.
fn history(writes: &[(usize, Map<String, Value>)]) -> Option<Value> {
    const NAMES: [&str; 3] = ["one", "two", "three"];
    let mut live = None;
    for (second, (manager, spec)) in (0..).zip(writes) {
        live = Some(applied(live.as_ref(), spec, NAMES[manager % 3], true, second).unwrap());
    }
    live
}

fn writes() -> impl Strategy<Value = Vec<(usize, Map<String, Value>)>> {
    vec((0..3_usize, spec()), 0..4)
}

fn managed(object: &Value) -> Vec<Value> {
    object["metadata"]["managedFields"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

fn fields_of(object: &Value, manager: &str) -> FieldSet {
    let entries = managed(object);
    let entry = entries.iter().find(|entry| entry["manager"] == manager);
    entry.map_or_else(FieldSet::default, |entry| {
        FieldSet::from_json(&entry["fieldsV1"]).unwrap()
    })
}

fn owned_by_anyone(object: &Value) -> FieldSet {
    managed(object)
        .iter()
        .fold(FieldSet::default(), |all, entry| {
            all.union(&FieldSet::from_json(&entry["fieldsV1"]).unwrap())
        })
}

fn content(object: &Value) -> Value {
    let mut out = object.clone();
    out["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("managedFields");
    out
}

/// Every field that an object sets, which is what a manager owns that applies it as it is.
fn every_field(object: &Value) -> FieldSet {
    let probe = applied(
        None,
        content(object)["spec"].as_object().unwrap(),
        "probe",
        true,
        0,
    );
    fields_of(&probe.unwrap(), "probe")
}

/// The object without what is empty: an object emptied by an update has no owner.
fn filled(value: &Value) -> Value {
    let empty = |value: &Value| *value == json!({}) || *value == json!([]);
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| (name.clone(), filled(value)))
            .filter(|(_, value)| !empty(value))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(list) => list.iter().map(filled).collect(),
        other => other.clone(),
    }
}

/// Whether everything that a configuration sets is in the object.
fn contains(object: &Value, config: &Value) -> bool {
    match (object, config) {
        (Value::Object(object), Value::Object(config)) => config.iter().all(|(name, wanted)| {
            object
                .get(name)
                .is_some_and(|found| contains(found, wanted))
        }),
        (Value::Array(object), Value::Array(config)) => config
            .iter()
            .all(|wanted| object.iter().any(|found| contains(found, wanted))),
        _ => object == config,
    }
}

/// The same object with its unordered lists in one order and without times.
fn canonical(object: &Value) -> Value {
    let mut out = object.clone();
    for name in ["set", "kl"] {
        if let Some(list) = out["spec"].get_mut(name).and_then(Value::as_array_mut) {
            list.sort_by_key(Value::to_string);
        }
    }
    if let Some(entries) = out["metadata"]["managedFields"].as_array_mut() {
        for entry in entries.iter_mut() {
            entry.as_object_mut().unwrap().remove("time");
        }
        entries.sort_by_key(Value::to_string);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn applying_twice_is_applying_once(before in writes(), config in spec()) {
        let live = history(&before);
        let once = applied(live.as_ref(), &config, "m", true, 100).unwrap();
        let twice = applied(Some(&once), &config, "m", false, 200).unwrap();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn what_was_applied_is_there_and_owned(before in writes(), config in spec()) {
        let live = history(&before);
        let result = applied(live.as_ref(), &config, "m", true, 100).unwrap();
        prop_assert!(contains(&result["spec"], &Value::Object(config.clone())), "{result}");
        let all = every_field(&object(&config));
        prop_assert!(all.difference(&fields_of(&result, "m")).is_empty());
    }

    #[test]
    fn disjoint_managers_come_in_any_order(one in spec(), two in spec()) {
        let mut two = two;
        two.retain(|name, _| !one.contains_key(name));
        let first = applied(None, &one, "one", false, 0).unwrap();
        let first = applied(Some(&first), &two, "two", false, 1).unwrap();
        let other = applied(None, &two, "two", false, 0).unwrap();
        let other = applied(Some(&other), &one, "one", false, 1).unwrap();
        prop_assert_eq!(canonical(&first), canonical(&other));
    }

    #[test]
    fn who_applies_nothing_leaves_nothing(before in writes(), config in spec()) {
        let live = history(&before).unwrap_or_else(|| object(&Map::new()));
        let mut added = config;
        added.retain(|name, _| live["spec"].get(name).is_none());
        let there = applied(Some(&live), &added, "m", false, 100).unwrap();
        let gone = apply::apply(
            Some(&there),
            &json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a"}}),
            "m",
            false,
            &structural(),
            at(200),
            "",
        )
        .unwrap();
        prop_assert!(fields_of(&gone, "m").is_empty());
        for name in added.keys() {
            prop_assert!(gone["spec"].get(name).is_none(), "{name} stays: {gone}");
        }
    }

    #[test]
    fn every_field_has_an_owner(before in writes()) {
        if let Some(object) = history(&before) {
            let orphans = every_field(&object).difference(&owned_by_anyone(&object));
            let paths: Vec<String> = orphans.paths().iter().map(ToString::to_string).collect();
            prop_assert!(paths.is_empty(), "{paths:?} of {object}");
        }
    }

    #[test]
    fn without_force_nobody_loses_anything(before in writes(), config in spec()) {
        // A value without a schema may change its shape, which takes it over without a conflict.
        let mut config = config;
        config.remove("any");
        let live = history(&before);
        let outcome = applied(live.as_ref(), &config, "m", false, 100);
        let Some(live) = live else { return Ok(()) };
        match outcome {
            Err(ApplyError::Conflict(conflicts)) => prop_assert!(!conflicts.is_empty()),
            Err(other) => prop_assert!(false, "{other}"),
            Ok(result) => {
                for manager in ["one", "two", "three"] {
                    let lost = fields_of(&live, manager).difference(&fields_of(&result, manager));
                    prop_assert!(lost.is_empty(), "{manager} lost {:?}", lost.paths());
                }
            }
        }
    }

    #[test]
    fn an_update_owns_what_it_changes_and_nothing_else_moves(before in writes(), after in spec()) {
        let Some(live) = history(&before) else { return Ok(()) };
        let mut new = live.clone();
        new["spec"] = Value::Object(after);
        apply::track_update(Some(&live), &mut new, "editor", &structural(), at(100), "");
        let full = filled(&new);
        if full.get("spec").is_none() {
            return Ok(());
        }
        let orphans = every_field(&full).difference(&owned_by_anyone(&new));
        prop_assert!(orphans.is_empty(), "{:?} of {new}", orphans.paths());
        let mut again = new.clone();
        apply::track_update(Some(&new), &mut again, "editor", &structural(), at(200), "");
        prop_assert_eq!(new, again);
    }

    #[test]
    fn field_sets_survive_being_written(before in writes()) {
        for entry in history(&before).iter().flat_map(managed) {
            let set = FieldSet::from_json(&entry["fieldsV1"]).unwrap();
            prop_assert_eq!(&set.to_json(), &entry["fieldsV1"]);
            prop_assert!(set.difference(&set).is_empty());
            prop_assert_eq!(&set.union(&set), &set);
            prop_assert_eq!(&set.intersection(&set), &set);
        }
    }

    #[test]
    fn pruning_and_defaulting_settle(config in spec()) {
        let structural = structural();
        let mut once = object(&config);
        prop_assert!(schema::prune(&mut once, &structural).is_empty());
        schema::default(&mut once, &structural);
        let mut twice = once.clone();
        schema::default(&mut twice, &structural);
        prop_assert_eq!(&once, &twice);
        prop_assert!(schema::validate(&once, None, &structural).is_empty());
    }
}
