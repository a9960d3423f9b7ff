//! The functions that rules may call, and the types of their answers.

use super::types::Type;

/// Names that qualify functions.
pub(super) fn is_library(name: &str) -> bool {
    matches!(
        name,
        "sets" | "optional" | "format" | "strings" | "ip" | "jsonpatch" | "cel"
    )
}

/// Names of types, which are values of rules.
pub(super) fn is_type_name(name: &str) -> bool {
    matches!(
        name,
        "int"
            | "uint"
            | "double"
            | "string"
            | "bytes"
            | "bool"
            | "list"
            | "map"
            | "null_type"
            | "type"
    )
}

/// The type of a function's answer; `None` for a function that doesn't exist.
pub(super) fn answer<'a>(
    name: &str,
    target: Option<&Type<'a>>,
    args: &[Type<'a>],
) -> Option<Type<'a>> {
    conversion(name)
        .or_else(|| text(name, target))
        .or_else(|| list(name, target))
        .or_else(|| library(name))
        .or_else(|| optional(name, target, args))
}

fn conversion<'a>(name: &str) -> Option<Type<'a>> {
    Some(match name {
        "size" | "getFullYear" | "getMonth" | "getDayOfYear" | "getDayOfMonth" | "getDate"
        | "getDayOfWeek" | "getHours" | "getMinutes" | "getSeconds" | "getMilliseconds" => {
            Type::Int
        }
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "bool" => Type::Bool,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "type" => Type::Meta,
        "dyn" => Type::Dyn,
        _ => return None,
    })
}

fn text<'a>(name: &str, target: Option<&Type<'a>>) -> Option<Type<'a>> {
    Some(match name {
        "contains" | "startsWith" | "endsWith" | "matches" => Type::Bool,
        "charAt" | "lowerAscii" | "upperAscii" | "trim" | "replace" | "substring" | "join"
        | "quote" | "find" | "strings.quote" => Type::String,
        // One name: the library of formats, and text from a format.
        "format" => Type::String,
        "reverse" => target.cloned().unwrap_or(Type::Dyn),
        "indexOf" | "lastIndexOf" => Type::Int,
        "split" | "findAll" => Type::List(Box::new(Type::String)),
        _ => return None,
    })
}

fn list<'a>(name: &str, target: Option<&Type<'a>>) -> Option<Type<'a>> {
    Some(match name {
        "isSorted" => Type::Bool,
        "sum" if matches!(target, Some(Type::List(inner)) if !inner.is_summable()) => return None,
        "sum" | "min" | "max" => match target {
            Some(Type::List(inner)) => (**inner).clone(),
            _ => Type::Dyn,
        },
        "slice" | "sort" | "distinct" => target.cloned().unwrap_or(Type::Dyn),
        "flatten" | "range" | "lists.range" => Type::Dyn,
        "first" | "last" => Type::Optional(Box::new(Type::Dyn)),
        "sets.contains" | "sets.equivalent" | "sets.intersects" => Type::Bool,
        _ => return None,
    })
}

fn library<'a>(name: &str) -> Option<Type<'a>> {
    Some(match name {
        "url" => Type::Library("kubernetes.URL"),
        "getScheme" | "getHost" | "getHostname" | "getPort" | "getEscapedPath" => Type::String,
        "getQuery" => Type::Map(Box::new(Type::List(Box::new(Type::String)))),
        "ip" => Type::Library("net.IP"),
        "cidr" | "masked" => Type::Library("net.CIDR"),
        "family" | "prefixLength" | "major" | "minor" | "patch" | "sign" | "asInteger"
        | "compareTo" => Type::Int,
        "isURL"
        | "isIP"
        | "isCIDR"
        | "isQuantity"
        | "isSemver"
        | "ip.isCanonical"
        | "isUnspecified"
        | "isLoopback"
        | "isLinkLocalMulticast"
        | "isLinkLocalUnicast"
        | "isGlobalUnicast"
        | "containsIP"
        | "containsCIDR"
        | "isInteger"
        | "isGreaterThan"
        | "isLessThan" => Type::Bool,
        "quantity" | "add" | "sub" => Type::Library("kubernetes.Quantity"),
        "asApproximateFloat" => Type::Double,
        "semver" => Type::Library("kubernetes.Semver"),
        "jsonpatch.escapeKey" => Type::String,
        "validate" => Type::Optional(Box::new(Type::List(Box::new(Type::String)))),
        // The interpreter answers with another type.
        "format.named" => return None,
        name if name.starts_with("format.") => Type::Library("kubernetes.NamedFormat"),
        _ => return None,
    })
}

fn optional<'a>(name: &str, target: Option<&Type<'a>>, args: &[Type<'a>]) -> Option<Type<'a>> {
    let inner = || match target {
        Some(Type::Optional(inner)) => (**inner).clone(),
        _ => Type::Dyn,
    };
    Some(match name {
        "optional.none" => Type::Optional(Box::new(Type::Dyn)),
        "optional.of" | "optional.ofNonZeroValue" => {
            Type::Optional(Box::new(args.first().cloned().unwrap_or(Type::Dyn)))
        }
        "hasValue" => Type::Bool,
        "value" => inner(),
        "orValue" => match inner() {
            Type::Dyn => args.first().cloned().unwrap_or(Type::Dyn),
            known => known,
        },
        "or" => target.cloned().unwrap_or(Type::Dyn),
        "optMap" | "optFlatMap" => Type::Optional(Box::new(Type::Dyn)),
        _ => return None,
    })
}
