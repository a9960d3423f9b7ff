//! The data directory: kept over a crash, refused when it is in use or broken.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, process::Command};

use super::running::{Running, remuda};

fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_was_there_is_there_after_a_kill() {
    let mut running = Running::start();
    let Some(kubectl) = running.kubectl() else {
        return;
    };
    kubectl.run(&["create", "configmap", "kept", "--from-literal=a=b"]);
    let uid = ["get", "configmap", "kept", "-o", "jsonpath={.metadata.uid}"];
    let before = kubectl.run(&uid);
    running.kill_and_restart();
    assert_eq!(running.kubectl().unwrap().run(&uid), before);
}

#[test]
fn machines_outlive_a_kill() {
    let mut running = Running::start();
    if running.kubectl().is_none() {
        return;
    }
    let before = machines(&running);
    assert_eq!(before.len(), 6, "{before:?}");
    running.kill_and_restart();
    assert_eq!(machines(&running), before);

    let kubectl = running.kubectl().unwrap();
    let pool = ["machinepool", "demo-pool-0", "-n", "team-a"];
    kubectl.run(&[&["scale"], &pool[..], &["--replicas", "4"]].concat());
    let nodes = ["-o", "jsonpath={.status.readyReplicas}"];
    kubectl.until(&[&["get"], &pool[..], &nodes].concat(), |ready| {
        ready == "4"
    });
    let after = machines(&running);
    assert_eq!(after.len(), 7, "{after:?}");
    assert!(before.is_subset(&after), "{before:?} {after:?}");
}

#[test]
fn a_cloud_that_cannot_be_restored_is_named_and_left_as_it_is() {
    let mut running = Running::start();
    running.kill();
    let data = running.data();
    let file = data.join("aws.json");
    let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "it holds the keys of the simulated account");
    for content in ["garbage", r#"{"format":4711}"#] {
        fs::write(&file, content).unwrap();
        let text = refused(remuda().args(["up", "--data-dir"]).arg(&data));
        assert!(text.contains(&file.display().to_string()), "{text}");
        assert!(text.contains("Move the file away"), "{text}");
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            content,
            "nothing is overwritten"
        );
    }
}

#[test]
fn a_second_process_is_told_that_the_directory_is_in_use() {
    let running = Running::start();
    let text = refused(remuda().args(["up", "--data-dir"]).arg(running.data()));
    assert!(
        text.contains(&running.data().display().to_string()),
        "{text}"
    );
    assert!(text.contains("use"), "{text}");
}

#[test]
fn a_corrupt_store_is_named_and_left_as_it_is() {
    let running = Running::start();
    let data = running.data();
    let store = store_file(&data);
    let home = tempfile::tempdir().unwrap();
    let copy = home.path().join("data");
    drop_and_copy(running, &data, &copy);
    let store = copy.join(store);
    let garbage = vec![0x5a; 8192];
    fs::write(&store, &garbage).unwrap();

    let text = refused(remuda().args(["up", "--data-dir"]).arg(&copy));
    assert!(text.contains(&copy.display().to_string()), "{text}");
    assert_eq!(fs::read(&store).unwrap(), garbage, "nothing is overwritten");
}

#[test]
fn keys_and_kubeconfig_are_for_their_owner_only() {
    let running = Running::start();
    let mode = |name: &str| {
        fs::metadata(running.data().join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode("kubeconfig"), 0o600);
    assert_eq!(mode("api/store.key"), 0o600);
    assert_eq!(mode(""), 0o700);
}

#[test]
fn a_directory_that_others_can_read_is_refused_with_the_remedy() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    let text = refused(remuda().args(["up", "--data-dir"]).arg(&data));
    let remedy = format!("chmod 700 {}", data.display());
    assert!(text.contains(&remedy), "{text}");
    assert_eq!(
        fs::read_dir(&data).unwrap().count(),
        0,
        "nothing was written"
    );
}

/// Ids of the machines of the demo's pools whose nodes are Ready.
fn machines(running: &Running) -> BTreeSet<String> {
    let output = running.remuda(&["get", "machines", "-n", "team-a", "-o", "json"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let pools: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let pools = pools["items"].as_array().unwrap().iter();
    let ready = pools
        .flat_map(|pool| pool["machines"].as_array().unwrap())
        .filter(|machine| machine["node"]["ready"] == true);
    ready
        .map(|machine| machine["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Path of the store's one database file below the data directory.
fn store_file(data: &std::path::Path) -> std::path::PathBuf {
    let api = data.join("api");
    let database = fs::read_dir(&api)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.extension()
                .is_some_and(|extension| extension == "redb")
        })
        .expect("the store has a database file");
    database.strip_prefix(data).unwrap().to_owned()
}

fn drop_and_copy(running: Running, from: &std::path::Path, to: &std::path::Path) {
    let status = Command::new("cp")
        .arg("-a")
        .arg(from)
        .arg(to)
        .status()
        .unwrap();
    assert!(status.success());
    drop(running);
}
