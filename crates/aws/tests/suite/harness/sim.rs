//! The simulator as a target: in process, in virtual time.

use std::{collections::BTreeMap, convert::Infallible, time::SystemTime};

use aws_smithy_async::time::TimeSource;
use http::Request;
use http_body_util::{BodyExt, Full};
use remuda_sim::{SimClock, aws::AwsSim};
use tower::{ServiceExt, service_fn, util::BoxCloneSyncService};

use super::{
    demo::{Cluster, WORKER_GROUP},
    wire::Wire,
};

/// The newest `x86_64` image of DEMO's version in the simulated world.
pub const NEWEST_IMAGE: &str = "ami-01a00000000000864";

/// The world's clock as the backend's wall clock.
#[derive(Debug, Clone)]
pub struct WorldTime(pub SimClock);

impl TimeSource for WorldTime {
    fn now(&self) -> SystemTime {
        SystemTime::from(self.0.now())
    }
}

/// Whole requests in, whole answers out.
pub fn wire(sim: &AwsSim) -> Wire {
    let router = sim.router();
    BoxCloneSyncService::new(service_fn(move |request: Request<Full<bytes::Bytes>>| {
        let router = router.clone();
        async move {
            let answer = router.oneshot(request).await?;
            let (parts, body) = answer.into_parts();
            // A connection that breaks shows as a body that does.
            let answer = match body.collect().await {
                Ok(body) => http::Response::from_parts(parts, Full::new(body.to_bytes())),
                Err(_) => http::Response::builder()
                    .status(599)
                    .body(Full::default())
                    .expect("a status makes a response"),
            };
            Ok::<_, Infallible>(answer)
        }
    }))
}

/// DEMO's surroundings in the simulated world.
pub fn cluster() -> Cluster {
    let zones = [
        ("us-east-1a", "subnet-0aaa0000000000001"),
        ("us-east-1b", "subnet-0bbb0000000000002"),
        ("us-east-1c", "subnet-0ccc0000000000003"),
        ("us-east-1d", "subnet-0ddd0000000000004"),
    ];
    Cluster {
        zones: zones
            .into_iter()
            .map(|(zone, subnet)| (zone.to_owned(), subnet.to_owned()))
            .collect::<BTreeMap<_, _>>(),
        worker_group: WORKER_GROUP.to_owned(),
        newest_image: NEWEST_IMAGE.to_owned(),
    }
}
