//! The calls: mutating webhooks one after another, validating ones at the same time.

use std::sync::Arc;

use futures::future::join_all;
use serde_json::{Value, json};

use super::attributes::{Attributes, Invocation, KindName};
use super::conditions::Decision;
use super::hook::{Hook, Phase};
use super::review;
use super::rounds::Rounds;
use super::select::{invocation, is_exempt};
use super::verdict::{Verdict, verdict};
use crate::conversion;
use crate::instance::Instance;
use crate::object::text;
use crate::registry::Kind;
use crate::status_error::{Failure, Outcome, qualified};

/// Asks the webhooks of an instance about the requests of one kind.
pub(crate) struct Asking<'a> {
    pub(crate) instance: &'a Instance,
    /// The kind behind the resource: it knows how to convert and what to default.
    pub(crate) kind: &'a Kind,
    pub(crate) warn: &'a (dyn Fn(String) + Send + Sync),
}

/// Why a webhook does not let a request pass.
enum Trouble {
    /// It could not be asked: its failure policy counts.
    Failed(String),
    Refused(Failure),
}

impl Asking<'_> {
    /// Asks the mutating webhooks in order. Returns the object as they left it, at the version of
    /// the request, or `None` when none gave a patch.
    pub(crate) async fn mutate(&self, mut request: Attributes) -> Outcome<Option<Value>> {
        let hooks = self.instance.hooks();
        if hooks.mutating.is_empty() || is_exempt(&request.resource) {
            return Ok(None);
        }
        let old = request.old.clone();
        // The version that the object is at now; webhooks may ask for others.
        let mut at = request.kind.clone();
        let (mut rounds, mut patched) = (Rounds::default(), false);
        loop {
            for (place, hook) in hooks.mutating.iter().enumerate() {
                let Some(invocation) = self
                    .chosen(hook, &mut request, &mut at, old.as_ref())
                    .await?
                else {
                    continue;
                };
                if !rounds.is_due(place) {
                    continue;
                }
                self.turn(&mut request, &mut at, &invocation.kind, old.as_ref())
                    .await?;
                let asked = self.ask(hook, Phase::Mutating, &invocation, &request).await;
                let verdict = match asked {
                    Err(trouble) => {
                        self.settle(hook, trouble)?;
                        None
                    }
                    Ok(verdict) => Some(verdict),
                };
                let operations = match verdict {
                    Some(verdict) => self.heed(verdict)?,
                    None => Vec::new(),
                };
                let changed = self.apply(hook, &mut request, &at, &operations)?;
                patched |= !operations.is_empty();
                rounds.answered(place, hook.reinvocable, changed);
            }
            if !rounds.again() {
                break;
            }
        }
        if !patched {
            return Ok(None);
        }
        let own = request.kind.clone();
        self.turn(&mut request, &mut at, &own, None).await?;
        Ok(request.object.map(Arc::unwrap_or_clone))
    }

    /// Asks the validating webhooks at the same time. Of several refusals the first in order counts.
    pub(crate) async fn validate(&self, mut request: Attributes) -> Outcome<()> {
        let hooks = self.instance.hooks();
        if hooks.validating.is_empty() || is_exempt(&request.resource) {
            return Ok(());
        }
        let old = request.old.clone();
        let mut at = request.kind.clone();
        let mut asked = Vec::new();
        for hook in &hooks.validating {
            let Some(invocation) = self
                .chosen(hook, &mut request, &mut at, old.as_ref())
                .await?
            else {
                continue;
            };
            self.turn(&mut request, &mut at, &invocation.kind, old.as_ref())
                .await?;
            asked.push((hook, invocation, request.clone()));
        }
        let calls = asked.iter().map(|(hook, invocation, request)| {
            self.ask(hook, Phase::Validating, invocation, request)
        });
        let answers = join_all(calls).await;
        let mut refusal = None;
        for ((hook, ..), answer) in asked.iter().zip(answers) {
            let outcome = match answer {
                Ok(verdict) => self.heed(verdict).map(|_| ()),
                Err(trouble) => self.settle(hook, trouble),
            };
            refusal = refusal.or(outcome.err());
        }
        refusal.map_or(Ok(()), Err)
    }

    /// Whether a webhook is asked, and about which version.
    async fn chosen(
        &self,
        hook: &Hook,
        request: &mut Attributes,
        at: &mut KindName,
        old: Option<&Arc<Value>>,
    ) -> Outcome<Option<Invocation>> {
        let Some(invocation) = invocation(hook, request)? else {
            return Ok(None);
        };
        if hook.conditions.is_empty() {
            return Ok(Some(invocation));
        }
        self.turn(request, at, &invocation.kind, old).await?;
        let shown = Value::Object(review::request(request, &invocation, ""));
        let null = Value::Null;
        let variables = [
            ("object", request.object.as_deref().unwrap_or(&null)),
            ("oldObject", request.old.as_deref().unwrap_or(&null)),
            ("request", &shown),
        ];
        match hook.conditions.decide(&variables, hook.ignores_failure) {
            Decision::Ask => Ok(Some(invocation)),
            Decision::Skip => Ok(None),
            Decision::Refuse(why) => {
                let resource = &request.resource;
                let what = qualified(&resource.group, &resource.resource);
                let message = format!("{what} {:?} is forbidden: {why}", request.name);
                let mut failure = Failure::new(403, "Forbidden", message);
                for (field, value) in [
                    ("group", &resource.group),
                    ("kind", &resource.resource),
                    ("name", &request.name),
                ] {
                    if !value.is_empty() {
                        failure.details.insert(field.into(), value.as_str().into());
                    }
                }
                Err(failure)
            }
        }
    }

    /// Brings the objects of a request to another version.
    async fn turn(
        &self,
        request: &mut Attributes,
        at: &mut KindName,
        wanted: &KindName,
        old: Option<&Arc<Value>>,
    ) -> Outcome<()> {
        if at == wanted {
            return Ok(());
        }
        // Only the object itself has versions; a scale or an eviction looks the same everywhere.
        if wanted.kind == self.kind.kind {
            let to = wanted.api_version();
            if let Some(object) = request.object.take() {
                let object = Arc::unwrap_or_clone(object);
                let object = conversion::object(self.instance, self.kind, object, &to).await?;
                request.object = Some(Arc::new(object));
            }
            if let Some(old) = old {
                let old = Value::clone(old);
                let old = conversion::object(self.instance, self.kind, old, &to).await?;
                request.old = Some(Arc::new(old));
            }
        }
        at.clone_from(wanted);
        Ok(())
    }

    async fn ask(
        &self,
        hook: &Hook,
        phase: Phase,
        invocation: &Invocation,
        request: &Attributes,
    ) -> Result<Verdict, Trouble> {
        if request.dry_run && hook.has_side_effects {
            let name = &hook.name;
            let why = format!("admission webhook {name:?} does not support dry run");
            return Err(Trouble::Refused(Failure::bad_request(why)));
        }
        let Some(version) = hook.review_version else {
            let why = "could not create admission objects: webhook does not accept known \
                       AdmissionReview versions (v1, v1beta1)";
            return Err(Trouble::Failed(why.to_owned()));
        };
        let uid = self.instance.ids().uid();
        let question = review::request(request, invocation, &uid);
        let question = review::review(
            version,
            question,
            request.object.as_ref(),
            request.old.as_ref(),
        );
        let webhooks = self.instance.webhooks();
        let answer = webhooks
            .review(
                self.instance.name(),
                &hook.endpoint,
                &question,
                hook.timeout,
            )
            .await
            .map_err(|why| Trouble::Failed(format!("failed to call webhook: {why}")))?;
        verdict(&hook.name, phase, version, &uid, &answer).map_err(Trouble::Failed)
    }

    /// Passes on the warnings of an answer; its operations, or its refusal.
    fn heed(&self, verdict: Verdict) -> Outcome<Vec<Value>> {
        verdict.warnings.into_iter().for_each(self.warn);
        verdict.decision
    }

    fn settle(&self, hook: &Hook, trouble: Trouble) -> Outcome<()> {
        let why = match trouble {
            Trouble::Refused(failure) => return Err(failure),
            Trouble::Failed(why) => format!("failed calling webhook {:?}: {why}", hook.name),
        };
        if hook.ignores_failure {
            tracing::warn!(instance = self.instance.name(), error = %why, "a webhook is passed over");
            return Ok(());
        }
        Err(Failure::internal(why))
    }

    /// Carries out the patch of a webhook; whether it changed the object.
    fn apply(
        &self,
        hook: &Hook,
        request: &mut Attributes,
        at: &KindName,
        operations: &[Value],
    ) -> Outcome<bool> {
        if operations.is_empty() {
            return Ok(false);
        }
        let Some(object) = &request.object else {
            return Err(Failure::internal(format!(
                "admission webhook {:?} attempted to modify the object, which is not supported for \
                 this operation",
                hook.name
            )));
        };
        let mut new = crate::patch::carry_out(object, operations).map_err(Failure::internal)?;
        if text(&new, &["kind"]).is_empty() {
            let why = format!("Object 'Kind' is missing in '{new}'");
            return Err(Failure::internal(why));
        }
        let changed = new != **object;
        // A patch of the version alone does not convert.
        new["apiVersion"] = json!(at.api_version());
        let version = self.kind.versions.iter().find(|v| v.name == at.version);
        let schema = version.and_then(|version| version.schema.as_deref());
        if let Some(schema) = schema.filter(|_| at.kind == self.kind.kind) {
            crate::schema::default(&mut new, schema);
        }
        request.object = Some(Arc::new(new));
        Ok(changed)
    }
}
