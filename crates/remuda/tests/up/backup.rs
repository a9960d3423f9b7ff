//! `remuda backup` and `remuda restore`, with a server that runs and without.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use super::running::{Running, remuda};

fn backup(data: &Path, file: &Path) -> Output {
    let mut command = remuda();
    command.arg("backup").arg(file).arg("--data-dir").arg(data);
    command.output().unwrap()
}

fn restore(file: &Path, data: &Path, keys: Option<&Path>) -> Output {
    let mut command = remuda();
    command.arg("restore").arg(file).arg("--data-dir").arg(data);
    if let Some(keys) = keys {
        command.arg("--key-file").arg(keys);
    }
    command.output().unwrap()
}

fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn what_is_backed_up_comes_back() {
    let mut running = Running::start();
    let Some(kubectl) = running.kubectl() else {
        return;
    };
    kubectl.run(&["create", "configmap", "kept", "--from-literal=a=b"]);
    let secret = "--from-literal=password=correct-horse-battery";
    kubectl.run(&["create", "secret", "generic", "sealed", secret]);
    let uid = ["get", "configmap", "kept", "-o", "jsonpath={.metadata.uid}"];
    let before = kubectl.run(&uid);

    let (data, home) = (running.data(), running.home.path().to_owned());
    let (online, offline) = (home.join("online"), home.join("offline"));
    let said = succeeded(&backup(&data, &online));
    assert!(said.contains("store.key"), "{said}");
    let mode = fs::metadata(&online).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let bytes = fs::read(&online).unwrap();
    let holds = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    assert!(holds(b"configmaps") && holds(b"kept"));
    assert!(
        !holds(b"Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5"),
        "the Secret is sealed"
    );
    let text = refused(&backup(&data, &online));
    assert!(text.contains("overwrites nothing"), "{text}");

    running.kill();
    succeeded(&backup(&data, &offline));
    let text = refused(&restore(&offline, &data, None));
    assert!(text.contains("never overwrites"), "{text}");

    let copy = home.join("copy");
    let text = refused(&restore(&online, &copy, None));
    assert!(text.contains("store.key"), "{text}");
    let keys = data.join("api/store.key");
    let said = succeeded(&restore(&online, &copy, Some(&keys)));
    assert!(said.contains("remuda up --data-dir"), "{said}");
    fs::rename(&data, home.join("lost")).unwrap();
    fs::rename(&copy, &data).unwrap();
    running.start_again();
    let kubectl = running.kubectl().unwrap();
    assert_eq!(kubectl.run(&uid), before);
    let password = ["get", "secret", "sealed", "-o", "jsonpath={.data.password}"];
    assert_eq!(kubectl.run(&password), "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5");
}

#[test]
fn without_a_store_a_backup_says_where_it_looked() {
    let home = tempfile::tempdir().unwrap();
    let text = refused(&backup(home.path(), &home.path().join("file")));
    assert!(text.contains("holds no store"), "{text}");
    assert!(text.contains(&home.path().display().to_string()), "{text}");
}

#[test]
fn the_help_says_that_the_key_file_is_needed() {
    for command in ["backup", "restore"] {
        let output = Command::new(env!("CARGO_BIN_EXE_remuda"))
            .args([command, "--help"])
            .output()
            .unwrap();
        let text = succeeded(&output);
        assert!(text.contains("key file"), "{text}");
    }
}
