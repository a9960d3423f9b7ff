//! End to end, as a cluster's administrator has it: `remuda install --apply`, a manager with the
//! rights of its ServiceAccount and no others, and a pool from its first machine to its end.
//!
//! The same against the embedded API and against a genuine API server, where there is one.

use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::ServiceAccount,
};
use kube::{Api, api::PostParams};
use remuda_controllers::kinds::Kind;
use serde_json::Value;

use crate::{
    genuine,
    pages::{Reader, repository, steps},
    place::{self, Manager, PATIENCE, POOL, Place, SYSTEM, free_port, status_of, until},
};

/// Applies what `remuda install` prints; a server without `policy/v1` (before Kubernetes 1.21) has
/// no place for the disruption budget.
async fn install(place: &Place) {
    let client = place.objects.client();
    let groups = client.list_api_groups().await.unwrap().groups;
    let budgets = groups.iter().filter(|group| group.name == "policy");
    let mut versions = budgets.flat_map(|group| &group.versions);
    let has_budgets = versions.any(|version| version.version == "v1");
    let first = place.remuda(&["install", "--apply"]);
    let said = String::from_utf8_lossy(&first.stderr).into_owned();
    if !has_budgets {
        println!("this server has no policy/v1: all but the disruption budget is applied");
        let refusal = " objects could not be applied:\npoddisruptionbudget/remuda-manager";
        assert!(
            said.contains("error: 1 of ") && said.contains(refusal),
            "{said}"
        );
        return;
    }
    assert!(first.status.success(), "{said}");
    assert!(
        said.contains("deployment/remuda-manager: created"),
        "{said}"
    );
    let again = place.remuda(&["install", "--apply"]);
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.success(), "{said}");
    assert!(
        !said.contains("created") && !said.contains("configured"),
        "{said}"
    );
}

/// A manager as its ServiceAccount, with a token of it.
async fn manager(place: &Place) -> Manager {
    let accounts: Api<ServiceAccount> = Api::namespaced(place.objects.client(), SYSTEM);
    let request = TokenRequest {
        spec: TokenRequestSpec {
            expiration_seconds: Some(3_600),
            ..TokenRequestSpec::default()
        },
        ..TokenRequest::default()
    };
    let token = accounts
        .create_token_request("remuda-manager", &PostParams::default(), &request)
        .await
        .unwrap();
    let kubeconfig = place.kubeconfig_with(&token.status.unwrap().token);
    let health = free_port();
    let address = format!("127.0.0.1:{health}");
    let arguments = [
        "--system-namespace",
        SYSTEM,
        "--health-addr",
        &address,
        "--webhook-port",
        "0",
        "--webhook-host",
        "127.0.0.1",
    ];
    let manager = place.manager_as(&kubeconfig, &arguments);
    until("its webhooks can be called", PATIENCE, async || {
        status_of(health, "/readyz").await == Some(200)
    })
    .await;
    manager
}

/// A pool with Machines comes, grows, loses a machine, and goes.
async fn life(place: &Place) {
    place.demo().await;
    until("the pool runs with three Nodes", PATIENCE, async || {
        place.is_running(POOL, 3).await
    })
    .await;
    let machines = place.list(Kind::Machine).await;
    assert_eq!(machines.len(), 3);
    place.scale(POOL, 4).await;
    until("it has four", PATIENCE, async || {
        place.is_running(POOL, 4).await
    })
    .await;
    let one = machines[0]["metadata"]["name"].as_str().unwrap();
    place.delete(Kind::Machine, one).await;
    until("the machine is gone and replaced", PATIENCE, async || {
        place.get(Kind::Machine, one).await.is_none() && place.is_running(POOL, 4).await
    })
    .await;
    place.delete(Kind::MachinePool, POOL).await;
    until("the pool is gone", PATIENCE, async || {
        place.get(Kind::MachinePool, POOL).await.is_none()
    })
    .await;
    assert_eq!(place.list(Kind::Machine).await, [Value::Null; 0]);
    assert!(place.aws.world().groups().is_empty(), "no group is left");
    assert_eq!(place.alive(), 0, "no instance is left");
    assert_eq!(place.calls("autoscaling:CreateAutoScalingGroup"), 1);
}

async fn end_to_end(place: &Place) {
    install(place).await;
    let mut manager = manager(place).await;
    life(place).await;
    let said = manager.said();
    let refusals: Vec<&str> = said
        .lines()
        .filter(|line| line.contains(" cannot "))
        .collect();
    assert_eq!(refusals, [""; 0], "everything it asked was allowed");
    assert!(manager.terminate(), "it ends well");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installed_manager_runs_pools_with_the_rights_it_was_given() {
    end_to_end(&Place::embedded().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn and_so_it_does_against_a_genuine_api_server() {
    let Some(genuine) = genuine::find().await else {
        println!("skipped: {}", genuine::HOW);
        return;
    };
    end_to_end(&Place::genuine(genuine).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_says_what_would_come_and_changes_nothing() {
    let place = Place::embedded().await;
    let tried = place.remuda(&["install", "--apply", "--dry-run"]);
    let said = String::from_utf8_lossy(&tried.stderr).into_owned();
    assert!(tried.status.success(), "{said}");
    assert!(
        said.contains("deployment/remuda-manager: created, with its namespace"),
        "{said}"
    );
    let kinds = Kind::CustomResourceDefinition.resource();
    let found = place.objects.list_of(&kinds, None, "").await.unwrap();
    assert!(found.is_empty(), "nothing was made");
}

/// The page about installing, to the letter: each way on a server of its own, for they are ways to
/// the same.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_about_installing_is_followed() {
    if !place::has_kubectl() {
        println!("skipped: kubectl (1.29 or newer) is not in PATH");
        return;
    }
    let page = "docs/howto/install.md";
    let text = std::fs::read_to_string(repository().join(page)).unwrap();
    let mut ways = 0;
    for way in text.split("\n## ").filter(|it| !steps(it).is_empty()) {
        let place = Place::embedded().await;
        let home = tempfile::tempdir().unwrap();
        let deploy = repository().join("deploy").canonicalize().unwrap();
        std::os::unix::fs::symlink(deploy, home.path().join("deploy")).unwrap();
        let reader = Reader {
            home: home.path().to_owned(),
            variables: vec![
                ("KUBECONFIG", place.kubeconfig()),
                ("HOME", home.path().to_owned()),
            ],
        };
        let followed = tokio::task::spawn_blocking({
            let way = way.to_owned();
            move || reader.follow(page, &way)
        });
        followed.await.unwrap();
        ways += 1;
    }
    assert!(ways >= 4, "{ways}");
}
