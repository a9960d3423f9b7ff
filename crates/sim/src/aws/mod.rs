//! A simulated AWS: Auto Scaling, EC2, S3 and STS at the wire, over one world.
//!
//! ```text
//! router ── service  authenticate, fault?, dispatch, journal
//!              ├─ protocol     signatures, parameters, XML, refusals
//!              ├─ autoscaling  ec2  s3  sts      one folder a service
//!              └─ state        the world: time, events, capacity, estates
//! world  ── the hands on it, for tests; control ── the same as JSON, for people
//! ```
//!
//! The world moves when somebody looks: each request first handles the events due by then.
//! [`AwsSim::run_nodes`] also moves it in the background, since nodes act by themselves.

mod autoscaling;
mod control;
mod demo;
mod ec2;
mod protocol;
mod s3;
mod saved;
mod service;
mod state;
mod sts;
mod world;

use std::sync::Arc;

use axum::{Router, extract::Request, response::Response};
use tokio::task::JoinHandle;

pub use demo::{
    DEMO_ACCESS_KEY_ID, DEMO_ACCOUNT, DEMO_BUCKET, DEMO_CONTROLLER_ROLE_ARN, DEMO_REGION,
    DEMO_SECRET_ACCESS_KEY, DEMO_WORKER_PROFILE,
};
pub use ec2::instance::InstanceState;
pub(crate) use ec2::instance::vcpus;
pub(crate) use protocol::sigv4::Signer;
pub use state::Timing;
pub(crate) use state::{State, region::Image};
pub use world::{
    GroupInfo, ImageSpec, InstanceInfo, MemberInfo, PlacedInstance, SubnetSpec, TemplateInfo, World,
};

use self::state::Fabric;
use crate::{
    Faults, RestoreError, Sim,
    cloud::Cloud,
    events::EventQueue,
    kubelet::{self, NodeOptions, WorkloadApis},
    sim::{SimBuilder, Simulated, Start},
};

/// A simulated AWS. Clones share the world.
pub type AwsSim = Sim<Aws>;

/// What an [`AwsSim`] is made of.
pub type AwsSimBuilder = SimBuilder<Aws>;

pub(crate) type Inner = Cloud<State>;

/// What AWS adds to a simulated cloud.
#[derive(Debug)]
pub struct Aws;

impl Simulated for Aws {
    const NAME: &'static str = "AWS";
    type Timing = Timing;
    type Behaviour = ();
    type State = State;

    fn timing(immediate: bool) -> Timing {
        if immediate {
            Timing::immediate()
        } else {
            Timing::realistic()
        }
    }

    fn begin(start: Start<Self>) -> State {
        State::new(fabric(start))
    }

    fn restore(start: Start<Self>, saved: &[u8]) -> Result<State, RestoreError> {
        saved::restore(fabric(start), saved)
    }

    fn save(state: &State) -> Vec<u8> {
        saved::save(state)
    }

    /// Region, zones, subnets, security groups, profile, bucket, images and one account key.
    fn furnish(sim: &AwsSim) {
        demo::furnish(&sim.world());
    }

    async fn serve(cloud: Arc<Inner>, request: Request) -> Response {
        service::serve(cloud, request).await
    }

    fn control(sim: &AwsSim) -> Router {
        control::router(sim)
    }

    fn run(sim: AwsSim, apis: Arc<dyn WorkloadApis>, options: NodeOptions) -> JoinHandle<()> {
        kubelet::run(sim, apis, options)
    }
}

fn fabric(start: Start<Aws>) -> Fabric {
    Fabric {
        now: start.clock.now(),
        clock: start.clock,
        rng: start.random,
        timing: start.timing,
        events: EventQueue::default(),
        regions: std::collections::BTreeMap::new(),
        faults: Faults::default(),
        nodes: None,
    }
}

impl AwsSim {
    /// The hands on the world.
    pub fn world(&self) -> World {
        World::new(Arc::clone(&self.inner))
    }
}
