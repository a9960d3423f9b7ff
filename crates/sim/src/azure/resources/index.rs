//! The index of all resources of a subscription.

use serde_json::{Value, json};

use crate::azure::{
    compute::listed,
    protocol::{Answer, ArmError},
    service::ArmRequest,
    state::View,
};

/// `GET` of the resources of a subscription, filtered by name and type.
pub(crate) fn list_resources(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let filter = Filter::read(request.query("$filter").unwrap_or_default())?;
    let mut shown = Vec::new();
    for group in view.subscription.groups.values() {
        let sets = listed(view, group, view.fabric.timing.index_lag);
        shown.extend(sets.into_iter().map(|set| row(&set.render(view))));
        let settings = group.settings.values();
        shown.extend(settings.map(|setting| row(&setting.render(&view.subscription.id))));
    }
    shown.retain(|row| filter.takes(row));
    Ok(Answer::ok(request.page(view).of(shown, |row| row)))
}

fn row(resource: &Value) -> Value {
    let mut row = json!({});
    for name in [
        "id", "name", "type", "location", "tags", "sku", "identity", "zones",
    ] {
        if !resource[name].is_null() {
            row[name] = resource[name].clone();
        }
    }
    row
}

/// `name eq 'x' and resourceType eq 'y'`.
#[derive(Default)]
struct Filter {
    terms: Vec<(&'static str, String)>,
}

impl Filter {
    fn read(text: &str) -> Result<Self, ArmError> {
        let mut filter = Self::default();
        for term in text.split(" and ").map(str::trim).filter(|t| !t.is_empty()) {
            let bad = || {
                let message = format!("The $filter term '{term}' is not simulated here.");
                ArmError::new(400, "InvalidFilterInQueryString", message)
            };
            let (name, value) = term.split_once(" eq ").ok_or_else(bad)?;
            let value = value.trim().trim_matches('\'').to_owned();
            let field = match name.trim() {
                "name" => "name",
                "resourceType" => "type",
                "location" => "location",
                _ => return Err(bad()),
            };
            filter.terms.push((field, value));
        }
        Ok(filter)
    }

    fn takes(&self, row: &Value) -> bool {
        self.terms.iter().all(|(field, value)| {
            row[*field]
                .as_str()
                .is_some_and(|known| known.eq_ignore_ascii_case(value))
        })
    }
}
