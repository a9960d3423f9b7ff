//! Shares of the work: each cluster is in exactly one, and they are about equal.

use proptest::prelude::*;
use remuda_plan::share::Share;

fn holders(of: u16, namespace: &str, cluster: &str) -> Vec<u16> {
    (0..of)
        .filter(|index| Share::new(*index, of).is_some_and(|it| it.holds(namespace, cluster)))
        .collect()
}

proptest! {
    #[test]
    fn every_cluster_is_in_exactly_one_share(
        of in 1u16..40, namespace in "[a-z]{0,20}", cluster in "[a-z0-9-]{1,40}",
    ) {
        prop_assert_eq!(holders(of, &namespace, &cluster).len(), 1);
    }
}

#[test]
fn shares_are_about_equal() {
    for of in [2, 3, 5, 8] {
        let mut counts = vec![0_usize; usize::from(of)];
        for number in 0..4_000 {
            let namespace = format!("team-{}", number % 40);
            let [holder] = holders(of, &namespace, &format!("cluster-{number}"))[..] else {
                panic!("one share holds it");
            };
            counts[usize::from(holder)] += 1;
        }
        let fair = 4_000 / usize::from(of);
        let unfair = counts.iter().find(|it| it.abs_diff(fair) > fair / 4);
        assert_eq!(unfair, None, "{of}: {counts:?}");
    }
}

#[test]
fn there_is_no_share_beyond_the_last() {
    assert_eq!(Share::new(2, 2), None);
    assert_eq!(Share::new(0, 0), None);
    assert!(Share::default().holds("any", "thing"));
    assert_eq!(
        Share::new(1, 3).map(|it| it.to_string()).as_deref(),
        Some("1/3")
    );
}
