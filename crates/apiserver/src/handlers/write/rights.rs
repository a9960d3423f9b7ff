//! What a caller needs beyond the right to write an object, for kinds that give rights to others.

use serde_json::Value;

use super::Writing;
use crate::access::escalation::{self, Granting};
use crate::registry::Behaviour;
use crate::status_error::Outcome;

impl Writing<'_> {
    /// Refuses roles and bindings that give away more than the caller has, and verdicts on
    /// certificate requests that are not the caller's to give.
    pub(super) fn check_rights(&self, new: &Value, old: Option<&Value>) -> Outcome<()> {
        let kind = &self.served.kind;
        if kind.behaviour == Behaviour::CertificateSigningRequest {
            return self.check_signing(new, old);
        }
        if self.caller.is_master() {
            return Ok(());
        }
        match Granting::of(&kind.group, &kind.plural) {
            None => Ok(()),
            Some(granting) => self
                .instance
                .policy()
                .ask(|policy| escalation::check(policy, &self.caller, granting, old, new)),
        }
    }
}
