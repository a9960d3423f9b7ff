//! A backend but for its cloud: credentials to logins, handles to regions, and what all of an
//! account's credentials share.
//!
//! ```text
//! Backend ── one login a credential ── one region a place ── sweep, images, outlet (the cloud's)
//!         └─ limits by account: calls in flight, ceilings
//! ```
//!
//! What was read stays with the credential that read it: two credentials of one account may be
//! allowed to see different things.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use remuda_plan::{
    driver::{Desired, Driver, Handle, Observed},
    error::FailureClass,
    pool::{
        action::Action,
        read::{Depth, Freshness},
    },
};
use tokio::time::Instant;

use crate::{
    Applied, CloudError, Credentials, PoolBackend, PoolSession,
    backend::CredentialSource,
    error::failure,
    examined::Fact,
    identity::fingerprint,
    limits::{LimitSettings, Limits, Registry},
    locked,
};

/// An account that no pool asked for this long is dropped, credential and all: after a rotation
/// nobody uses the old one. Ours: several times the longest default interval between two passes.
const IDLE_ACCOUNT: Duration = Duration::from_mins(30);

/// What a cloud adds to a [`Backend`].
pub trait Cloud: fmt::Debug + Send + Sync + Sized + 'static {
    /// Which driver it serves.
    const DRIVER: Driver;
    /// How it is reached.
    type Options;
    /// What to look at, in the plan's words for this cloud.
    type Handle: Sync;
    /// What to do, likewise.
    type Action: Sync;
    /// What should exist, likewise.
    type Desired: Sync;
    /// One credential that can be used: kept, and renewed.
    type Login: fmt::Debug + Send + Sync;
    /// One credential in one place: its clients and what was read with them.
    type Region: fmt::Debug + Send + Sync;

    /// Reached as `options` say. Sends nothing yet.
    fn new(options: Self::Options) -> Self;

    /// What bounds its calls.
    fn limits(&self) -> LimitSettings;

    /// A credential, ready to be used. Sends nothing.
    ///
    /// # Errors
    /// `NoCredentials` naming what is missing, never a value.
    fn log_in(&self, source: &CredentialSource) -> Result<Self::Login, CloudError>;

    /// The handle, if it is this cloud's.
    fn handle(handle: &Handle) -> Option<&Self::Handle>;

    /// The action, if it is this cloud's.
    fn action(action: &Action) -> Option<&Self::Action>;

    /// What is desired, if it is of this cloud.
    fn desired(desired: &Desired) -> Option<&Self::Desired>;

    /// Whom the cloud takes a credential for.
    fn who(login: &Self::Login) -> impl Future<Output = Result<String, CloudError>> + Send;

    /// Asks for everything that a pool needs; changes nothing.
    fn examine(
        region: &Self::Region,
        handle: &Self::Handle,
        desired: Option<&Self::Desired>,
    ) -> impl Future<Output = Vec<Fact>> + Send;

    /// Where the calls for a handle go.
    fn place(login: &Self::Login, handle: &Self::Handle) -> Place;

    /// Opens a place. Sends nothing.
    fn open(&self, login: &Arc<Self::Login>, place: &Place, limits: Limits) -> Self::Region;

    /// Reads what exists of a pool.
    fn observe(
        region: &Self::Region,
        handle: &Self::Handle,
        depth: Depth,
        freshness: Freshness,
    ) -> impl Future<Output = Observed> + Send;

    /// Makes one call for a pool.
    fn apply(
        region: &Self::Region,
        handle: &Self::Handle,
        action: &Self::Action,
    ) -> impl Future<Output = Result<Applied, CloudError>> + Send;
}

/// Where calls go, and who counts them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The cloud account that the calls count against; `None` where nothing tells, and then each
    /// credential is taken for an account of its own.
    pub account: Option<String>,
    /// Region or location.
    pub region: String,
}

/// A cloud as the controllers see it.
#[derive(Debug)]
pub struct Backend<C: Cloud> {
    shared: Arc<Shared<C>>,
}

#[derive(Debug)]
struct Shared<C: Cloud> {
    cloud: C,
    limits: Registry,
    accounts: Mutex<BTreeMap<String, Arc<Account<C>>>>,
}

/// One credential, whoever uses it.
#[derive(Debug)]
struct Account<C: Cloud> {
    fingerprint: String,
    login: Arc<C::Login>,
    regions: Mutex<BTreeMap<Place, Arc<C::Region>>>,
    used_at: Mutex<Instant>,
}

/// A cloud through one credential.
#[derive(Debug)]
struct Session<C: Cloud> {
    account: Arc<Account<C>>,
    /// Keeps the cloud alive for as long as anyone uses it.
    shared: Arc<Shared<C>>,
}

impl<C: Cloud> Backend<C> {
    /// A backend. Sends nothing yet.
    pub fn new(options: C::Options) -> Self {
        let cloud = C::new(options);
        Self {
            shared: Arc::new(Shared {
                limits: Registry::new(cloud.limits()),
                cloud,
                accounts: Mutex::default(),
            }),
        }
    }
}

impl<C: Cloud> Shared<C> {
    fn account(&self, credentials: &Credentials) -> Result<Arc<Account<C>>, CloudError> {
        let fingerprint = fingerprint(&credentials.source);
        let now = Instant::now();
        let mut accounts = locked(&self.accounts);
        accounts.retain(|_, account| now.duration_since(*locked(&account.used_at)) <= IDLE_ACCOUNT);
        if let Some(account) = accounts.get(&fingerprint) {
            *locked(&account.used_at) = now;
            return Ok(Arc::clone(account));
        }
        let account = Arc::new(Account {
            fingerprint: fingerprint.clone(),
            login: Arc::new(self.cloud.log_in(&credentials.source)?),
            regions: Mutex::default(),
            used_at: Mutex::new(now),
        });
        accounts.insert(fingerprint, Arc::clone(&account));
        Ok(account)
    }
}

impl<C: Cloud> Session<C> {
    fn region(&self, handle: &C::Handle) -> Arc<C::Region> {
        let account = &self.account;
        let place = C::place(&account.login, handle);
        let mut regions = locked(&account.regions);
        if let Some(region) = regions.get(&place) {
            return Arc::clone(region);
        }
        let whose = place.account.as_ref().unwrap_or(&account.fingerprint);
        let limits = self.shared.limits.limits(whose, &place.region);
        let region = self.shared.cloud.open(&account.login, &place, limits);
        Arc::clone(regions.entry(place).or_insert(Arc::new(region)))
    }
}

#[async_trait]
impl<C: Cloud> PoolBackend for Backend<C> {
    fn driver(&self) -> Driver {
        C::DRIVER
    }

    async fn session(&self, credentials: &Credentials) -> Result<Arc<dyn PoolSession>, CloudError> {
        Ok(Arc::new(Session {
            account: self.shared.account(credentials)?,
            shared: Arc::clone(&self.shared),
        }))
    }
}

#[async_trait]
impl<C: Cloud> PoolSession for Session<C> {
    async fn observe(
        &self,
        handle: &Handle,
        depth: Depth,
        freshness: Freshness,
    ) -> Result<Observed, CloudError> {
        let handle = C::handle(handle).ok_or_else(|| not_ours::<C>("a handle of another cloud"))?;
        Ok(C::observe(&self.region(handle), handle, depth, freshness).await)
    }

    async fn apply(&self, handle: &Handle, action: &Action) -> Result<Applied, CloudError> {
        let handle = C::handle(handle).ok_or_else(|| not_ours::<C>("a handle of another cloud"))?;
        let ours = C::action(action).ok_or_else(|| {
            not_ours::<C>(match action {
                Action::Remember(_) => "a record write is not a cloud call",
                _ => "an action for another cloud",
            })
        })?;
        C::apply(&self.region(handle), handle, ours).await
    }

    async fn who(&self) -> Result<String, CloudError> {
        C::who(&self.account.login).await
    }

    async fn examine(
        &self,
        handle: &Handle,
        desired: Option<&Desired>,
    ) -> Result<Vec<Fact>, CloudError> {
        let handle = C::handle(handle).ok_or_else(|| not_ours::<C>("a handle of another cloud"))?;
        let ours = desired.and_then(C::desired);
        if desired.is_some() && ours.is_none() {
            return Err(not_ours::<C>("what is desired is of another cloud"));
        }
        Ok(C::examine(&self.region(handle), handle, ours).await)
    }
}

fn not_ours<C: Cloud>(why: &str) -> CloudError {
    failure(FailureClass::Bug, C::DRIVER.name(), why).into()
}
