//! The kinds are served, in the versions that are read and with the labels by which Cluster API finds
//! them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, ResourceExt as _};

use super::{finding::Finding, patient::Patient};

const APPLY: &str = "remuda crds | kubectl apply --server-side -f -";
/// Labels that say which version of a kind follows which contract.
const CONTRACT: &str = "cluster.x-k8s.io/v1";

/// Compares what is installed with what this build serves.
pub(super) async fn run(patient: &Patient) -> Vec<Finding> {
    let api: Api<CustomResourceDefinition> = Api::all(patient.client.clone());
    let mut findings = Vec::new();
    let mut fine = 0;
    for ours in remuda_api::crds() {
        let name = ours.name_any();
        match api.get_opt(&name).await {
            Ok(live) => match problem(&ours, live.as_ref()) {
                None => fine += 1,
                Some(found) => findings.push(Finding::fail(name, found, APPLY)),
            },
            Err(error) => findings.push(Finding::warn(
                name,
                format!("could not be read: {error}"),
                "run with the right to get customresourcedefinitions",
            )),
        }
    }
    if fine > 0 {
        let found = format!("{fine} are served as this version needs them");
        findings.insert(0, Finding::ok("definitions", found));
    }
    findings
}

/// What is wrong with an installed definition; `None`: nothing.
fn problem(
    ours: &CustomResourceDefinition,
    live: Option<&CustomResourceDefinition>,
) -> Option<String> {
    let Some(live) = live else {
        return Some("is not installed".to_owned());
    };
    let conditions = live
        .status
        .iter()
        .filter_map(|status| status.conditions.as_ref());
    let established = conditions
        .flatten()
        .any(|condition| condition.type_ == "Established" && condition.status == "True");
    if !established {
        return Some("is installed, but not served yet".to_owned());
    }
    let serves = |version: &str| {
        let mut versions = live.spec.versions.iter();
        versions.any(|served| served.name == version && served.served)
    };
    let needed = ours.spec.versions.iter().filter(|version| version.served);
    if let Some(missing) = needed
        .map(|version| &version.name)
        .find(|version| !serves(version))
    {
        return Some(format!("does not serve the version {missing}"));
    }
    for (label, value) in ours.labels() {
        let has = live.labels().get(label);
        if label.starts_with(CONTRACT) && has != Some(value) {
            let has = has.map_or("is missing".to_owned(), |has| format!("is {has}"));
            return Some(format!(
                "its contract label {label} {has} and must be {value}"
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        CustomResourceDefinitionCondition, CustomResourceDefinitionStatus,
    };

    use super::*;

    fn definition() -> CustomResourceDefinition {
        let all = remuda_api::crds();
        let ours = all
            .into_iter()
            .find(|definition| definition.name_any().starts_with("terraformmachinepools."));
        ours.expect("the kind is ours")
    }

    fn served() -> CustomResourceDefinition {
        let mut live = definition();
        let condition = CustomResourceDefinitionCondition {
            type_: "Established".to_owned(),
            status: "True".to_owned(),
            ..CustomResourceDefinitionCondition::default()
        };
        live.status = Some(CustomResourceDefinitionStatus {
            conditions: Some(vec![condition]),
            ..CustomResourceDefinitionStatus::default()
        });
        live
    }

    #[test]
    fn what_is_installed_is_compared() {
        let ours = definition();
        let said = |live: Option<&CustomResourceDefinition>| problem(&ours, live);
        assert_eq!(said(Some(&served())), None);
        assert_eq!(said(None).as_deref(), Some("is not installed"));
        assert!(said(Some(&ours)).unwrap().contains("not served yet"));
        let mut other = served();
        other.spec.versions[0].name = "v9".to_owned();
        assert!(
            said(Some(&other))
                .unwrap()
                .contains("does not serve the version v1alpha1")
        );
        let mut bare = served();
        bare.metadata.labels = None;
        assert!(said(Some(&bare)).unwrap().contains("contract label"));
    }
}
