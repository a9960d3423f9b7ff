//! What a decision needs to know beyond the review. A read that failed is told, never guessed.

use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::{Api, api::PostParams};
use remuda_api::keys::label;
use remuda_plan::admission::{
    Facts, Kind,
    facts::{MachineFacts, Question, identity_users},
    not_deletable,
};
use serde_json::{Value, json};

use super::{Inner, Review};
use crate::{
    kinds,
    objects::{ApiError, LiveObjects, Objects},
};

/// Answers the questions.
pub(super) async fn facts(
    questions: &[Question],
    kind: Kind,
    review: &Review<'_>,
    admission: &Inner,
) -> Facts {
    let mut facts = Facts::default();
    for question in questions {
        match question {
            Question::MayReadSecret { namespace, name } => {
                let user = &review.request["userInfo"];
                let known = may_get_secret(user, namespace, name, &admission.objects).await;
                facts.may_read_secret = Some(known);
            }
            Question::UsersOfIdentity { name } => {
                let known = users(name, review.old_object, &admission.objects).await;
                facts.identity_users = Some(known.map_err(|error| error.to_string()));
            }
            Question::Machine => {
                let known = machine(kind, review.old_object, admission).await;
                facts.machine = Some(known.map_err(|error| error.to_string()));
            }
        }
    }
    facts
}

async fn may_get_secret(
    user: &Value,
    namespace: &str,
    name: &str,
    objects: &LiveObjects,
) -> Result<bool, String> {
    let mut spec = json!({
        "user": user["username"],
        "uid": user["uid"],
        "groups": user["groups"],
        "extra": user["extra"],
        "resourceAttributes": {
            "verb": "get", "version": "v1", "resource": "secrets",
            "namespace": namespace, "name": name,
        },
    });
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    let review = json!({ "metadata": {}, "spec": spec });
    let review: SubjectAccessReview =
        serde_json::from_value(review).map_err(|error| error.to_string())?;
    let reviews: Api<SubjectAccessReview> = Api::all(objects.client());
    let answer = reviews
        .create(&PostParams::default(), &review)
        .await
        .map_err(|error| error.to_string())?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

async fn users(
    identity: &str,
    stored: &Value,
    objects: &LiveObjects,
) -> Result<Vec<String>, ApiError> {
    let pools = objects
        .list(kinds::Kind::TerraformMachinePool, "", "")
        .await?;
    let clusters = objects.list(kinds::Kind::Cluster, "", "").await?;
    let infra_clusters = objects.list(kinds::Kind::TerraformCluster, "", "").await?;
    let mut users = identity_users(identity, &pools, &clusters, &infra_clusters);
    // Objects of kinds that only captf's own manager knows are counted there.
    if users.is_empty() {
        let namespaces = stored["status"]["namespaces"].as_array();
        let names = namespaces.into_iter().flatten().filter_map(Value::as_str);
        users.extend(names.map(|name| format!("namespace {name}")));
    }
    Ok(users)
}

async fn machine(kind: Kind, machine: &Value, admission: &Inner) -> Result<MachineFacts, ApiError> {
    let own = not_deletable(machine).map(str::to_owned);
    let of_infra = match kind {
        Kind::Machine => infrastructure(machine, admission).await?,
        _ => None,
    };
    let not_deletable = own.or(of_infra);
    let goes_with_its_pool = not_deletable.is_some() && goes(machine, &admission.objects).await?;
    Ok(MachineFacts {
        not_deletable,
        goes_with_its_pool,
    })
}

/// Why the infrastructure of a Machine can't be ended alone, if it says so.
async fn infrastructure(machine: &Value, admission: &Inner) -> Result<Option<String>, ApiError> {
    let reference = &machine["spec"]["infrastructureRef"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, kind) = (text(&reference["apiGroup"]), text(&reference["kind"]));
    let (namespace, name) = (
        text(&machine["metadata"]["namespace"]),
        text(&reference["name"]),
    );
    let resolved = admission
        .contracts
        .resolve(&admission.objects, &group, &kind)
        .await;
    let resource = match resolved {
        Ok(resource) => resource,
        // A kind that is not there any more has no objects that could say anything.
        Err(ApiError::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let infra = admission
        .objects
        .get_of(&resource, Some(&namespace), &name)
        .await?;
    if infra.is_none() {
        admission.contracts.forget(&group, &kind);
    }
    Ok(infra.as_ref().and_then(not_deletable).map(str::to_owned))
}

/// Whether the pool or the Cluster of a Machine is being deleted, or is gone.
async fn goes(machine: &Value, objects: &LiveObjects) -> Result<bool, ApiError> {
    let metadata = &machine["metadata"];
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    let owners = metadata["ownerReferences"].as_array();
    let pool = owners.into_iter().flatten().find_map(|owner| {
        let name = owner["name"].as_str()?;
        (owner["kind"] == "MachinePool").then_some(name)
    });
    // A label that had to be hashed is no name.
    let labelled = metadata["labels"][label::POOL_NAME].as_str();
    let pool = pool.or(labelled.filter(|name| !name.starts_with("hash_")));
    let cluster = machine["spec"]["clusterName"]
        .as_str()
        .or(metadata["labels"][label::CLUSTER_NAME].as_str());
    for (kind, name) in [
        (kinds::Kind::MachinePool, pool),
        (kinds::Kind::Cluster, cluster),
    ] {
        let Some(name) = name else {
            continue;
        };
        let found = objects.get(kind, namespace, name).await?;
        if found.is_none_or(|it| !it["metadata"]["deletionTimestamp"].is_null()) {
            return Ok(true);
        }
    }
    Ok(false)
}
