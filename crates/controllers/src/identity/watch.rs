//! What wakes an identity: itself, and what may use one.

use std::hash::{DefaultHasher, Hash, Hasher};

use kube::{api::DynamicObject, runtime::reflector::Store};
use tokio::sync::mpsc;

use crate::{
    kinds::Kind,
    watching::{ObjectKey, Route, intent, itself, parts},
};

/// The routes into the identities' queue: the kind watched and the route.
pub(crate) fn routes(
    queue: &mpsc::UnboundedSender<ObjectKey>,
    identities: &Store<DynamicObject>,
) -> Vec<(Kind, Option<&'static str>, Route)> {
    let everyone = |identities: Store<DynamicObject>| {
        move |_: &DynamicObject| {
            identities
                .state()
                .iter()
                .map(|identity| ObjectKey::of(identity))
                .collect()
        }
    };
    vec![
        (
            Kind::TerraformClusterIdentity,
            None,
            Route::new(queue, intent, itself),
        ),
        (
            Kind::TerraformMachinePool,
            None,
            Route::new(queue, uses, everyone(identities.clone())),
        ),
        (
            Kind::TerraformCluster,
            None,
            Route::new(queue, uses, everyone(identities.clone())),
        ),
    ]
}

/// What of a pool or a cluster says which identity it uses.
fn uses(object: &DynamicObject) -> u64 {
    let metadata = &object.metadata;
    let deleted = metadata.deletion_timestamp.as_ref().map(|time| time.0);
    let mut hasher = DefaultHasher::new();
    (&metadata.uid, &metadata.labels, deleted).hash(&mut hasher);
    parts(object, &["/spec/identityRef", "/spec/defaults/identityRef"]).hash(&mut hasher);
    hasher.finish()
}
