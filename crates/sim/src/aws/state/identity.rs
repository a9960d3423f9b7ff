//! Who calls: access keys, roles and their sessions.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{clock::later, saved::pairs, secret::Hidden};

/// What a principal may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Rights {
    /// Everything in its account.
    Everything,
    /// What a worker's instance profile carries: reading instances and regions, and whatever a
    /// bucket's policy grants its role.
    Worker,
}

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Principal {
    pub(crate) account: String,
    pub(crate) arn: String,
    pub(crate) user_id: String,
    /// Name of the role behind a session.
    pub(crate) role: Option<String>,
    pub(crate) rights: Rights,
}

/// A key that can sign.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Key {
    pub(crate) secret: Hidden,
    pub(crate) session_token: Option<Hidden>,
    pub(crate) expires: Option<Timestamp>,
    pub(crate) principal: Principal,
}

/// An IAM role.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Role {
    pub(crate) account: String,
    pub(crate) name: String,
    pub(crate) rights: Rights,
    /// Accounts that may assume it; empty: an instance profile's role.
    pub(crate) trusted_accounts: Vec<String>,
    /// Token issuer's subject that may assume it with a web identity.
    pub(crate) web_identity_subject: Option<String>,
    pub(crate) external_id: Option<String>,
}

impl Role {
    /// `arn:aws:iam::<account>:role/<name>`.
    pub(crate) fn arn(&self) -> String {
        format!("arn:aws:iam::{}:role/{}", self.account, self.name)
    }
}

/// Credentials of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) access_key_id: String,
    pub(crate) secret: Hidden,
    pub(crate) token: Hidden,
    pub(crate) expires: Timestamp,
    pub(crate) arn: String,
    pub(crate) assumed_role_id: String,
}

/// All keys and roles of the world.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) keys: HashMap<String, Key>,
    /// By ARN.
    pub(crate) roles: BTreeMap<String, Role>,
    /// Instance profile name to role ARN, by account.
    #[serde(with = "pairs")]
    pub(crate) profiles: BTreeMap<(String, String), String>,
    instance_sessions: HashMap<String, Session>,
}

impl Identity {
    /// Makes a session of a role.
    pub(crate) fn open_session(
        &mut self,
        role_arn: &str,
        name: &str,
        span: Duration,
        now: Timestamp,
        rng: &mut fastrand::Rng,
    ) -> Option<Session> {
        let role = self.roles.get(role_arn)?;
        let role_id = format!("AROA{:0>16}", text(rng, 16));
        let arn = format!(
            "arn:aws:sts::{}:assumed-role/{}/{name}",
            role.account, role.name
        );
        let session = Session {
            access_key_id: format!("ASIA{}", text(rng, 16)),
            secret: Hidden(text(rng, 40)),
            token: Hidden(format!("FwoGZXIvYXdzE{}", text(rng, 80))),
            expires: later(now, span),
            arn: arn.clone(),
            assumed_role_id: format!("{role_id}:{name}"),
        };
        let principal = Principal {
            account: role.account.clone(),
            arn,
            user_id: session.assumed_role_id.clone(),
            role: Some(role.name.clone()),
            rights: role.rights.clone(),
        };
        let key = Key {
            secret: session.secret.clone(),
            session_token: Some(session.token.clone()),
            expires: Some(session.expires),
            principal,
        };
        self.keys.insert(session.access_key_id.clone(), key);
        Some(session)
    }

    /// Credentials the metadata service of an instance with this profile would hand out. All
    /// instances of a profile share a session; it is renewed five minutes before it ends.
    pub(crate) fn instance_session(
        &mut self,
        account: &str,
        profile: &str,
        now: Timestamp,
        rng: &mut fastrand::Rng,
    ) -> Option<Session> {
        const SPAN: Duration = Duration::from_hours(6);
        let role = self
            .profiles
            .get(&(account.to_owned(), profile.to_owned()))?
            .clone();
        let soon = later(now, Duration::from_mins(5));
        if let Some(session) = self
            .instance_sessions
            .get(&role)
            .filter(|s| s.expires > soon)
        {
            return Some(session.clone());
        }
        let session = self.open_session(&role, "simulated-instances", SPAN, now, rng)?;
        self.instance_sessions.insert(role, session.clone());
        Some(session)
    }
}

fn text(rng: &mut fastrand::Rng, length: usize) -> String {
    (0..length)
        .map(|_| rng.alphanumeric().to_ascii_uppercase())
        .collect()
}
