//! Resource ids: written as people gave them, compared without case.

/// The key a name or id is kept under: ARM ignores case.
pub(crate) fn key(name: &str) -> String {
    name.to_ascii_lowercase()
}

/// `/subscriptions/<s>/resourceGroups/<g>/providers/<provider>/<kind>/<name>`.
pub(crate) fn resource(subscription: &str, group: &str, kind: &str, name: &str) -> String {
    format!("/subscriptions/{subscription}/resourceGroups/{group}/providers/{kind}/{name}")
}

/// The name of a resource: the last part of its id.
pub(crate) fn name_of(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// The value that follows a segment of an id, whatever its case: `part(id, "subscriptions")`.
pub(crate) fn part<'a>(id: &'a str, segment: &str) -> Option<&'a str> {
    let mut parts = id.split('/');
    parts
        .find(|part| part.eq_ignore_ascii_case(segment))
        .and_then(|_| parts.next())
        .filter(|part| !part.is_empty())
}

/// Kind of scale sets.
pub(crate) const SCALE_SETS: &str = "Microsoft.Compute/virtualMachineScaleSets";
/// Kind of autoscale settings.
pub(crate) const SETTINGS: &str = "Microsoft.Insights/autoscalesettings";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_an_id_are_found_whatever_their_case() {
        let id = resource("s", "g", SCALE_SETS, "workers");
        assert_eq!(part(&id, "resourcegroups"), Some("g"));
        assert_eq!(part(&id, "VIRTUALMACHINESCALESETS"), Some("workers"));
        assert_eq!(part(&id, "galleries"), None);
        assert_eq!(name_of(&id), "workers");
    }
}
