//! How fast the server is, and how much memory it takes: `cargo bench -p remuda-apiserver`.
//!
//! The server is a process of its own, the requests go over TLS and HTTP/2, writes are durable.
//! A genuine server is measured the same way in the same run where one can be had: found, or
//! started from `KUBEBUILDER_ASSETS`, as the conformance suite does (`genuine.rs`). The bench fails
//! when a bar is missed: figures are told apart from wishes.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a bench prints its figures; none comes near what a float holds exactly"
)]

use std::process::ExitCode;
use std::time::Duration;

mod client;
#[path = "../../tests/conformance/genuine.rs"]
#[allow(dead_code, clippy::panic, reason = "the conformance suite's own")]
mod genuine;
mod load;
mod server;

use client::Target;
use load::{Figures, Spread};
use server::Server;

const CONNECTIONS: usize = 20;

fn main() -> ExitCode {
    if server::serve_if_asked() {
        return ExitCode::SUCCESS;
    }
    // `cargo test` runs benches too, unoptimised: figures of that would mean nothing.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("figures are taken by `cargo bench -p remuda-apiserver` only");
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (ours, genuine) = runtime.block_on(async {
        let ours = ours().await;
        (ours, genuine().await)
    });
    print(&ours, genuine.as_ref());
    let missed = missed(&ours, genuine.as_ref());
    for bar in &missed {
        println!("MISSED: {bar}");
    }
    if missed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// This project's server.
async fn ours() -> Figures {
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    let folder = tempfile::Builder::new().permissions(private).tempdir();
    let folder = folder.expect("a folder");
    let (server, start) = Server::start(folder.path()).await;
    let mut figures = Figures {
        name: "remuda".into(),
        start: Some(start),
        ..Figures::default()
    };
    let target = Target::connect(&server.kubeconfig, CONNECTIONS).await;
    load::measure(&target, &mut figures, || server.memory()).await;
    server.stop();
    let (server, start) = Server::start(folder.path()).await;
    figures.start_full = Some(start);
    figures.memory_restarted = server.memory();
    server.stop();
    figures
}

/// A genuine server, if there is one.
async fn genuine() -> Option<Figures> {
    let Some(found) = genuine::find().await else {
        println!("{}", genuine::HOW);
        return None;
    };
    let target = Target::connect(&found.kubeconfig, CONNECTIONS).await;
    let mut figures = Figures {
        name: "genuine".into(),
        ..Figures::default()
    };
    let processes = found.process_ids();
    let memory = || {
        processes
            .iter()
            .map(|id| server::resident(*id))
            .sum::<Option<u64>>()
    };
    let known = !processes.is_empty();
    load::measure(&target, &mut figures, || memory().filter(|_| known)).await;
    Some(figures)
}

fn print(ours: &Figures, genuine: Option<&Figures>) {
    let all: Vec<&Figures> = [ours].into_iter().chain(genuine).collect();
    let row = |what: &str, cell: &dyn Fn(&Figures) -> String| {
        let cells: Vec<String> = all
            .iter()
            .map(|figures| format!("{:>34}", cell(figures)))
            .collect();
        println!("{what:<34}{}", cells.concat());
    };
    let spread = |spread: &Spread| {
        let (median, p99) = (millis(spread.median), millis(spread.p99));
        format!("{:.0}/s, {median} / {p99} ms", spread.per_second)
    };
    let time =
        |time: Option<Duration>| time.map_or("-".into(), |time| format!("{} ms", millis(time)));
    let size = |size: Option<u64>| size.map_or("-".into(), |size| format!("{size} MiB"));
    row("2 KiB objects; median / p99", &|f| f.name.clone());
    row("create, 1 client", &|f| spread(&f.create_alone));
    row("create, 32 clients", &|f| spread(&f.create));
    row("update, 32 clients", &|f| spread(&f.update));
    row("get, 32 clients", &|f| spread(&f.get));
    row("list of 10,000", &|f| {
        format!("{}, {} MiB", time(Some(f.list)), f.list_bytes / 1024 / 1024)
    });
    row("event to 1,000 watchers", &|f| spread(&f.watch));
    row("memory, 10,000 objects", &|f| size(f.memory));
    row("memory after lists and watches", &|f| size(f.memory_after));
    row("memory after a restart", &|f| size(f.memory_restarted));
    row("start to first answer, empty", &|f| time(f.start));
    row("start to first answer, 10,000", &|f| time(f.start_full));
}

fn millis(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1000.0)
}

/// The bars that were missed.
fn missed(ours: &Figures, genuine: Option<&Figures>) -> Vec<String> {
    const MEMORY: u64 = 120;
    const START: Duration = Duration::from_millis(300);
    let mut missed = Vec::new();
    let mut bar = |met: bool, what: &str| {
        if !met {
            missed.push(what.to_owned());
        }
    };
    let memory = [ours.memory, ours.memory_restarted].into_iter().flatten();
    bar(
        memory.max() <= Some(MEMORY),
        "120 MiB of memory with 10,000 objects",
    );
    bar(ours.start <= Some(START), "300 ms to the first answer");
    if let Some(genuine) = genuine {
        let faster = ours.create.per_second >= 3.0 * genuine.create.per_second;
        bar(
            faster,
            "durable creates three times as fast as a genuine server's",
        );
    }
    missed
}
