//! Which volumes hold a deletion.

use remuda_plan::machines::volumes::{Attachment, Scene, Volume, waiting};
use serde_json::json;

use crate::at;

fn volume(name: &str, claim: Option<&str>) -> Volume {
    let mut object = json!({
        "metadata": { "name": name },
        "spec": { "csi": { "driver": "ebs.csi.aws.com", "volumeHandle": format!("vol-{name}") } },
    });
    if let Some(claim) = claim {
        object["spec"]["claimRef"] = json!({ "namespace": "web", "name": claim });
    }
    Volume::read(&object)
}

fn attachment(name: &str, volume: &str) -> Attachment {
    let object = json!({
        "metadata": { "name": name },
        "spec": { "nodeName": "node-1", "source": { "persistentVolumeName": volume } },
        "status": { "attached": true },
    });
    Attachment::read(&object, "node-1").unwrap()
}

fn look(
    on_node: &[&str],
    attachments: &[Attachment],
    volumes: &[Volume],
    kept: &[&str],
) -> Option<String> {
    let on_node: Vec<String> = on_node.iter().map(|name| (*name).to_owned()).collect();
    let kept: Vec<_> = kept
        .iter()
        .map(|claim| ("web".to_owned(), (*claim).to_owned()))
        .collect();
    waiting(&Scene {
        on_node: &on_node,
        attachments,
        volumes,
        kept_claims: &kept,
        since: at(0),
    })
    .unwrap()
}

/// Proves: CAPI-68.
#[test]
fn volumes_of_pods_that_stay_do_not_hold() {
    let volumes = [volume("a", Some("data")), volume("b", Some("agent"))];
    let attachments = [attachment("one", "a"), attachment("two", "b")];
    let message = look(&[], &attachments, &volumes, &["agent"]).unwrap();
    assert!(
        message.contains("web/data") && !message.contains("web/agent"),
        "{message}"
    );
    assert_eq!(look(&[], &attachments[1..], &volumes, &["agent"]), None);
    // The Node's own list says the same.
    let on_node = ["kubernetes.io/csi/ebs.csi.aws.com^vol-b"];
    assert_eq!(look(&on_node, &[], &volumes, &["agent"]), None);
    assert!(look(&on_node, &[], &volumes, &[]).is_some());
}

#[test]
fn what_nobody_knows_holds() {
    let volumes = [volume("free", None)];
    let attachments = [attachment("one", "free"), attachment("two", "lost")];
    let message = look(&["kubernetes.io/csi/x^y"], &attachments, &volumes, &[]).unwrap();
    for part in [
        "without a claim: free",
        "do not exist: lost",
        "kubernetes.io/csi/x^y",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn an_attachment_of_no_volume_is_an_error_and_one_of_another_node_is_nothing() {
    let bare = Attachment {
        name: "bare".to_owned(),
        volume: None,
    };
    let scene = Scene {
        on_node: &[],
        attachments: &[bare],
        volumes: &[],
        kept_claims: &[],
        since: at(0),
    };
    assert!(waiting(&scene).unwrap_err().contains("bare"));
    let object = json!({ "spec": { "nodeName": "node-2" }, "status": { "attached": true } });
    assert_eq!(Attachment::read(&object, "node-1"), None);
    let object = json!({ "spec": { "nodeName": "node-1" }, "status": { "attached": false } });
    assert_eq!(Attachment::read(&object, "node-1"), None);
}
