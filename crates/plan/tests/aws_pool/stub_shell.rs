//! The boot stub, run by a real `sh` in a root directory of its own, with a fake `aws` and a fake
//! `sleep`. The root is put in by replacing text: the shipped stub has no switch for it.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

use super::{
    bootstrap::gzip,
    demo::{Demo, demo},
};

const CONFIG: &str = "etc/cloud/cloud.cfg.d/99-captf-bootstrap.cfg";
const RKE2: &str = "etc/rancher/rke2/config.yaml.d/50-captf-node-labels.yaml";
const DEBIAN: &str = "etc/default/kubelet";
const REDHAT: &str = "etc/sysconfig/kubelet";
const JINJA: &[u8] = b"## template: jinja\n#cloud-config\nruncmd: [echo hello]\n";

/// An instance's file system.
struct Machine {
    root: TempDir,
}

impl Machine {
    /// A machine whose `aws` copies `payload`, or fails each time without one.
    fn new(payload: Option<&[u8]>) -> Self {
        let machine = Self {
            root: TempDir::new().expect("a temporary directory"),
        };
        machine.dir("bin");
        machine.dir("etc/default");
        machine.write("fetches", b"");
        machine.write("pauses", b"");
        let root = machine.root.path().display();
        let copy = if let Some(payload) = payload {
            machine.write("payload", payload);
            format!("cp '{root}/payload' \"$7\"")
        } else {
            "echo 'An error occurred (404)' >&2; exit 1".to_owned()
        };
        machine.program("aws", &format!("echo \"$*\" >>'{root}/fetches'\n{copy}"));
        machine.program("sleep", &format!("echo \"$1\" >>'{root}/pauses'"));
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn dir(&self, path: &str) {
        fs::create_dir_all(self.path(path)).expect("a directory");
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        fs::write(self.path(path), bytes).expect("a file");
    }

    fn read(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.path(path)).ok()?;
        Some(String::from_utf8(bytes).expect("text"))
    }

    fn lines(&self, path: &str) -> usize {
        self.read(path).map_or(0, |text| text.lines().count())
    }

    fn mode(&self, path: &str) -> u32 {
        let meta = fs::metadata(self.path(path)).expect("a file");
        meta.permissions().mode() & 0o777
    }

    fn program(&self, name: &str, body: &str) {
        let path = format!("bin/{name}");
        self.write(&path, format!("#!/bin/sh\n{body}\n").as_bytes());
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path(&path), executable).expect("permissions");
    }

    /// Boots once: cloud-init runs the boothook.
    fn boot(&self, demo: &Demo) -> Output {
        let root = self.root.path().display().to_string();
        let stub = demo
            .good()
            .template
            .user_data
            .replace("/etc/", &format!("{root}/etc/"))
            .replace(
                "PATH=/usr/local/sbin",
                &format!("PATH={root}/bin:/usr/local/sbin"),
            );
        self.write("stub", stub.as_bytes());
        Command::new("/bin/sh")
            .arg(self.path("stub"))
            .env_clear()
            .output()
            .expect("a shell")
    }

    /// Boots and must come through.
    fn boots(&self, demo: &Demo) {
        let output = self.boot(demo);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
    }

    /// Nothing the stub works with is left behind.
    fn is_tidy(&self) -> bool {
        fn scratch(dir: &Path) -> bool {
            fs::read_dir(dir).expect("a directory").any(|entry| {
                let path = entry.expect("an entry").path();
                path.file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with(".machine-pool"))
                    || (path.is_dir() && scratch(&path))
            })
        }
        !scratch(&self.path("etc"))
    }
}

fn labelled() -> Demo {
    demo().labels([("team", "platform"), ("example.com/tier", "gold")])
}

/// Proves: AWS-60.
#[test]
fn a_second_boot_writes_the_same_files() {
    let machine = Machine::new(Some(JINJA));
    machine.dir("etc/sysconfig");
    machine.boots(&labelled());
    let files = [DEBIAN, REDHAT, RKE2];
    let first = files.map(|file| machine.read(file).expect("written"));
    assert!(first.iter().all(|text| text.contains("team=platform")));
    machine.boots(&labelled());
    assert_eq!(
        files.map(|file| machine.read(file).expect("written")),
        first
    );
    assert_eq!(files.map(|file| machine.mode(file)), [0o644; 3]);
    assert_eq!(
        first[2],
        "node-label+:\n  - \"example.com/tier=gold\"\n  - \"team=platform\"\n"
    );
    assert!(machine.is_tidy());
}

/// Proves: AWS-61.
#[test]
fn the_images_own_kubelet_arguments_stay_and_are_repeated() {
    let labels = "--node-labels=example.com/tier=gold,team=platform";
    let rows = [
        (
            "KUBELET_EXTRA_ARGS=\"--v=2\"\n",
            format!("KUBELET_EXTRA_ARGS=\"--v=2 {labels}\""),
        ),
        (
            "KUBELET_EXTRA_ARGS='--v=3'\n",
            format!("KUBELET_EXTRA_ARGS=\"--v=3 {labels}\""),
        ),
        (
            "KUBELET_EXTRA_ARGS=--v=4",
            format!("KUBELET_EXTRA_ARGS=\"--v=4 {labels}\""),
        ),
        (
            "KUBELET_EXTRA_ARGS=\n",
            format!("KUBELET_EXTRA_ARGS=\"{labels}\""),
        ),
        ("# nothing\n", format!("KUBELET_EXTRA_ARGS=\"{labels}\"")),
        (
            "KUBELET_EXTRA_ARGS=\"--v=1\"\nOTHER=1\nKUBELET_EXTRA_ARGS=\"--v=9\"\n",
            format!("KUBELET_EXTRA_ARGS=\"--v=9 {labels}\""),
        ),
        (
            "KUBELET_EXTRA_ARGS='--x=\"a b\"'\n",
            format!("KUBELET_EXTRA_ARGS=\"--x=\\\"a b\\\" {labels}\""),
        ),
    ];
    for (image, expected) in rows {
        let machine = Machine::new(Some(JINJA));
        machine.write(DEBIAN, image.as_bytes());
        for _boot in 0..2 {
            machine.boots(&labelled());
            let text = machine.read(DEBIAN).expect("written");
            assert!(text.starts_with(image), "{text}");
            let block =
                format!("\n# captf-node-labels begin\n{expected}\n# captf-node-labels end\n");
            assert!(text.ends_with(&block), "{text}");
            assert_eq!(text.matches("captf-node-labels begin").count(), 1, "{text}");
        }
    }
}

/// Proves: AWS-62.
#[test]
fn without_labels_everything_goes_back_and_nothing_new_appears() {
    let machine = Machine::new(Some(JINJA));
    let image = "KUBELET_EXTRA_ARGS=\"--v=2\"\n";
    machine.write(DEBIAN, image.as_bytes());
    machine.dir("etc/sysconfig");
    machine.boots(&labelled());
    assert!(machine.read(RKE2).is_some());
    machine.boots(&demo());
    assert_eq!(machine.read(DEBIAN).as_deref(), Some(image));
    assert_eq!(machine.read(RKE2), None);

    let fresh = Machine::new(Some(JINJA));
    fresh.dir("etc/sysconfig");
    fresh.boots(&demo());
    for file in [DEBIAN, REDHAT, RKE2] {
        assert_eq!(fresh.read(file), None, "{file}");
    }
    let without_directories = Machine::new(Some(JINJA));
    fs::remove_dir(without_directories.path("etc/default")).expect("an empty directory");
    without_directories.boots(&labelled());
    assert!(!without_directories.path("etc/default").exists());
    assert!(!without_directories.path("etc/sysconfig").exists());
}

/// Proves: AWS-63.
#[test]
fn only_cloud_config_is_installed() {
    for refused in [
        &b"#!/bin/sh\nreboot\n"[..],
        b"## template: jinja\n#!/bin/sh\nreboot\n",
        b"MIME-Version: 1.0\n#cloud-config\n",
        b"{\"ignition\": {}}",
        b"",
    ] {
        let machine = Machine::new(Some(refused));
        let output = machine.boot(&demo());
        assert_eq!(output.status.code(), Some(1), "{refused:?}");
        assert!(!output.stderr.is_empty());
        assert_eq!(machine.read(CONFIG), None);
        assert!(machine.is_tidy());
    }
    for (installed, expected) in [
        (JINJA.to_vec(), JINJA),
        (gzip(JINJA), JINJA),
        (
            b"#cloud-config\r\na: 1\r\n".to_vec(),
            b"#cloud-config\r\na: 1\r\n",
        ),
        (
            b"## template: jinja\r\n#cloud-config\r\n".to_vec(),
            b"## template: jinja\r\n#cloud-config\r\n",
        ),
    ] {
        let machine = Machine::new(Some(&installed));
        machine.boots(&demo());
        assert_eq!(
            machine.read(CONFIG).map(String::into_bytes).as_deref(),
            Some(expected)
        );
        assert_eq!(machine.mode(CONFIG), 0o600);
        assert_eq!(machine.lines("fetches"), 1);
        assert!(machine.is_tidy());
    }
}

#[test]
fn the_object_is_fetched_from_its_region_with_the_cli() {
    let machine = Machine::new(Some(JINJA));
    machine.boots(&demo());
    assert_eq!(
        machine
            .read("fetches")
            .as_deref()
            .map(|line| line.split(" /").next().unwrap_or(line)),
        Some(
            "s3 cp --only-show-errors --region us-east-1 \
             s3://captf-bootstrap-20261001000000000000000001/pool/demo-pool-0"
        )
    );
}

#[test]
fn a_broken_gzip_installs_nothing() {
    let mut broken = gzip(JINJA);
    broken.truncate(broken.len() - 10);
    let machine = Machine::new(Some(&broken));
    assert_ne!(machine.boot(&demo()).status.code(), Some(0));
    assert_eq!(machine.read(CONFIG), None);
    assert!(machine.is_tidy());
}

/// Proves: AWS-64.
#[test]
fn a_fetch_that_always_fails_gives_up_and_an_installed_payload_is_never_fetched_again() {
    let machine = Machine::new(None);
    let output = machine.boot(&demo());
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(machine.lines("fetches"), 60);
    assert_eq!(machine.read("pauses"), Some("5\n".repeat(59)));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("s3://captf-bootstrap-20261001000000000000000001/pool/demo-pool-0"),
        "{said}"
    );
    assert!(said.contains("60 attempts"), "{said}");
    assert_eq!(machine.read(CONFIG), None);
    assert!(machine.is_tidy());

    let installed = Machine::new(None);
    installed.dir("etc/cloud/cloud.cfg.d");
    installed.write(CONFIG, b"#cloud-config\n");
    installed.boots(&labelled());
    assert_eq!(installed.lines("fetches"), 0);
    assert!(
        installed.read(RKE2).is_some(),
        "labels are registered on every boot"
    );
}

#[test]
fn a_fetch_that_succeeds_late_is_enough() {
    let machine = Machine::new(Some(JINJA));
    let root = machine.root.path().display().to_string();
    machine.program(
        "aws",
        &format!(
            "echo x >>'{root}/fetches'\n[ $(wc -l <'{root}/fetches') -ge 4 ] || exit 1\ncp '{root}/payload' \"$7\""
        ),
    );
    machine.boots(&demo());
    assert_eq!(machine.lines("fetches"), 4);
    assert_eq!(machine.lines("pauses"), 3);
    assert!(machine.read(CONFIG).is_some());
}

#[test]
fn an_empty_installed_file_counts_as_not_installed() {
    let machine = Machine::new(Some(JINJA));
    machine.dir("etc/cloud/cloud.cfg.d");
    machine.write(CONFIG, b"");
    machine.boots(&demo());
    assert_eq!(machine.lines("fetches"), 1);
    assert_eq!(
        machine.read(CONFIG).map(String::into_bytes).as_deref(),
        Some(JINJA)
    );
}
