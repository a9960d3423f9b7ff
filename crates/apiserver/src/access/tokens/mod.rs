//! Bearer tokens: the administrator's, those of ServiceAccounts, and bootstrap tokens.

mod bootstrap;
mod key;
pub(crate) mod service_account;

pub(crate) use key::TokenKey;
pub(crate) use service_account::Accepted;

use super::Caller;
use crate::instance::Instance;
use crate::server::same_bytes;

/// Who a token speaks for, and to whom it may be shown; `None` when it does not hold here.
pub(crate) fn authenticate(instance: &Instance, token: &str) -> Option<Accepted> {
    let own = || vec![service_account::issuer(instance.name())];
    let admin = instance.authority().token(instance.name());
    if same_bytes(token.as_bytes(), admin.as_bytes()) {
        return Some(Accepted {
            caller: Caller::admin(),
            audiences: own(),
        });
    }
    if let Some(caller) = bootstrap::authenticate(instance, token) {
        return Some(Accepted {
            caller,
            audiences: own(),
        });
    }
    service_account::authenticate(instance, token)
}
