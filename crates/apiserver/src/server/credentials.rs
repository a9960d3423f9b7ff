//! What a request shows for itself: the client certificate of its connection, or a bearer token.

use std::collections::HashMap;
use std::sync::Mutex;

use http::{HeaderMap, header};
use rustls_pki_types::CertificateDer;

use crate::access::certificate::{self, Stated};
use crate::access::{Caller, tokens};
use crate::instance::Instance;

/// The certificates of one connection, and for whom they spoke so far.
#[derive(Default)]
pub(super) struct Credentials {
    chain: Vec<CertificateDer<'static>>,
    /// By instance: checking a signature at each request would cost more than the request.
    checked: Mutex<HashMap<String, Option<Stated>>>,
}

/// What credentials come to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// None at all.
    Nothing,
    Caller(Caller),
    /// Some, and none holds.
    Wrong,
}

impl Credentials {
    pub(super) fn new(chain: Vec<CertificateDer<'static>>) -> Self {
        Self {
            chain,
            ..Self::default()
        }
    }

    /// Who sends a request to an instance.
    pub(super) fn shown(&self, instance: &Instance, headers: &HeaderMap) -> Shown {
        if let Some(caller) = self.certified(instance) {
            return Shown::Caller(caller);
        }
        match bearer(headers) {
            Some(token) => match tokens::authenticate(instance, token) {
                // A token made for somebody else opens nothing here.
                Some(accepted) if accepted.is_for(instance) => Shown::Caller(accepted.caller),
                _ => Shown::Wrong,
            },
            None if self.chain.is_empty() => Shown::Nothing,
            None => Shown::Wrong,
        }
    }

    /// The identity in the client certificate, if this instance's authority stands for it.
    fn certified(&self, instance: &Instance) -> Option<Caller> {
        let own = self.chain.first()?;
        let now = instance.now();
        let mut checked = self.checked.lock().expect("no holder of this lock panics");
        let stated = if let Some(known) = checked.get(instance.name()) {
            known.clone()
        } else {
            let clients = instance.authority().clients(instance.name()).ok()?;
            let accepted = clients.accepts(&self.chain, now);
            let stated = accepted.then(|| certificate::stated(own)).flatten();
            checked.insert(instance.name().to_owned(), stated.clone());
            stated
        };
        stated
            .filter(|stated| now <= stated.not_after)
            .map(|stated| stated.caller)
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
        .filter(|token| !token.is_empty())
}

/// Compares without telling by its time where the difference is.
pub(crate) fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}
