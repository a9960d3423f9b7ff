//! One request, read and checked: which kind, which object, which options, whose.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};

use crate::instance::Instance;
use crate::registry::{Behaviour, Served};
use crate::request::accept::{Form, Wish};
use crate::request::options::Options;
use crate::request::path::Target;
use crate::request::{Caller, body};
use crate::status_error::{Failure, Outcome};
use crate::store::{Key, Record};

/// Warnings that one answer carries at most.
const WARNINGS: usize = 64;

/// What a handler works on.
pub(crate) struct Call {
    pub(crate) instance: Instance,
    pub(crate) served: Served,
    pub(crate) target: Target,
    pub(crate) options: Options,
    pub(crate) wish: Wish,
    pub(crate) caller: Caller,
    /// The field manager of a write.
    pub(crate) manager: String,
    pub(crate) media_type: String,
    pub(crate) body: Bytes,
    warnings: Mutex<Vec<String>>,
}

impl Call {
    /// Reads a request for `target`.
    pub(crate) async fn read(
        instance: &Instance,
        target: Target,
        request: Request<Body>,
    ) -> Outcome<Self> {
        let (parts, body) = request.into_parts();
        let registry = instance.registry();
        let served = registry
            .at(&target.group, &target.version, &target.plural)
            .ok_or_else(|| super::nowhere(&registry, &target.group, &target.version))?;
        check_shape(&served, &target)?;
        let options = Options::parse(parts.uri.query().unwrap_or_default(), &parts.method)?;
        options.check()?;
        let agent = parts
            .headers
            .get(header::USER_AGENT)
            .and_then(|value| value.to_str().ok());
        let agent = agent
            .unwrap_or("unknown")
            .split('/')
            .next()
            .unwrap_or("unknown");
        let manager = match options.field_manager.as_str() {
            "" => agent.to_owned(),
            own => own.to_owned(),
        };
        let call = Self {
            instance: instance.clone(),
            wish: Wish::of(&parts.headers, served.kind.is_custom())?,
            caller: parts
                .extensions
                .get::<Caller>()
                .cloned()
                .unwrap_or_else(Caller::admin),
            manager,
            media_type: body::media_type(&parts.headers).to_owned(),
            body: body::read(body).await?,
            warnings: Mutex::new(Vec::new()),
            served,
            target,
            options,
        };
        check_table(&call)?;
        if let Some(warning) = &call.served.version().deprecation {
            call.warn(warning.clone());
        }
        Ok(call)
    }

    /// The name in the path.
    pub(crate) fn name(&self) -> &str {
        self.target.name.as_deref().unwrap_or_default()
    }

    /// The key of the named object.
    pub(crate) fn key(&self) -> Key {
        self.key_of(self.name())
    }

    /// The key of another object of this collection.
    pub(crate) fn key_of(&self, name: &str) -> Key {
        Instance::key(&self.served.kind, self.target.namespace.as_deref(), name)
    }

    /// The named object as readers see it.
    pub(crate) fn current(&self) -> Outcome<Arc<Record>> {
        let found = self.instance.get(&self.key());
        found.ok_or_else(|| Failure::not_found(&self.served.kind, self.name()))
    }

    /// Adds a `Warning` header to the answer.
    pub(crate) fn warn(&self, text: String) {
        let mut warnings = self.warnings.lock().expect("no holder of this lock panics");
        if warnings.len() < WARNINGS && !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// The answer with the gathered warnings.
    pub(crate) fn with_warnings(&self, mut response: Response<Body>) -> Response<Body> {
        let warnings = self.warnings.lock().expect("no holder of this lock panics");
        for warning in warnings.iter() {
            let text = warning.replace('\\', "\\\\").replace('"', "\\\"");
            if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
                response.headers_mut().append(header::WARNING, value);
            }
        }
        response
    }
}

/// Whether the path has the shape that the kind has.
fn check_shape(served: &Served, target: &Target) -> Outcome<()> {
    let kind = &served.kind;
    let named = target.name.is_some();
    let misplaced = if kind.namespaced {
        named && target.namespace.is_none()
    } else {
        target.namespace.is_some()
    };
    let nowhere = || {
        if kind.is_custom() {
            Failure::no_such_page()
        } else {
            Failure::no_such_path()
        }
    };
    if misplaced {
        return Err(nowhere());
    }
    let known = match target.subresource.as_str() {
        "" => true,
        "status" => served.version().status,
        "scale" => served.version().scale.is_some(),
        "binding" | "eviction" => kind.behaviour == Behaviour::Pod,
        "token" => kind.behaviour == Behaviour::ServiceAccount,
        "finalize" => kind.behaviour == Behaviour::Namespace,
        "approval" => kind.behaviour == Behaviour::CertificateSigningRequest,
        _ => false,
    };
    match &target.name {
        _ if known => Ok(()),
        Some(name) if kind.is_custom() => Err(Failure::not_found(kind, name)),
        _ => Err(nowhere()),
    }
}

/// Whether the rows of a wished table can carry what they should.
fn check_table(call: &Call) -> Outcome<()> {
    let include = call.options.include_object.as_str();
    if call.wish.form != Form::Table || matches!(include, "" | "None" | "Metadata" | "Object") {
        return Ok(());
    }
    Err(Failure::bad_request(format!(
        "Unable to convert to Table as requested: includeObject: Invalid value: {include:?}: must be \
         'Metadata', 'Object', 'None', or empty"
    )))
}
