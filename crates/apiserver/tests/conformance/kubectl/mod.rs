//! What a person sees of kubectl, compared line by line with what a genuine server makes it show.
//!
//! The scenarios (`*.term`) hold commands and their recorded output: standard output, standard
//! error and exit code. The embedded server must make kubectl show the same; so must a genuine
//! server, where one can be had, but for commands that a scenario marks with a reason.
//!
//! `CONFORMANCE_RECORD=1` records anew: from the genuine server, and from the embedded one where a
//! mark says that the genuine one is too old or has no controllers. `CONFORMANCE_SCENARIO=NAME`
//! plays one scenario.

#![allow(clippy::print_stdout, reason = "a skipped test says so")]

use std::path::{Path, PathBuf};

use futures::StreamExt;
use remuda_apiserver::ApiServer;

use crate::{RECORD, genuine as target};
use stage::Stage;
use transcript::{Holds, Shown, Step, Transcript};

mod settle;
mod stage;
mod transcript;

/// The release of kubectl that the recordings are of; every release words some texts anew.
const RELEASE: &str = "1.33";

/// How many scenarios play at a time.
const TOGETHER: usize = 4;

const SCENARIO: &str = "CONFORMANCE_SCENARIO";

/// What each command of a scenario showed; nothing where it was not run.
type Played = Vec<Option<Shown>>;

fn here(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/conformance/kubectl")
        .join(file)
}

/// A file of commands; its name is the namespace that they work in.
struct Scenario {
    name: String,
    transcript: Transcript,
}

impl Scenario {
    fn steps(&self) -> &[Step] {
        &self.transcript.steps
    }

    async fn play(&self, stage: &Stage, asks: impl Fn(&Step) -> bool) -> Played {
        let mut played = Vec::new();
        for step in self.steps() {
            played.push(if asks(step) {
                Some(stage.run(&step.command).await)
            } else {
                None
            });
        }
        played
    }
}

fn scenarios() -> Vec<Scenario> {
    let only = std::env::var(SCENARIO).ok();
    let entries = std::fs::read_dir(here("")).expect("the scenarios are readable");
    let scenario = |path: PathBuf| {
        let name = path
            .file_name()?
            .to_str()?
            .strip_suffix(".term")?
            .to_owned();
        let text = std::fs::read_to_string(&path).expect("a scenario is readable");
        let transcript = Transcript::parse(&text);
        Some(Scenario { name, transcript })
    };
    let mut out: Vec<Scenario> = entries
        .filter_map(|entry| scenario(entry.expect("an entry").path()))
        .filter(|scenario| only.as_ref().is_none_or(|only| *only == scenario.name))
        .collect();
    assert!(!out.is_empty(), "there is no scenario {only:?}");
    out.sort_by(|a, b| a.name.cmp(&b.name));
    out
}

/// What the embedded server makes kubectl show: a server for each scenario.
async fn embedded(kubectl: &Path, scenarios: &[Scenario]) -> Vec<Played> {
    let play = async |scenario: &Scenario| {
        let server = ApiServer::builder().seed(9).build().expect("a server");
        let address = "127.0.0.1:0".parse().expect("an address");
        let serving = server.serve(address).await.expect("a listener");
        let kubeconfig = serving.kubeconfig(&server.management());
        let stage = Stage::set(kubectl, &kubeconfig, &scenario.name).await;
        stage.define().await;
        scenario.play(&stage, |_| true).await
    };
    let played = futures::stream::iter(scenarios)
        .map(play)
        .buffered(TOGETHER);
    played.collect().await
}

/// What a genuine server makes kubectl show: one server, a namespace for each scenario.
async fn genuine(kubectl: &Path, kubeconfig: &str, scenarios: &[Scenario]) -> Vec<Played> {
    let stage = Stage::set(kubectl, kubeconfig, "kinds").await;
    stage.define().await;
    let play = async |scenario: &Scenario| {
        let stage = Stage::set(kubectl, kubeconfig, &scenario.name).await;
        let asks = |step: &Step| step.holds != Holds::Unasked;
        scenario.play(&stage, asks).await
    };
    let played = futures::stream::iter(scenarios)
        .map(play)
        .buffered(TOGETHER);
    played.collect().await
}

fn program() -> Option<PathBuf> {
    let found = stage::kubectl(RELEASE);
    if found.is_none() {
        println!(
            "skipped: no kubectl {RELEASE} in PATH; https://kubernetes.io/docs/tasks/tools has it"
        );
    }
    found
}

/// Fails with every command that `judge` finds fault with.
fn compare(
    scenarios: &[Scenario],
    played: &[Played],
    judge: impl Fn(&Step, &Shown) -> Option<String>,
) {
    let mut wrong = Vec::new();
    for (scenario, played) in scenarios.iter().zip(played) {
        for (step, shown) in scenario.steps().iter().zip(played) {
            let fault = shown.as_ref().and_then(|shown| judge(step, shown));
            wrong.extend(
                fault.map(|fault| format!("{}.term: $ {}\n{fault}", scenario.name, step.command)),
            );
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn difference(step: &Step, shown: &Shown) -> Option<String> {
    let (recorded, now) = (step.shown.render(), shown.render());
    (*shown != step.shown).then(|| format!("recorded:\n{recorded}now:\n{now}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_server_makes_kubectl_show_what_was_recorded() {
    let Some(kubectl) = program().filter(|_| std::env::var_os(RECORD).is_none()) else {
        return;
    };
    let scenarios = scenarios();
    let played = embedded(&kubectl, &scenarios).await;
    compare(&scenarios, &played, difference);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_genuine_server_makes_kubectl_show_what_was_recorded() {
    let Some(kubectl) = program() else { return };
    let Some(server) = target::find().await else {
        println!("skipped: {}", target::HOW);
        return;
    };
    let scenarios = scenarios();
    let played = genuine(&kubectl, &server.kubeconfig, &scenarios).await;
    if std::env::var_os(RECORD).is_some() {
        let ours = embedded(&kubectl, &scenarios).await;
        return record(scenarios, &ours, &played);
    }
    compare(&scenarios, &played, |step, shown| match step.holds {
        Holds::Everywhere => difference(step, shown),
        // An explanation that explains nothing hides the next difference.
        Holds::Here if server.is_recorded && *shown == step.shown => {
            Some("does not differ any more".into())
        }
        Holds::Here | Holds::Unasked => None,
    });
}

fn record(scenarios: Vec<Scenario>, ours: &[Played], theirs: &[Played]) {
    for ((mut scenario, ours), theirs) in scenarios.into_iter().zip(ours).zip(theirs) {
        for ((step, ours), theirs) in scenario.transcript.steps.iter_mut().zip(ours).zip(theirs) {
            let source = match step.holds {
                Holds::Everywhere => theirs,
                Holds::Here | Holds::Unasked => ours,
            };
            step.shown = source.clone().expect("it was asked");
        }
        let file = here(&format!("{}.term", scenario.name));
        std::fs::write(file, scenario.transcript.render()).expect("a scenario is writable");
    }
}
