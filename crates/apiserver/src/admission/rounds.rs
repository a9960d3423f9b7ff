//! Which mutating webhooks are asked a second time. Pure.
//!
//! There are at most two rounds. A webhook of policy `IfNeeded` is asked again when another one
//! changed the object after it; in the second round nobody is asked for the first time.

use std::collections::BTreeSet;

/// Where the mutation of one request stands. Webhooks go by their place in the order.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    second: bool,
    changed: bool,
    /// Webhooks of policy `IfNeeded` that have not seen a change since they were asked.
    asked: BTreeSet<usize>,
    /// Webhooks that a later change concerns.
    due: BTreeSet<usize>,
}

impl Rounds {
    /// Whether this webhook is asked in this round.
    pub(crate) fn is_due(&self, hook: usize) -> bool {
        !self.second || self.due.contains(&hook)
    }

    /// Takes note of an answer.
    pub(crate) fn answered(&mut self, hook: usize, reinvocable: bool, changed: bool) {
        if changed {
            self.changed = true;
            self.due.append(&mut self.asked);
        }
        if reinvocable {
            self.asked.insert(hook);
        }
    }

    /// Begins the second round, if there is one.
    pub(crate) fn again(&mut self) -> bool {
        let again = !self.second && self.changed;
        self.second = true;
        again
    }
}

#[cfg(test)]
mod tests {
    use super::Rounds;

    /// Plays webhooks given as (reinvocable, changes in the first round, in the second).
    fn play(hooks: &[(bool, bool, bool)]) -> Vec<usize> {
        let mut rounds = Rounds::default();
        let mut asked = Vec::new();
        for second in [false, true] {
            if second && !rounds.again() {
                break;
            }
            for (at, (reinvocable, first, later)) in hooks.iter().enumerate() {
                if rounds.is_due(at) {
                    asked.push(at);
                    rounds.answered(at, *reinvocable, if second { *later } else { *first });
                }
            }
        }
        assert!(!rounds.again(), "there is no third round");
        asked
    }

    #[test]
    fn only_those_before_a_change_are_asked_again() {
        let (quiet, changes) = ((true, false, false), (true, true, false));
        assert_eq!(play(&[quiet, quiet]), [0, 1]);
        assert_eq!(play(&[quiet, changes, quiet]), [0, 1, 2, 0]);
        assert_eq!(play(&[changes]), [0]);
        assert_eq!(play(&[changes, changes]), [0, 1, 0]);
        assert_eq!(play(&[(false, false, false), changes]), [0, 1]);
    }

    #[test]
    fn a_change_in_the_second_round_reaches_those_behind() {
        let order = [
            (true, false, true),
            (false, false, false),
            (false, true, false),
            (true, false, false),
        ];
        assert_eq!(play(&order), [0, 1, 2, 3, 0, 3]);
    }
}
