//! What a refresh costs: ARM reads for 200 and 1,000 instances in one set, and for 100 pools of 10
//! in one group, on the simulator with pages of 100; figures from its journal.
//!
//! Run it with `cargo bench -p remuda-azure --bench sweep --profile dev`. It fails when a refresh
//! takes more calls than the document allows (Azure document 11).
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use remuda_azure::{AzureBackend, Options};
use remuda_cloud::{Credentials, PoolBackend, PoolSession, backend::CredentialSource};
use remuda_plan::{
    azure::{
        action,
        desired::{CustomData, Model, Network, OsDisk, SetSpec},
        image::ImageReference,
        observed::{self, SetHandle},
        place::Place,
    },
    driver::{Handle, Observed},
    pool::{
        action::Action,
        read::{Depth, Freshness},
        secret::Secret,
    },
};
use remuda_sim::azure::{
    AzureSim, DEMO_CLIENT_ID, DEMO_CLIENT_SECRET, DEMO_GALLERY, DEMO_GROUP, DEMO_REGION,
    DEMO_SUBSCRIPTION, DEMO_TENANT, DEMO_WORKER_IDENTITY, DEMO_WORKER_SUBNET,
};

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime needs nothing that could be missing here");
    runtime.block_on(async {
        measure(1, 200, 6, 3).await;
        measure(1, 1_000, 22, 11).await;
        measure(100, 10, 202, 101).await;
    });
}

/// Fails when a full refresh takes more than `full` reads or a steady one more than `steady`.
async fn measure(pools: usize, members: i64, full: usize, steady: usize) {
    let sim = AzureSim::builder().demo();
    let backend = AzureBackend::new(Options::default().in_process(sim.router()));
    let session = backend
        .session(&credentials())
        .await
        .expect("the demo's credentials are usable");
    let mut handles = Vec::new();
    for number in 0..pools {
        let name = format!("pool-{number:03}-00000000");
        let handle = handle(&name);
        let set = Box::new(spec(&name));
        let create = Action::Azure(action::Action::CreateSet {
            set,
            capacity: members,
        });
        session.apply(&handle, &create).await.expect("a good set");
        handles.push(handle);
    }
    tokio::time::sleep(Duration::from_mins(10)).await;
    for (name, most) in [("full", full), ("steady", steady), ("steady", steady)] {
        sim.journal().clear();
        let depth = if name == "full" {
            Depth::Full
        } else {
            Depth::Members
        };
        let real_start = std::time::Instant::now();
        let seen = observe_all(&session, &handles, depth).await;
        let journal = sim.journal();
        let (reads, writes) = (journal.reads().len(), journal.writes().len());
        println!(
            "{pools} x {members}: {name} refresh {reads} reads, {writes} writes, {seen} members, \
             {:.0} ms, simulator included",
            real_start.elapsed().as_secs_f64() * 1_000.0,
        );
        assert_eq!(
            i64::try_from(seen),
            i64::try_from(pools).map(|pools| pools * members)
        );
        assert!(reads <= most, "more than {most} reads");
        tokio::time::sleep(Duration::from_secs(61)).await;
    }
}

async fn observe_all(session: &Arc<dyn PoolSession>, handles: &[Handle], depth: Depth) -> usize {
    let reads = handles
        .iter()
        .map(|handle| session.observe(handle, depth, Freshness::Steady));
    futures::future::join_all(reads)
        .await
        .into_iter()
        .map(|observed| {
            let Observed::Azure(observed) = observed.expect("nothing fails in this world") else {
                return 0;
            };
            let lists = observed.members.values();
            lists
                .map(|list| list.known().map_or(0, Vec::len))
                .sum::<usize>()
        })
        .sum()
}

fn credentials() -> Credentials {
    let key = |name: &str, value: &str| (name.to_owned(), Secret::new(value.into()));
    Credentials {
        cache_key: "bench".to_owned(),
        source: CredentialSource::Keys(BTreeMap::from([
            key("ARM_TENANT_ID", DEMO_TENANT),
            key("ARM_CLIENT_ID", DEMO_CLIENT_ID),
            key("ARM_CLIENT_SECRET", DEMO_CLIENT_SECRET),
        ])),
    }
}

fn handle(name: &str) -> Handle {
    let set = SetHandle {
        created: true,
        members: true,
    };
    Handle::Azure(observed::Handle {
        place: Place {
            subscription_id: DEMO_SUBSCRIPTION.to_owned(),
            resource_group_name: DEMO_GROUP.to_owned(),
            region: DEMO_REGION.to_owned(),
        },
        set_name: name.to_owned(),
        sets: BTreeMap::from([(name.to_owned(), set)]),
        ownership: BTreeMap::new(),
        operation: None,
        image: None,
    })
}

fn spec(name: &str) -> SetSpec {
    SetSpec {
        name: name.to_owned(),
        zones: ["1", "2", "3"].map(str::to_owned).into(),
        model: Model {
            vm_size: "Standard_D4s_v5".to_owned(),
            identity_ids: [DEMO_WORKER_IDENTITY.to_owned()].into(),
            admin_username: "captf".to_owned(),
            ssh_public_keys: ["ssh-ed25519 AAAA demo".to_owned()].into(),
            boot_diagnostics: true,
            network: Network {
                subnet_id: DEMO_WORKER_SUBNET.to_owned(),
                network_security_group_id: None,
                application_security_group_ids: std::collections::BTreeSet::new(),
                accelerated_networking: true,
                ip_forwarding: false,
            },
            image: ImageReference::Community(format!("{DEMO_GALLERY}/versions/1.34.1")),
            os_disk: OsDisk {
                size_gib: 128,
                storage_account_type: "Premium_LRS".to_owned(),
            },
            encryption_at_host: false,
            trusted_launch: false,
            spot: false,
        },
        custom_data: CustomData {
            base64: Secret::new("I2Nsb3VkLWNvbmZpZwo=".to_owned()),
            sha256: String::new(),
        },
        tags: BTreeMap::new(),
    }
}
