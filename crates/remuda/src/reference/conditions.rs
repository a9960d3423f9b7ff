//! Conditions, their reasons, and events of each kind.

use remuda_controllers::reference::{Entry, KINDS, Kind};

use super::{cell, page};

pub(crate) fn conditions() -> String {
    let mut text = page(
        "Conditions and events",
        "What the controllers say about each kind, in `status.conditions` and as events. True is \
         good unless a type says *negative polarity*.",
    );
    for kind in KINDS {
        describe(kind, &mut text);
    }
    text
}

fn describe(kind: &Kind, text: &mut String) {
    text.extend([format!("\n## {}\n", kind.kind)]);
    table("condition", kind.conditions, text);
    for (whose, reasons) in kind.reasons {
        let title = match *whose {
            "all" => "reason".to_owned(),
            whose => format!("reason ({whose})"),
        };
        table(&title, reasons, text);
    }
    if !kind.events.is_empty() {
        table("event", kind.events, text);
    }
}

fn table(title: &str, entries: &[Entry], text: &mut String) {
    text.extend([format!("\n| {title} | meaning |\n| --- | --- |\n")]);
    for (name, lines) in entries {
        text.extend([format!("| `{name}` | {} |\n", cell(&lines.join(" ")))]);
    }
}
