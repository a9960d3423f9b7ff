//! Requests for external remediation: one object a Machine, made from a template, under the
//! Machine's name.

use kube::core::{ApiResource, GroupVersionKind};
use remuda_api::keys::{annotation, label};
use remuda_plan::machines::{
    remediation::{
        Reason,
        check::{Report, external_mark},
    },
    view::{EXTERNALLY_REMEDIATED, MachineView},
};
use serde_json::{Value, json};

use super::{
    gather::{Checked, Gathered},
    objects::TemplateRef,
};
use crate::{
    context::{Context, FIELD_MANAGER},
    contract,
    kinds::Kind,
    machine_conditions,
    objects::ApiError,
};

/// Makes the requests that are due and takes back those of Machines that are well again. The first
/// failure is returned after all were tried.
pub(super) async fn settle(
    gathered: &Gathered,
    report: &Report,
    ctx: &Context,
) -> Result<(), ApiError> {
    let Some(reference) = &gathered.check.spec.remediation.template_ref else {
        return Ok(());
    };
    let mut outcome = Ok(());
    let named =
        |names: &[String], checked: &Checked| names.contains(&checked.target.machine.metadata.name);
    for checked in &gathered.targets {
        if named(&report.requests, checked) {
            outcome = outcome.and(request(gathered, checked, reference, ctx).await);
        } else if named(&report.recovered, checked)
            && checked
                .target
                .machine
                .condition(EXTERNALLY_REMEDIATED)
                .is_some()
        {
            outcome = outcome.and(take_back(checked, reference, ctx).await);
        }
    }
    outcome
}

fn resource(reference: &TemplateRef, kind: &str) -> ApiResource {
    let (group, version) = reference
        .api_version
        .split_once('/')
        .unwrap_or(("", reference.api_version.as_str()));
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(group, version, kind),
        &contract::plural(kind),
    )
}

/// The kind that a template is a template of.
fn made_kind(reference: &TemplateRef) -> &str {
    let kind = reference.kind.as_str();
    kind.strip_suffix("Template").unwrap_or(kind)
}

async fn request(
    gathered: &Gathered,
    checked: &Checked,
    reference: &TemplateRef,
    ctx: &Context,
) -> Result<(), ApiError> {
    let machine = &checked.target.machine;
    let namespace = &machine.metadata.namespace;
    let made = resource(reference, made_kind(reference));
    let there = ctx
        .objects
        .get_of(&made, Some(namespace), &machine.metadata.name)
        .await?;
    if there.is_some() {
        return waiting(checked, ctx).await;
    }
    let template = ctx
        .objects
        .get_of(
            &resource(reference, &reference.kind),
            Some(namespace),
            &reference.name,
        )
        .await?;
    let Some(template) = template else {
        let what = format!("the {} {} does not exist", reference.kind, reference.name);
        mark(checked, Reason::RemediationTemplateNotFound, &what, ctx).await?;
        return Err(ApiError::NotFound(format!(
            "the {} {namespace}/{}",
            reference.kind, reference.name
        )));
    };
    let body = body(gathered, machine, reference, &made, &template);
    let created = ctx
        .objects
        .create(&made, Some(namespace), &body, FIELD_MANAGER)
        .await;
    match created {
        Ok(_) | Err(ApiError::AlreadyExists(_)) => waiting(checked, ctx).await,
        Err(error) => {
            let reason = Reason::RemediationRequestCreationFailed;
            mark(checked, reason, &error.to_string(), ctx).await?;
            Err(error)
        }
    }
}

fn body(
    gathered: &Gathered,
    machine: &MachineView,
    reference: &TemplateRef,
    made: &ApiResource,
    template: &Value,
) -> Value {
    let part = |pointer: &str| template.pointer(pointer).cloned();
    let map = |pointer: &str| {
        part(pointer)
            .filter(Value::is_object)
            .unwrap_or_else(|| json!({}))
    };
    let mut labels = map("/spec/template/metadata/labels");
    labels[label::CLUSTER_NAME] = Value::from(gathered.check.spec.cluster_name.clone());
    let mut annotations = map("/spec/template/metadata/annotations");
    annotations[annotation::CLONED_FROM_NAME] = Value::from(reference.name.clone());
    annotations[annotation::CLONED_FROM_GROUP_KIND] =
        Value::from(format!("{}.{}", reference.kind, made.group));
    json!({
        "apiVersion": made.api_version,
        "kind": made.kind,
        "metadata": {
            "name": machine.metadata.name,
            "namespace": machine.metadata.namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [{
                "apiVersion": Kind::Machine.resource().api_version,
                "kind": "Machine",
                "name": machine.metadata.name,
                "uid": machine.metadata.uid,
            }],
        },
        "spec": part("/spec/template/spec").unwrap_or_else(|| json!({})),
    })
}

/// The request is there; what its controller has written since is not overwritten.
async fn waiting(checked: &Checked, ctx: &Context) -> Result<(), ApiError> {
    let known = checked.target.machine.condition(EXTERNALLY_REMEDIATED);
    let waits = Reason::WaitingForRemediation;
    if known.is_some_and(|known| known.reason == waits.as_str()) {
        return Ok(());
    }
    let message = "the request for external remediation is there";
    mark(checked, waits, message, ctx).await
}

async fn mark(
    checked: &Checked,
    reason: Reason,
    message: &str,
    ctx: &Context,
) -> Result<(), ApiError> {
    let metadata = &checked.target.machine.metadata;
    let mark = external_mark(&metadata.name, reason, message);
    write(checked, &[machine_conditions::wanted(&mark)], &[], ctx).await
}

/// The Machine may have been marked a moment ago: its conditions are read again.
async fn write(
    checked: &Checked,
    wanted: &[crate::conditions::Wanted],
    removed: &[&str],
    ctx: &Context,
) -> Result<(), ApiError> {
    let metadata = &checked.target.machine.metadata;
    let resource = Kind::Machine.resource();
    let live = ctx
        .objects
        .get_of(&resource, Some(&metadata.namespace), &metadata.name)
        .await?;
    let Some(live) = live else {
        return Ok(());
    };
    let metadata = live
        .get("metadata")
        .and_then(|metadata| serde::Deserialize::deserialize(metadata).ok())
        .unwrap_or_default();
    machine_conditions::write(&live, &metadata, wanted, removed, ctx).await?;
    Ok(())
}

/// Deletes the request of a Machine that is well again, if it is the Machine's.
async fn take_back(
    checked: &Checked,
    reference: &TemplateRef,
    ctx: &Context,
) -> Result<(), ApiError> {
    let metadata = &checked.target.machine.metadata;
    let made = resource(reference, made_kind(reference));
    let namespace = Some(metadata.namespace.as_str());
    if let Some(there) = ctx.objects.get_of(&made, namespace, &metadata.name).await? {
        let owners = there.pointer("/metadata/ownerReferences");
        let owners = owners.and_then(Value::as_array).into_iter().flatten();
        if owners
            .into_iter()
            .any(|owner| owner["uid"] == metadata.uid.as_str())
        {
            let uid = there.pointer("/metadata/uid").and_then(Value::as_str);
            ctx.objects
                .delete(&made, namespace, &metadata.name, uid)
                .await?;
        }
    }
    write(checked, &[], &[EXTERNALLY_REMEDIATED], ctx).await
}
