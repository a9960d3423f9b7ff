//! Functions that rules have beyond the interpreter's own and Kubernetes' libraries, or that the
//! interpreter answers differently from Kubernetes.
//!
//! `type`, `dyn` and `bool`; sizes of strings in characters; conversions of booleans, times and
//! durations.

use std::sync::Arc;

use chrono::{Datelike, Timelike};
use kube_cel::KubeCelExt;
use kube_cel::cel::extractors::{Arguments, This};
use kube_cel::cel::objects::Opaque;
use kube_cel::cel::{Context, ExecutionError, Program, Value as Cel};

type Answer = Result<Cel, ExecutionError>;

/// A CEL type, the answer of `type(...)`.
#[derive(Debug, PartialEq, Eq)]
struct TypeName(&'static str);

impl Opaque for TypeName {
    fn runtime_type_name(&self) -> &'static str {
        "type"
    }
}

fn type_value(name: &'static str) -> Cel {
    Cel::Opaque(Arc::new(TypeName(name)))
}

const TYPES: [&str; 10] = [
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "bool",
    "list",
    "map",
    "null_type",
    "type",
];

/// Every function and name that rules may use.
pub(super) fn context() -> Context<'static> {
    let mut context = Context::default().with_all();
    for name in TYPES {
        context.add_variable_from_value(name, type_value(name));
    }
    context.add_function("type", |value: Cel| -> Answer { Ok(type_of(&value)) });
    context.add_function("dyn", |value: Cel| -> Answer { Ok(value) });
    context.add_function("bool", |value: Cel| -> Answer { to_bool(&value) });
    context.add_function("size", |This(value): This<Cel>| -> Answer { size(&value) });
    context.add_function("string", |value: Cel| -> Answer {
        match value {
            Cel::Bool(value) => Ok(text(value.to_string())),
            Cel::Duration(value) => Ok(text(seconds(value))),
            Cel::Timestamp(value) => {
                let format = chrono::SecondsFormat::AutoSi;
                Ok(text(value.to_utc().to_rfc3339_opts(format, true)))
            }
            other => original("string(it)", other),
        }
    });
    for (name, part) in TIME_PARTS {
        context.add_function(
            name,
            move |This(value): This<Cel>, Arguments(args): Arguments| {
                time_part(name, part, value, args.first())
            },
        );
    }
    context.add_function("int", |value: Cel| -> Answer {
        match value {
            Cel::Timestamp(time) => Ok(Cel::Int(time.timestamp())),
            other => original("int(it)", other),
        }
    });
    context
}

/// A part of a time, as a number.
type Part = fn(&chrono::NaiveDateTime) -> i64;

/// The parts of a time that can be asked for in a time zone; a duration has some of them, too.
const TIME_PARTS: [(&str, Part); 10] = [
    ("getFullYear", |time| time.year().into()),
    ("getMonth", |time| time.month0().into()),
    ("getDayOfYear", |time| time.ordinal0().into()),
    ("getDayOfMonth", |time| time.day0().into()),
    ("getDate", |time| time.day().into()),
    ("getDayOfWeek", |time| {
        time.weekday().num_days_from_sunday().into()
    }),
    ("getHours", |time| time.hour().into()),
    ("getMinutes", |time| time.minute().into()),
    ("getSeconds", |time| time.second().into()),
    ("getMilliseconds", |time| {
        (time.nanosecond() / 1_000_000).into()
    }),
];

fn time_part(name: &str, part: Part, value: Cel, zone: Option<&Cel>) -> Answer {
    let Cel::Timestamp(time) = &value else {
        return original(&format!("it.{name}()"), value);
    };
    let zone = match zone {
        None => jiff::tz::TimeZone::UTC,
        Some(Cel::String(zone)) => time_zone(zone).ok_or_else(|| {
            ExecutionError::function_error(name, format!("unknown time zone {zone}"))
        })?,
        Some(_) => return Err(ExecutionError::NoSuchOverload),
    };
    let moment = jiff::Timestamp::from_second(time.timestamp())
        .map_err(|error| ExecutionError::function_error(name, error.to_string()))?;
    let offset = i64::from(zone.to_offset(moment).seconds());
    let local = time.naive_utc() + chrono::Duration::seconds(offset);
    Ok(Cel::Int(part(&local)))
}

/// A zone by its name, or by its distance from UTC such as `-03:30`.
fn time_zone(name: &str) -> Option<jiff::tz::TimeZone> {
    if let Ok(zone) = jiff::tz::TimeZone::get(name) {
        return Some(zone);
    }
    let (sign, distance) = match name.strip_prefix('-') {
        Some(distance) => (-1, distance),
        None => (1, name.strip_prefix('+').unwrap_or(name)),
    };
    let (hours, minutes) = distance.split_once(':')?;
    let seconds = hours.parse::<i32>().ok()?.checked_mul(3600)?
        + minutes.parse::<i32>().ok()?.checked_mul(60)?;
    jiff::tz::Offset::from_seconds(sign * seconds)
        .ok()
        .map(jiff::tz::TimeZone::fixed)
}

thread_local! {
    /// The functions as the libraries have them.
    static ORIGINAL: Context<'static> = Context::default().with_all();
}

/// The answer of a function that is only extended here.
fn original(call: &str, value: Cel) -> Answer {
    let program = Program::compile(call)
        .map_err(|error| ExecutionError::function_error(call, error.to_string()))?;
    ORIGINAL.with(|original| {
        let mut scope = original.new_inner_scope();
        scope.add_variable_from_value("it", value);
        program.execute(&scope)
    })
}

fn text(value: String) -> Cel {
    Cel::String(Arc::new(value))
}

fn type_of(value: &Cel) -> Cel {
    type_value(match value {
        Cel::List(_) => "list",
        Cel::Map(_) => "map",
        Cel::Int(_) => "int",
        Cel::UInt(_) => "uint",
        Cel::Float(_) => "double",
        Cel::String(_) => "string",
        Cel::Bytes(_) => "bytes",
        Cel::Bool(_) => "bool",
        Cel::Null => "null_type",
        Cel::Duration(_) => "google.protobuf.Duration",
        Cel::Timestamp(_) => "google.protobuf.Timestamp",
        Cel::Opaque(_) | Cel::Function(..) => "type",
    })
}

fn to_bool(value: &Cel) -> Answer {
    match value {
        Cel::Bool(value) => Ok(Cel::Bool(*value)),
        Cel::String(text) => match text.as_str() {
            "true" | "True" | "TRUE" | "t" | "1" => Ok(Cel::Bool(true)),
            "false" | "False" | "FALSE" | "f" | "0" => Ok(Cel::Bool(false)),
            _ => {
                let message = "type conversion error from 'string' to 'bool'";
                Err(ExecutionError::function_error("bool", message))
            }
        },
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// Strings are counted in characters.
fn size(value: &Cel) -> Answer {
    let size = match value {
        Cel::String(text) => text.chars().count(),
        Cel::Bytes(bytes) => bytes.len(),
        Cel::List(list) => list.len(),
        Cel::Map(map) => map.map.len(),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    Ok(Cel::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

/// A duration as text: seconds with as many digits as it needs.
fn seconds(duration: chrono::Duration) -> String {
    let nanoseconds = duration.num_nanoseconds().unwrap_or(i64::MAX);
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let (whole, rest) = (
        nanoseconds.unsigned_abs() / 1_000_000_000,
        nanoseconds.unsigned_abs() % 1_000_000_000,
    );
    if rest == 0 {
        return format!("{sign}{whole}s");
    }
    let digits = format!("{rest:09}");
    format!("{sign}{whole}.{}s", digits.trim_end_matches('0'))
}
