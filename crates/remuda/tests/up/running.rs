//! A `remuda up --demo` at work, and the tools a person points at it.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// How long anything on this page may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// The program under test.
pub(crate) fn remuda() -> Command {
    Command::new(env!("CARGO_BIN_EXE_remuda"))
}

/// `remuda up --demo`, Ready. Dropping it interrupts the program.
pub(crate) struct Running {
    child: Child,
    /// What it said once everything was ready.
    pub(crate) said: String,
    /// Its data directory.
    pub(crate) home: TempDir,
}

impl Running {
    /// Starts it and waits until it says that everything is ready.
    pub(crate) fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let (child, said) = start(&home.path().join("data"));
        Self { child, said, home }
    }

    /// Kills it without warning.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Kills it without warning, and starts it again over the same data.
    pub(crate) fn kill_and_restart(&mut self) {
        self.kill();
        self.start_again();
    }

    /// Starts it over the data that is there, after [`Running::kill`].
    pub(crate) fn start_again(&mut self) {
        (self.child, self.said) = start(&self.data());
    }

    /// The data directory.
    pub(crate) fn data(&self) -> std::path::PathBuf {
        self.home.path().join("data")
    }

    /// kubectl against it; `None` (with a line that says how to get it) where there is none.
    pub(crate) fn kubectl(&self) -> Option<Kubectl<'_>> {
        let found = Command::new("kubectl")
            .args(["version", "--client"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !found {
            eprintln!("skipped: kubectl (1.29 or newer) is not in PATH");
        }
        found.then_some(Kubectl { of: self })
    }

    /// The program itself as a client.
    pub(crate) fn remuda(&self, arguments: &[&str]) -> Output {
        remuda()
            .args(arguments)
            .env_remove("KUBECONFIG")
            .env("REMUDA_DATA_DIR", self.data())
            .output()
            .unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(data: &Path) -> (Child, String) {
    let mut child = remuda()
        .args(["up", "--demo", "--data-dir"])
        .arg(data)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready = lines.any(|line| line.unwrap().starts_with("Everything is ready"));
    assert!(
        ready,
        "remuda up ended before it was ready: {:?}",
        child.wait()
    );
    let mut said = String::new();
    for line in lines.by_ref() {
        let line = line.unwrap();
        if line.starts_with("Ctrl-C ends it") {
            break;
        }
        said.push_str(&line);
        said.push('\n');
    }
    // The rest of its output is read away, so that it never blocks on a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    (child, said)
}

/// kubectl with the kubeconfig of a [`Running`].
pub(crate) struct Kubectl<'a> {
    of: &'a Running,
}

impl Kubectl<'_> {
    /// Runs it; the text on standard output. Panics with its words when it fails.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs it; whatever comes of it.
    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        Command::new("kubectl")
            .args(arguments)
            .arg("--cache-dir")
            .arg(self.of.home.path().join("cache"))
            .env("KUBECONFIG", self.of.data().join("kubeconfig"))
            .output()
            .unwrap()
    }

    /// Applies manifests.
    pub(crate) fn apply(&self, manifests: &str) {
        let file = self.of.home.path().join("applied.yaml");
        std::fs::write(&file, manifests).unwrap();
        self.run(&["apply", "--server-side", "-f", file.to_str().unwrap()]);
    }

    /// Runs it until its output satisfies; panics with the last output after [`PATIENCE`].
    pub(crate) fn until(&self, arguments: &[&str], satisfied: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let output = self.output(arguments);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            if output.status.success() && satisfied(&text) {
                return text;
            }
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(
                Instant::now() < deadline,
                "kubectl {arguments:?} still says {text}{stderr}"
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}
