//! Who is signed in. A session is an id in a cookie and, here, the person's token: the browser
//! never holds the token. In memory only, in bounds; a restart signs everybody out.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, PoisonError},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom, SystemRandom},
};

use crate::client::Token;

/// A session ends when it is not used for this long.
const IDLE: SignedDuration = SignedDuration::from_hours(12);
/// A sign-in link that nobody used is void after this long.
const LINK: SignedDuration = SignedDuration::from_hours(24);
/// Sessions at one time; the one that was not used for longest makes room.
const SESSIONS: usize = 1_000;

/// Ids are kept as digests: what is in memory opens nothing.
type Digest = Vec<u8>;

/// Somebody who is signed in.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) token: Token,
    /// The name under which the API knows them.
    pub(crate) user: String,
    /// What a form must carry.
    pub(crate) csrf: String,
    used: Timestamp,
    /// What the next page says first.
    said: Option<Said>,
}

/// Outcome of an action, for the next page.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Said {
    pub(crate) good: bool,
    pub(crate) text: String,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// An id that opens something: shown once, in a cookie or a link.
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// The machine gives no randomness.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("this machine gives no randomness")]
pub struct NoRandomness;

/// All sessions, and the links that start one.
pub(crate) struct Sessions {
    random: SystemRandom,
    open: Mutex<HashMap<Digest, Session>>,
    links: Mutex<HashMap<Digest, (Token, Timestamp)>>,
}

impl Sessions {
    pub(crate) fn new() -> Self {
        Self {
            random: SystemRandom::new(),
            open: Mutex::default(),
            links: Mutex::default(),
        }
    }

    fn draw(&self) -> Result<String, NoRandomness> {
        let mut bytes = [0; 32];
        self.random.fill(&mut bytes).map_err(|_| NoRandomness)?;
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Signs somebody in.
    pub(crate) fn open(
        &self,
        token: Token,
        user: String,
        now: Timestamp,
    ) -> Result<Secret, NoRandomness> {
        let (id, csrf) = (self.draw()?, self.draw()?);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, session| now.duration_since(session.used) < IDLE);
        if open.len() >= SESSIONS
            && let Some(oldest) = open
                .iter()
                .min_by_key(|(_, s)| s.used)
                .map(|(id, _)| id.clone())
        {
            open.remove(&oldest);
        }
        let session = Session {
            token,
            user,
            csrf,
            used: now,
            said: None,
        };
        open.insert(digested(&id), session);
        Ok(Secret(id))
    }

    /// The session of an id, while it lives.
    pub(crate) fn get(&self, id: &str, now: Timestamp) -> Option<Session> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let key = digested(id);
        let session = open.get_mut(&key)?;
        if now.duration_since(session.used) >= IDLE {
            open.remove(&key);
            return None;
        }
        session.used = session.used.max(now);
        Some(session.clone())
    }

    /// Whether a session lives. Asking does not make it live longer.
    pub(crate) fn is_open(&self, id: &str, now: Timestamp) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(&digested(id))
            .is_some_and(|session| now.duration_since(session.used) < IDLE)
    }

    /// Signs somebody out.
    pub(crate) fn close(&self, id: &str) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&digested(id));
    }

    /// Leaves something for the next page to say.
    pub(crate) fn say(&self, id: &str, said: Said) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = open.get_mut(&digested(id)) {
            session.said = Some(said);
        }
    }

    /// Takes what was left to be said.
    pub(crate) fn said(&self, id: &str) -> Option<Said> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get_mut(&digested(id))?.said.take()
    }

    /// A code that signs in once, with a token.
    pub(crate) fn link(&self, token: Token, now: Timestamp) -> Result<Secret, NoRandomness> {
        let code = self.draw()?;
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|_, (_, made)| now.duration_since(*made) < LINK);
        links.insert(digested(&code), (token, now));
        Ok(Secret(code))
    }

    /// Redeems a code. It is void from then on.
    pub(crate) fn redeem(&self, code: &str, now: Timestamp) -> Option<Token> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let (token, made) = links.remove(&digested(code))?;
        (now.duration_since(made) < LINK).then_some(token)
    }
}

fn digested(id: &str) -> Digest {
    digest(&SHA256, id.as_bytes()).as_ref().to_vec()
}

/// Whether two secrets are equal, without telling by the time where they differ.
pub(crate) fn same(a: &str, b: &str) -> bool {
    // Equal digests of what an attacker cannot choose both of: comparing them tells nothing.
    digested(a) == digested(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> Token {
        Token::new("t").unwrap()
    }

    fn at(hours: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours)
    }

    #[test]
    fn a_session_lives_while_it_is_used() {
        let sessions = Sessions::new();
        let Secret(id) = sessions.open(token(), "ann".into(), at(0)).unwrap();
        assert_eq!(sessions.get(&id, at(11)).unwrap().user, "ann");
        assert!(sessions.get(&id, at(22)).is_some(), "it was used at 11");
        assert!(sessions.is_open(&id, at(33)));
        assert!(!sessions.is_open(&id, at(34)), "looking at it was no use");
        assert!(sessions.get(&id, at(35)).is_none());
        assert!(sessions.get(&id, at(22)).is_none(), "it does not come back");
    }

    #[test]
    fn signing_out_ends_it_and_others_stay() {
        let sessions = Sessions::new();
        let Secret(one) = sessions.open(token(), "ann".into(), at(0)).unwrap();
        let Secret(two) = sessions.open(token(), "bob".into(), at(0)).unwrap();
        assert_ne!(one, two);
        sessions.close(&one);
        assert!(sessions.get(&one, at(0)).is_none());
        assert!(sessions.get(&two, at(0)).is_some());
    }

    #[test]
    fn a_link_works_once_and_not_for_ever() {
        let sessions = Sessions::new();
        let Secret(code) = sessions.link(token(), at(0)).unwrap();
        assert!(sessions.redeem("another", at(1)).is_none());
        assert!(sessions.redeem(&code, at(1)).is_some());
        assert!(sessions.redeem(&code, at(1)).is_none());
        let Secret(late) = sessions.link(token(), at(0)).unwrap();
        assert!(sessions.redeem(&late, at(24)).is_none());
    }

    #[test]
    fn sessions_are_bounded() {
        let sessions = Sessions::new();
        let Secret(first) = sessions.open(token(), "first".into(), at(0)).unwrap();
        for _ in 0..SESSIONS {
            sessions.open(token(), "other".into(), at(1)).unwrap();
        }
        assert!(sessions.get(&first, at(1)).is_none());
        assert_eq!(sessions.open.lock().unwrap().len(), SESSIONS);
    }

    #[test]
    fn what_was_said_is_said_once() {
        let sessions = Sessions::new();
        let Secret(id) = sessions.open(token(), "ann".into(), at(0)).unwrap();
        sessions.say(
            &id,
            Said {
                good: true,
                text: "done".into(),
            },
        );
        assert_eq!(sessions.said(&id).unwrap().text, "done");
        assert_eq!(sessions.said(&id), None);
    }

    #[test]
    fn nothing_secret_prints() {
        let sessions = Sessions::new();
        let id = sessions
            .open(Token::new("very-secret").unwrap(), "ann".into(), at(0))
            .unwrap();
        let printed = format!("{id:?} {:?}", sessions.get(&id.0, at(0)));
        assert!(
            !printed.contains("very-secret") && !printed.contains(&id.0),
            "{printed}"
        );
    }
}
