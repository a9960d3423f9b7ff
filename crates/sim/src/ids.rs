//! Ids drawn from a world's own randomness.

/// A UUID-shaped id: activities, operations, requests.
pub(crate) fn uuid(rng: &mut fastrand::Rng) -> String {
    let (high, low) = (rng.u64(..), rng.u64(..));
    format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        low >> 52,
        low & 0xffff_ffff_ffff
    )
}
