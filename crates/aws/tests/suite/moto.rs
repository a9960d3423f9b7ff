//! The scenarios that moto can carry, on moto.

use std::{future::Future, pin::Pin};

use crate::harness::{World, moto::Moto};

/// A scenario by name.
pub type Scenario = (
    &'static str,
    fn(World) -> Pin<Box<dyn Future<Output = ()> + Send>>,
);

/// Declares scenarios that hold on both targets: each becomes a test on the simulator in virtual
/// time, and an entry of `ON_MOTO`.
macro_rules! on_both {
    ($($(#[doc = $doc:literal])* #[test] async fn $name:ident($world:ident: World) $body:block)*) => {
        $(
            mod $name {
                #[allow(unused_imports, reason = "not every scenario uses all")]
                use super::*;
                pub(super) async fn scenario($world: World) $body
                $(#[doc = $doc])*
                #[tokio::test(start_paused = true)]
                async fn on_the_simulator() {
                    scenario(World::simulated()).await;
                }
            }
        )*
        /// The scenarios of this file.
        pub const ON_MOTO: &[crate::moto::Scenario] = &[
            $((stringify!($name), |world| Box::pin($name::scenario(world))),)*
        ];
    };
}
pub(crate) use on_both;

#[tokio::test]
async fn the_suite_holds_on_moto() {
    let Some(moto) = Moto::start().await else {
        eprintln!("skipped: REMUDA_MOTO_PYTHON does not name a python that has moto[server]");
        return;
    };
    let only = std::env::var("REMUDA_MOTO_ONLY").ok();
    let mut failed = Vec::new();
    let files = [
        crate::capacity::ON_MOTO,
        crate::template::ON_MOTO,
        crate::lifecycle::ON_MOTO,
        crate::roll::ON_MOTO,
        crate::image::ON_MOTO,
        crate::membership::ON_MOTO,
        crate::teardown::ON_MOTO,
        crate::budget::ON_MOTO,
    ];
    for (name, scenario) in files.concat() {
        if only
            .as_ref()
            .is_some_and(|only| !name.contains(only.as_str()))
        {
            continue;
        }
        let (wire, cluster, double) = moto.reset().await;
        let world = World::real_time(&wire, cluster);
        world.recorder.answer_with(Some(double));
        let started = std::time::Instant::now();
        let is_good = tokio::spawn(scenario(world)).await.is_ok();
        eprintln!(
            "{name}: {} in {:.1?}",
            if is_good { "ok" } else { "FAILED" },
            started.elapsed()
        );
        if !is_good {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "failed on moto: {failed:?}");
}
