//! Who calls: applications of the tenants, managed identities, and the tokens they hold.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{clock::later, secret::Hidden};

/// All callers of the world.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Directory {
    /// Applications and managed identities by client id.
    pub(crate) applications: BTreeMap<String, Application>,
    /// Access tokens.
    tokens: BTreeMap<String, Token>,
}

/// An application, or a managed identity (which has no credentials of its own).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Application {
    pub(crate) tenant: String,
    /// Secrets, and when they expire.
    pub(crate) secrets: Vec<(Hidden, Option<Timestamp>)>,
    /// Certificates, DER in base64.
    pub(crate) certificates: Vec<String>,
    pub(crate) federations: Vec<Federation>,
    /// The metadata service hands out its tokens.
    pub(crate) managed: bool,
    /// Subscriptions it may do everything in, by lowercase id.
    pub(crate) subscriptions: BTreeSet<String>,
}

/// Whose tokens stand for an application's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Federation {
    pub(crate) issuer: String,
    pub(crate) subject: String,
    pub(crate) audience: String,
}

/// An access token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Token {
    pub(crate) client_id: String,
    pub(crate) expires: Timestamp,
}

impl Directory {
    /// Makes an access token.
    pub(crate) fn issue(
        &mut self,
        client_id: &str,
        life: Duration,
        now: Timestamp,
        rng: &mut fastrand::Rng,
    ) -> String {
        // Tokens that ended an hour ago are refused as unknown instead of as expired.
        const REMEMBERED: Duration = Duration::from_hours(1);
        self.tokens
            .retain(|_, token| later(token.expires, REMEMBERED) > now);
        let random: String = (0..64).map(|_| rng.alphanumeric()).collect();
        let token = format!("simulated.{random}");
        let made = Token {
            client_id: client_id.to_owned(),
            expires: later(now, life),
        };
        self.tokens.insert(token.clone(), made);
        token
    }

    /// The token of that text.
    pub(crate) fn token(&self, text: &str) -> Option<&Token> {
        self.tokens.get(text)
    }

    /// Ends all tokens now.
    pub(crate) fn expire_tokens(&mut self, now: Timestamp) {
        for token in self.tokens.values_mut() {
            token.expires = token.expires.min(now);
        }
    }
}
