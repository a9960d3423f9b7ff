//! The kubeconfig of an instance.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Writes a kubeconfig with one cluster, one user and one context.
pub(super) fn render(name: &str, server: &str, authority: &str, token: &str) -> String {
    let authority = STANDARD.encode(authority);
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: {name}\n  \
           cluster:\n    \
             server: {server}\n    \
             certificate-authority-data: {authority}\n\
         users:\n\
         - name: {name}-admin\n  \
           user:\n    \
             token: {token}\n\
         contexts:\n\
         - name: {name}\n  \
           context:\n    \
             cluster: {name}\n    \
             user: {name}-admin\n\
         current-context: {name}\n"
    )
}
