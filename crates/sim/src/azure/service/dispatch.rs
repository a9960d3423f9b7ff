//! Carrying a call out: may the caller, is it throttled, and on which state.

use jiff::SignedDuration;

use super::{ArmRequest, route::Action};
use crate::{
    azure::{
        protocol::{Answer, ArmError},
        state::{Site, State, View},
    },
    faults::Verdict,
};

pub(crate) type Read = fn(View<'_>, &ArmRequest) -> Result<Answer, ArmError>;
pub(crate) type Write = fn(&mut Site<'_>, &ArmRequest) -> Result<Answer, ArmError>;

/// What carries out an action.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// It only reads, and may be answered from the past.
    Read(Read),
    /// It changes something.
    Write(Write),
}

/// Carries a call out that the caller may make.
pub(super) fn carry_out(
    state: &mut State,
    action: &Action,
    request: &ArmRequest,
    resource: &str,
    verdict: &Verdict,
) -> Result<Answer, ArmError> {
    let id = &request.target.subscription;
    let place = state.place_of(id).ok_or_else(|| {
        let message = format!("The subscription '{id}' could not be found.");
        ArmError::new(404, "SubscriptionNotFound", message)
    })?;
    match action.handler {
        Handler::Read(read) => {
            let age = verdict.stale.unwrap_or(state.fabric.timing.read_lag);
            let moment = state.fabric.now - SignedDuration::try_from(age).unwrap_or_default();
            let past = if age.is_zero() || action.name == "Operations_Get" {
                None
            } else {
                state.as_of(place, moment)
            };
            match past {
                Some(past) => read(
                    View {
                        subscription: &past,
                        fabric: &state.fabric,
                    },
                    request,
                ),
                None => read(state.view(place), request),
            }
        }
        Handler::Write(write) => {
            let subscription = &state.subscriptions[place];
            if subscription
                .unregistered
                .contains(&action.provider().to_ascii_lowercase())
            {
                let message = format!(
                    "The subscription is not registered to use namespace '{}'. See \
                     https://aka.ms/rps-not-found for how to register subscriptions.",
                    action.provider()
                );
                return Err(ArmError::new(
                    409,
                    "MissingSubscriptionRegistration",
                    message,
                ));
            }
            subscription.check_locks(resource, action.deletes)?;
            write(&mut state.site(place), request)
        }
    }
}
