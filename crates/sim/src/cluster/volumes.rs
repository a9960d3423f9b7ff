//! Volumes: an attachment goes once no pod on its node needs its volume any more.

use serde_json::{Value, json};

use super::{
    Action,
    client::text,
    state::{Kind, State, is_deleting, list, name, namespace, node_of},
};

pub(super) fn decide(state: &State, actions: &mut Vec<Action>) {
    for attachment in state.all(Kind::Attachment) {
        if is_deleting(attachment) {
            release(attachment, actions);
        } else if is_needless(state, attachment) {
            let delete = Action::delete(Kind::Attachment, attachment, json!({}));
            actions.push(delete);
        }
    }
}

/// Whether it is known whose volume it is, and that nobody on the node uses it. A pod that is being
/// stopped does.
fn is_needless(state: &State, attachment: &Value) -> bool {
    let volume = text(attachment, "/spec/source/persistentVolumeName");
    let Some(claim) = state
        .all(Kind::Volume)
        .find(|one| name(one) == volume)
        .and_then(|volume| volume.pointer("/spec/claimRef"))
    else {
        return false;
    };
    let (space, claim) = (text(claim, "/namespace"), text(claim, "/name"));
    let node = text(attachment, "/spec/nodeName");
    let uses = |pod: &Value| {
        namespace(pod) == space
            && node_of(pod) == node
            && list(pod, "/spec/volumes")
                .iter()
                .any(|volume| text(volume, "/persistentVolumeClaim/claimName") == claim)
    };
    !state.all(Kind::Pod).any(uses)
}

/// The attacher has detached: it lets the attachment go.
fn release(attachment: &Value, actions: &mut Vec<Action>) {
    let finalizers = list(attachment, "/metadata/finalizers");
    let attachers = |finalizer: &&Value| {
        finalizer
            .as_str()
            .is_some_and(|finalizer| finalizer.starts_with("external-attacher/"))
    };
    if !finalizers.iter().any(|finalizer| attachers(&finalizer)) {
        return;
    }
    let left: Vec<&Value> = finalizers.iter().filter(|one| !attachers(one)).collect();
    let body = json!({ "metadata": { "finalizers": left } });
    actions.push(Action::patch(Kind::Attachment, attachment, "", body));
}
