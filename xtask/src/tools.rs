//! What the tests need beside Rust, and how it gets onto a bare Debian or Ubuntu machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// The oldest kubectl the end-to-end tests support (docs/reference/support.md).
const OLDEST_KUBECTL_MINOR: u32 = 29;

/// Python packages of the AWS oracle: moto is the independent server, boto3 the independent client.
const MOTO_PACKAGES: [&str; 2] = ["moto[server,ec2,autoscaling,s3,sts]==5.2.5", "boto3"];

/// Runs a command, showing it first.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("+ {}", shown(command));
    let status = command
        .status()
        .with_context(|| format!("starting {}", shown(command)))?;
    ensure!(status.success(), "{} ended with {status}", shown(command));
    Ok(())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The folder that cargo builds into.
pub(crate) fn target_folder(root: &Path) -> Result<PathBuf> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .current_dir(root)
        .no_deps()
        .exec()
        .context("asking cargo for its target folder")?;
    Ok(metadata.target_directory.into_std_path_buf())
}

/// What `remuda` prints when called like this. It is built with the whole workspace, as the tests
/// build it, so that nothing is compiled twice.
pub(crate) fn remuda_says(root: &Path, arguments: &[&str]) -> Result<String> {
    let mut build = crate::test::cargo(root);
    build.args(["build", "--quiet", "--workspace", "--bins", "--locked"]);
    ensure!(build.status()?.success(), "remuda does not build");
    let output = Command::new(target_folder(root)?.join("debug/remuda"))
        .args(arguments)
        .output()
        .context("running remuda")?;
    ensure!(
        output.status.success(),
        "remuda {} failed: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// Whether a program answers when called with these arguments.
pub(crate) fn answers(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A python with moto and boto3, in a private environment under `target/`.
pub(crate) fn moto_python(root: &Path) -> Result<PathBuf> {
    let venv = root.join("target/xtask/moto");
    let python = venv.join("bin/python");
    let ready = venv.join(".ready");
    let wanted = MOTO_PACKAGES.join(" ");
    if std::fs::read_to_string(&ready).is_ok_and(|have| have == wanted) {
        return Ok(python);
    }
    if !answers("python3", &["-c", "import venv, ensurepip"]) {
        install(&["python3", "python3-venv"])?;
    }
    println!("moto (the AWS test server) goes into {}", venv.display());
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&venv))?;
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet"])
        .args(MOTO_PACKAGES))?;
    std::fs::write(&ready, wanted).context("marking the environment as complete")?;
    Ok(python)
}

/// Chromium and its driver, for the dashboard's tests.
pub(crate) fn browser() -> Result<()> {
    let there = || answers("chromedriver", &["--version"]) && answers("chromium", &["--version"]);
    if !there() {
        install(&["chromium", "chromium-driver"])?;
    }
    ensure!(
        there(),
        "chromium and chromedriver do not answer, although they are installed"
    );
    Ok(())
}

/// The folder with prometheus and promtool, for the tests of metrics, alerts and the dashboard; `None`
/// when they are in PATH. Debian's package is unpacked below `target/`: installed, it would start a
/// service.
pub(crate) fn prometheus(root: &Path) -> Result<Option<PathBuf>> {
    let there = |folder: &Path| {
        let answers =
            |program: &str| answers(&folder.join(program).to_string_lossy(), &["--version"]);
        answers("prometheus") && answers("promtool")
    };
    if there(Path::new("")) {
        return Ok(None);
    }
    let folder = root.join("target/xtask/prometheus");
    let programs = folder.join("usr/bin");
    if !there(&programs) {
        println!(
            "prometheus (Debian's package) goes into {}",
            folder.display()
        );
        std::fs::create_dir_all(&folder)?;
        let download = ["download", "-q", "prometheus"];
        let mut fetched = Command::new("apt-get");
        if run(fetched.args(download).current_dir(&folder)).is_err() {
            // The lists of packages are not there yet.
            apt(&["update", "-q"])?;
            run(Command::new("apt-get").args(download).current_dir(&folder))?;
        }
        for entry in std::fs::read_dir(&folder)? {
            let file = entry?.path();
            if file.extension().is_some_and(|it| it == "deb") {
                run(Command::new("dpkg-deb").arg("-x").arg(&file).arg(&folder))?;
                std::fs::remove_file(&file)?;
            }
        }
    }
    ensure!(
        there(&programs),
        "prometheus does not answer, although it is there"
    );
    Ok(Some(programs))
}

/// Installs Debian packages, or says which command would.
fn install(packages: &[&str]) -> Result<()> {
    let may = is_root() || answers("sudo", &["-n", "true"]);
    let by_hand = format!("sudo apt-get install -y {}", packages.join(" "));
    if !answers("apt-get", &["--version"]) || !may {
        bail!("missing: {}. Install with: {by_hand}", packages.join(", "));
    }
    println!("installing {} (Debian packages)", packages.join(", "));
    apt(&["update", "-q"])?;
    apt(&[
        &["install", "-y", "-q", "--no-install-recommends"],
        packages,
    ]
    .concat())
}

/// apt-get, as root.
fn apt(arguments: &[&str]) -> Result<()> {
    let mut command = if is_root() {
        Command::new("apt-get")
    } else {
        let mut sudo = Command::new("sudo");
        sudo.args(["-n", "apt-get"]);
        sudo
    };
    run(command
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive"))
}

fn is_root() -> bool {
    answers("sh", &["-c", "[ \"$(id -u)\" = 0 ]"])
}

/// kubectl in PATH, new enough; otherwise what to say.
pub(crate) fn kubectl() -> Result<(), String> {
    let how =
        "Get one of release 1.29 or newer (https://kubernetes.io/docs/tasks/tools) into PATH.";
    let output = Command::new("kubectl")
        .args(["version", "--client", "-o", "json"])
        .stderr(Stdio::null())
        .output()
        .map_err(|_| format!("kubectl is not in PATH. {how}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let minor = text.split("\"minor\"").nth(1).and_then(|rest| {
        let digits: String = rest
            .chars()
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse::<u32>().ok()
    });
    match minor {
        Some(minor) if minor >= OLDEST_KUBECTL_MINOR => Ok(()),
        Some(minor) => Err(format!("kubectl is release 1.{minor}. {how}")),
        None => Err(format!("kubectl does not tell its version. {how}")),
    }
}
