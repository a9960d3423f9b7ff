//! The reads of each page. Only the object that a page is about has to be readable; what else is
//! not is left open on the page.

use jiff::Timestamp;
use kube::api::ListParams;
use remuda_api::keys::label;
use serde_json::Value;

use crate::{
    client::{Api, Refusal},
    kinds::Kind,
    object,
    view_model::{Known, Scene},
};

/// What the overview is made of: the MachinePools, and what belongs to them.
pub(crate) async fn overview(
    api: &Api,
    namespace: Option<&str>,
    now: Timestamp,
) -> Result<(Vec<Value>, Scene), Refusal> {
    let all = |kind| api.list(kind, namespace);
    let (pools, infra, machines, instances) = tokio::join!(
        all(Kind::MachinePool),
        all(Kind::TerraformMachinePool),
        all(Kind::Machine),
        all(Kind::TerraformMachinePoolMachine),
    );
    let scene = Scene {
        infra: known(infra)?,
        machines: known(machines)?,
        instances: known(instances)?,
        events: Known::All(Vec::new()),
        now,
    };
    Ok((pools?, scene))
}

/// What a pool's page is made of.
pub(crate) async fn pool(
    api: &Api,
    namespace: &str,
    name: &str,
    now: Timestamp,
) -> Result<(Value, Scene), Refusal> {
    let pool = api.get(Kind::MachinePool, namespace, name).await?;
    let of_cluster = ListParams::default().labels(&format!(
        "{}={}",
        label::CLUSTER_NAME,
        object::text(&pool, "/spec/clusterName").unwrap_or_default()
    ));
    let (infra, machines, instances) = tokio::join!(
        infra(api, &pool, namespace),
        api.list_as(Kind::Machine, Some(namespace), of_cluster.clone()),
        api.list_as(
            Kind::TerraformMachinePoolMachine,
            Some(namespace),
            of_cluster
        ),
    );
    let infra = infra?;
    let about: Vec<&Value> = std::iter::once(&pool).chain(infra.objects()).collect();
    let events = events(api, namespace, &about).await?;
    let scene = Scene {
        infra,
        machines: known(machines)?,
        instances: known(instances)?,
        events,
        now,
    };
    Ok((pool, scene))
}

/// What a Machine's page is made of.
pub(crate) async fn machine(
    api: &Api,
    namespace: &str,
    name: &str,
    now: Timestamp,
) -> Result<(Value, Scene), Refusal> {
    let machine = api.get(Kind::Machine, namespace, name).await?;
    let events = events(api, namespace, &[&machine]).await?;
    let scene = Scene {
        infra: Known::All(Vec::new()),
        machines: Known::All(Vec::new()),
        instances: Known::All(Vec::new()),
        events,
        now,
    };
    Ok((machine, scene))
}

async fn infra(api: &Api, pool: &Value, namespace: &str) -> Result<Known, Refusal> {
    let reference = pool.pointer("/spec/template/spec/infrastructureRef");
    let ours = reference.filter(|it| object::text(it, "/kind") == Some("TerraformMachinePool"));
    let Some(name) = ours.and_then(|it| object::text(it, "/name")) else {
        return Ok(Known::All(Vec::new()));
    };
    match api.get(Kind::TerraformMachinePool, namespace, name).await {
        Ok(infra) => Ok(Known::All(vec![infra])),
        Err(Refusal::Missing) => Ok(Known::All(Vec::new())),
        Err(other) => known(Err(other)),
    }
}

/// Events about some objects: asked for one by one, since a namespace may hold very many.
async fn events(api: &Api, namespace: &str, about: &[&Value]) -> Result<Known, Refusal> {
    let asked = about
        .iter()
        .filter_map(|object| object::uid(object))
        .map(|uid| {
            let of_one = ListParams::default().fields(&format!("regarding.uid={uid}"));
            api.list_as(Kind::Event, Some(namespace), of_one)
        });
    let mut events = Vec::new();
    for answer in futures::future::join_all(asked).await {
        match known(answer)? {
            Known::All(some) => events.extend(some),
            other => return Ok(other),
        }
    }
    Ok(Known::All(events))
}

/// A read that a page can do without. A token that is not valid is the only failure.
fn known(read: Result<Vec<Value>, Refusal>) -> Result<Known, Refusal> {
    match read {
        Ok(objects) => Ok(Known::All(objects)),
        Err(Refusal::Missing) => Ok(Known::NotServed),
        Err(Refusal::SignIn) => Err(Refusal::SignIn),
        Err(other) => Ok(Known::Unknown(other.to_string())),
    }
}
