//! Simulated days from a seed (`cargo xtask soak --seed N --hours H` plays one at length). A failure
//! that is found becomes a test of its own, named after what went wrong, where its mechanism is
//! tested.

use remuda_testkit::soak::{self, Cloud};

/// Four hours: instances ended, lost and stopped, a strict budget.
#[tokio::test(start_paused = true)]
async fn four_hours_of_seed_1_hold_on_aws() {
    soak::play(Cloud::Aws, 1, 4).await.assert_good();
}

/// Two hours: a roll, a scaling and a used up quota.
#[tokio::test(start_paused = true)]
async fn two_hours_of_seed_2_hold_on_azure() {
    soak::play(Cloud::Azure, 2, 2).await.assert_good();
}

/// Plays what the environment names; `cargo xtask soak` sets it.
#[tokio::test(start_paused = true)]
#[ignore = "cargo xtask soak runs it"]
async fn replay() {
    let number = |name: &str, default: u64| {
        let text = std::env::var(name).ok();
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let is_azure = std::env::var("REMUDA_SOAK_CLOUD").is_ok_and(|name| name == "azure");
    let cloud = if is_azure { Cloud::Azure } else { Cloud::Aws };
    let seed = number("REMUDA_SOAK_SEED", 1);
    let played = soak::play(cloud, seed, number("REMUDA_SOAK_HOURS", 24)).await;
    for line in &played.log {
        println!("{line}");
    }
    played.assert_good();
}
