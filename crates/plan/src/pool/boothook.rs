//! What both clouds' boot hooks share: registering node labels, and quoting for POSIX sh.

/// Shell functions that register node labels, and their calls. They use `$node_labels`
/// (`k=v,k2=v2`) and add to `$scratch`, the list of files to remove at the end.
pub const LABELS: &str = include_str!("boothook.sh");

/// A word of POSIX sh. Where the inputs are checked before, a quote never occurs; should one occur
/// all the same, it stays text.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
