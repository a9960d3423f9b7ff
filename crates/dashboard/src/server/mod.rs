//! The pages over HTTP: one `axum::Router`, which tests call without a socket.

mod actions;
mod assets;
mod form;
mod guard;
mod person;
mod sign_in;
mod view;

use std::sync::Arc;

use axum::{
    Router,
    http::Uri,
    middleware,
    routing::{get, post},
};
use jiff::Timestamp;
use kube::Client;
use tokio::sync::Semaphore;

pub(crate) use person::Person;

use crate::{
    CallFigures, Clock, History,
    client::{Refusal, Token},
    gather,
    pages::{Page, Pages},
    place::Place,
    session::{NoRandomness, Sessions},
    view_model,
};

/// Pages that are looked at with updates at one time.
const STREAMS: usize = 256;

/// What a dashboard is made of.
pub struct Options {
    /// Reaches the Kubernetes API and carries no credentials: those are the person's.
    pub kubernetes: Client,
    /// The time.
    pub clock: Clock,
    /// What was seen of pools.
    pub history: Arc<History>,
    /// What is known of cloud calls.
    pub calls: Option<Arc<dyn CallFigures>>,
    /// Names under which it is reached, without ports: a request for another name is refused, so
    /// that no foreign site can point its own name here.
    pub hosts: Vec<String>,
    /// It is reached over TLS.
    pub secure: bool,
    /// Tells its cookie from those of other dashboards on the same host.
    pub cookie: String,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("hosts", &self.hosts)
            .field("secure", &self.secure)
            .finish_non_exhaustive()
    }
}

/// Why a dashboard cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A page is not well formed.
    #[error("a page is not well formed: {0}")]
    Template(String),
}

/// The dashboard. Cheap to clone.
#[derive(Clone)]
pub struct Dashboard {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dashboard").finish_non_exhaustive()
    }
}

pub(crate) struct Inner {
    kubernetes: Client,
    clock: Clock,
    history: Arc<History>,
    calls: Option<Arc<dyn CallFigures>>,
    hosts: Vec<String>,
    secure: bool,
    cookie: String,
    sessions: Sessions,
    pages: Pages,
    streams: Arc<Semaphore>,
}

impl Dashboard {
    /// # Errors
    /// A page is not well formed.
    pub fn new(options: Options) -> Result<Self, StartError> {
        let pages = Pages::new().map_err(|error| StartError::Template(error.to_string()))?;
        let Options {
            kubernetes,
            clock,
            history,
            calls,
            hosts,
            secure,
            cookie,
        } = options;
        let inner = Inner {
            kubernetes,
            clock,
            history,
            calls,
            hosts,
            secure,
            // The prefix makes browsers refuse the cookie from anywhere but this very host.
            cookie: if secure {
                format!("__Host-{cookie}")
            } else {
                cookie
            },
            sessions: Sessions::new(),
            pages,
            streams: Arc::new(Semaphore::new(STREAMS)),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Path of a link that signs in once, with a token. It is a secret.
    ///
    /// # Errors
    /// The machine gives no randomness. `Ok(None)`: no header can carry the token.
    pub fn sign_in_link(&self, token: &str) -> Result<Option<String>, NoRandomness> {
        let Some(token) = Token::new(token) else {
            return Ok(None);
        };
        let code = self.inner.sessions.link(token, self.inner.now())?;
        Ok(Some(format!("/sign-in/{}", code.0)))
    }

    /// The service.
    pub fn router(&self) -> Router {
        let pages = Router::new()
            .route("/", get(view::page))
            .route("/calls", get(view::page))
            .route("/pools/{namespace}/{name}", get(view::page))
            .route("/pools/{namespace}/{name}/machines/{id}", get(view::page))
            .route("/machines/{namespace}/{name}", get(view::page))
            .route("/live", get(view::live))
            .route("/pools/{namespace}/{name}/scale", post(actions::scale))
            .route("/pools/{namespace}/{name}/pause", post(actions::pause))
            .route("/pools/{namespace}/{name}/resume", post(actions::resume))
            .route(
                "/machines/{namespace}/{name}/delete",
                get(actions::ask_delete).post(actions::delete),
            )
            .route("/sign-in", get(sign_in::form).post(sign_in::with_token))
            .route("/sign-in/{code}", get(sign_in::with_link))
            .route("/sign-out", post(sign_in::out))
            .route("/assets/{name}", get(assets::asset))
            .fallback(view::nowhere);
        let inner = self.inner.clone();
        pages
            .layer(middleware::from_fn_with_state(inner.clone(), guard::guard))
            .with_state(inner)
    }
}

impl Inner {
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Whether somebody is still signed in. Updates of a page that nobody touches do not count as
    /// use.
    pub(crate) fn is_signed_in(&self, person: &Person) -> bool {
        self.sessions.is_open(&person.id, self.now())
    }

    /// A page for a person.
    pub(crate) async fn page(&self, person: &Person, place: &Place) -> Result<Page, Refusal> {
        let (api, now, csrf) = (&person.api, self.now(), person.csrf.as_str());
        let page = match place {
            Place::Overview(asked) => {
                let (pools, scene) = gather::overview(api, asked.namespace.as_deref(), now).await?;
                for pool in &pools {
                    self.history.see(pool, now);
                }
                self.overview_page(&view_model::overview(&pools, &scene, asked), csrf)
            }
            Place::Pool {
                namespace,
                name,
                all,
            } => {
                let (pool, scene) = gather::pool(api, namespace, name, now).await?;
                self.history.see(&pool, now);
                let points = self.history.of(&pool);
                self.pool_page(&view_model::pool(&pool, &scene, &points, *all), csrf)
            }
            Place::Member {
                namespace,
                pool,
                id,
            } => {
                let (pool, scene) = gather::pool(api, namespace, pool, now).await?;
                let page = view_model::member(&pool, id, &scene).ok_or(Refusal::Missing)?;
                self.machine_page(&page, csrf)
            }
            Place::Machine { namespace, name } => {
                let (machine, scene) = gather::machine(api, namespace, name, now).await?;
                self.machine_page(&view_model::machine(&machine, &scene), csrf)
            }
            Place::Calls => {
                // Only somebody whom the API still knows sees what the process does.
                api.who_am_i().await?;
                let report = self.calls.as_ref().map(|calls| calls.report());
                let page = view_model::calls(report.as_ref(), now);
                self.fragments("Cloud calls", "calls", &page, csrf, &[("calls", "full")])
            }
        };
        page.map_err(|error| Refusal::Invalid(format!("this page cannot be drawn: {error:#}")))
    }

    fn overview_page(
        &self,
        page: &view_model::OverviewPage,
        csrf: &str,
    ) -> Result<Page, minijinja::Error> {
        const PARTS: [(&str, &str); 3] = [
            ("overview-head", "full"),
            ("overview-filter", "full"),
            ("overview-pools", "full"),
        ];
        self.fragments("Pools", "pools", page, csrf, &PARTS)
    }

    fn pool_page(&self, page: &view_model::PoolPage, csrf: &str) -> Result<Page, minijinja::Error> {
        const PARTS: [(&str, &str); 8] = [
            ("pool-head", "full"),
            ("pool-changes", "wide"),
            ("pool-actions", "narrow"),
            ("pool-machines", "full"),
            ("pool-history", "wide"),
            ("pool-run", "narrow"),
            ("events", "full"),
            ("conditions", "full"),
        ];
        self.fragments(&page.name, "pools", page, csrf, &PARTS)
    }

    fn machine_page(
        &self,
        page: &view_model::MachinePage,
        csrf: &str,
    ) -> Result<Page, minijinja::Error> {
        const PARTS: [(&str, &str); 5] = [
            ("machine-head", "full"),
            ("machine-phases", "full"),
            ("machine-facts", "full"),
            ("events", "full"),
            ("conditions", "full"),
        ];
        self.fragments(&page.name, "pools", page, csrf, &PARTS)
    }

    fn fragments<T: serde::Serialize>(
        &self,
        title: &str,
        nav: &'static str,
        page: &T,
        csrf: &str,
        parts: &[(&'static str, &'static str)],
    ) -> Result<Page, minijinja::Error> {
        let fragments = parts
            .iter()
            .map(|(id, width)| self.pages.fragment(id, width, page, csrf));
        Ok(Page {
            title: title.to_owned(),
            nav,
            fragments: fragments.collect::<Result<_, _>>()?,
        })
    }
}

/// Path and query of a request, as [`Place::at`] takes them.
fn path_and_query(uri: &Uri) -> &str {
    uri.path_and_query()
        .map_or("/", http::uri::PathAndQuery::as_str)
}
