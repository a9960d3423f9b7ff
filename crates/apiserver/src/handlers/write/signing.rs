//! Certificate requests: who may ask for which certificate, approve it and sign it.

use serde_json::Value;

use super::Writing;
use crate::access::{self, Attributes, Resource};
use crate::object::{at, name, text};
use crate::server::requested;
use crate::status_error::{Failure, Outcome};

const GROUP: &str = "certificates.k8s.io";
/// The signer whose certificates anybody may ask for.
const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const MASTERS: &str = "system:masters";

impl Writing<'_> {
    /// Refuses a request for the administrator's group, and verdicts and certificates from those
    /// who hold no right on the signer.
    pub(super) fn check_signing(&self, new: &Value, old: Option<&Value>) -> Outcome<()> {
        let refuse = |why: &str| Err(Failure::forbidden(&self.served.kind, name(new), why));
        let signer = text(new, &["spec", "signerName"]);
        let Some(old) = old else {
            let asked = requested(text(new, &["spec", "request"])).unwrap_or_default();
            let master = asked.organizations.iter().any(|group| group == MASTERS);
            if signer == CLIENT_SIGNER && master {
                return refuse(&format!(
                    "use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed"
                ));
            }
            return Ok(());
        };
        if self.caller.is_master() {
            return Ok(());
        }
        let certificate = |object: &Value| at(object, &["status", "certificate"]).cloned();
        let verb = match self.subresource {
            "approval" => "approve",
            "status" if certificate(old) != certificate(new) => "sign",
            _ => return Ok(()),
        };
        if self.holds(verb, signer) {
            return Ok(());
        }
        refuse(&format!(
            "user not permitted to {verb} requests with signerName {signer:?}"
        ))
    }

    /// Whether the caller holds a verb on a signer, by its name or by its domain.
    fn holds(&self, verb: &str, signer: &str) -> bool {
        let domain = signer.split('/').next().unwrap_or_default();
        [signer.to_owned(), format!("{domain}/*")]
            .into_iter()
            .any(|name| {
                let signers = Resource {
                    group: GROUP.into(),
                    plural: "signers".into(),
                    name,
                    ..Resource::default()
                };
                let asked = Attributes::on(verb, signers);
                access::decide(self.instance, &self.caller, &asked).allowed
            })
    }
}
