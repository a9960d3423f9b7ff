//! Random sequences of verbs, from a seed, against the server and against a plain model of it.
//!
//! A sequence that fails is cut down to the operations that matter; the message holds the seed and
//! what is left.

mod operation;
mod plain;
mod world;

use operation::Operation;
use world::World;

/// Operations of one sequence.
const LENGTH: usize = 60;

/// Plays a sequence; the first difference ends it.
fn play(seed: u64, operations: &[Operation]) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let mut world = World::new(seed).await?;
        for operation in operations {
            let outcome = world.perform(operation).await;
            outcome.map_err(|why| format!("{operation:?}: {why}"))?;
        }
        world.check_end().await
    })
}

/// Leaves out what does not matter for a failure.
fn shortest(seed: u64, mut operations: Vec<Operation>) -> Vec<Operation> {
    let mut index = 0;
    while index < operations.len() {
        let mut fewer = operations.clone();
        fewer.remove(index);
        if play(seed, &fewer).is_err() {
            operations = fewer;
        } else {
            index += 1;
        }
    }
    operations
}

fn check(seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let operations: Vec<Operation> = (0..LENGTH).map(|_| Operation::any(&mut rng)).collect();
    if play(seed, &operations).is_err() {
        let operations = shortest(seed, operations);
        let why = play(seed, &operations).expect_err("it still fails");
        unreachable!("seed {seed}: {why}\n{operations:#?}");
    }
}

#[test]
fn the_server_is_what_a_plain_model_says() {
    (0..40).for_each(check);
}

/// More of the same, for whoever changes the road of a write.
#[test]
#[ignore = "takes minutes"]
fn the_server_is_what_a_plain_model_says_for_long() {
    (1_000..3_000).for_each(check);
}
