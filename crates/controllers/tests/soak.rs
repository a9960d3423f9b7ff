//! Simulated days from a seed (`cargo xtask soak --seed N --hours H` plays one at length). A failure
//! that is found becomes a test of its own here, with its story.

use remuda_testkit::soak;

/// Hours of each bounded run.
const HOURS: u64 = 4;

async fn holds(seed: u64) {
    soak::play(seed, HOURS).await.assert_good();
}

#[tokio::test(start_paused = true)]
async fn four_hours_of_seed_1_hold() {
    holds(1).await;
}

#[tokio::test(start_paused = true)]
async fn four_hours_of_seed_2_hold() {
    holds(2).await;
}

/// Plays what the environment names; `cargo xtask soak` sets it.
#[tokio::test(start_paused = true)]
#[ignore = "cargo xtask soak runs it"]
async fn replay() {
    let number = |name: &str, default: u64| {
        let text = std::env::var(name).ok();
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let played = soak::play(
        number("REMUDA_SOAK_SEED", 1),
        number("REMUDA_SOAK_HOURS", 24),
    )
    .await;
    for line in &played.log {
        println!("{line}");
    }
    played.assert_good();
}
