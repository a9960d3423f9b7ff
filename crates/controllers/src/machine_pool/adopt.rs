//! A MachinePool's place among its objects: under its Cluster, over its infrastructure object and
//! bootstrap config.

use super::gather::Gathered;
use crate::{
    adopt::{self, Adopter},
    context::Context,
    kinds::Kind,
    objects::ApiError,
};

/// Makes the Cluster an owner of the MachinePool, and the MachinePool the controller of its
/// infrastructure object and bootstrap config.
///
/// # Errors
/// One of them is somebody else's, or a write failed.
pub(super) async fn ownership(gathered: &Gathered, ctx: &Context) -> Result<(), ApiError> {
    let metadata = &gathered.pool.metadata;
    if let Some(cluster) = &gathered.cluster {
        let (live, cluster) = (&gathered.live, &cluster.metadata);
        adopt::join(Kind::MachinePool, live, metadata, cluster, true, ctx).await?;
    }
    let adopter = Adopter {
        kind: Kind::MachinePool,
        metadata,
        cluster: &gathered.pool.spec.cluster_name,
        frees: |_| false,
    };
    for referenced in [&gathered.infra, &gathered.config].into_iter().flatten() {
        adopter.control(referenced, ctx).await?;
    }
    Ok(())
}
