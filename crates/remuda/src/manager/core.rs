//! Whether the core controllers run here.

use anyhow::{Context, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client, ResourceExt};
use remuda_api::keys::label;

use crate::cli::CoreMode;

/// A kind that the owner of the core owns.
const CORE_KIND: &str = "machinepools.cluster.x-k8s.io";
/// What upstream's packages call themselves.
const UPSTREAM: &str = "cluster-api";

/// Whether MachinePools, Machines and their like are this manager's: `auto` asks who installed their
/// definitions.
pub(crate) async fn runs_here(mode: CoreMode, client: &Client) -> Result<bool> {
    match mode {
        CoreMode::On => Ok(true),
        CoreMode::Off => Ok(false),
        CoreMode::Auto => {
            let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
            let found = definitions
                .get_opt(CORE_KIND)
                .await
                .with_context(|| format!("looking for {CORE_KIND}"))?;
            let definition = found.with_context(|| {
                format!(
                    "{CORE_KIND} is not installed: `remuda crds | kubectl apply --server-side -f -`"
                )
            })?;
            Ok(!belongs_upstream(&definition))
        }
    }
}

/// Whether upstream's core owns the core's kinds; where nobody installed them it does not.
pub(crate) async fn is_upstreams(client: &Client) -> Result<bool> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let found = definitions
        .get_opt(CORE_KIND)
        .await
        .with_context(|| format!("looking for {CORE_KIND}"))?;
    Ok(found.is_some_and(|definition| belongs_upstream(&definition)))
}

fn belongs_upstream(definition: &CustomResourceDefinition) -> bool {
    let provider = definition.labels().get(label::PROVIDER);
    provider.is_some_and(|provider| provider == UPSTREAM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_of_upstreams_package_are_upstreams() {
        let mut definition = CustomResourceDefinition::default();
        assert!(!belongs_upstream(&definition));
        let labels = definition.labels_mut();
        labels.insert(
            label::PROVIDER.to_owned(),
            "infrastructure-remuda".to_owned(),
        );
        assert!(!belongs_upstream(&definition));
        let labels = definition.labels_mut();
        labels.insert(label::PROVIDER.to_owned(), UPSTREAM.to_owned());
        assert!(belongs_upstream(&definition));
    }
}
