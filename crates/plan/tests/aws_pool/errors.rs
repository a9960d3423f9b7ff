//! How refusals read: code, subject, what is wrong, what to do.

use serde_json::json;

use super::demo::demo;

#[test]
fn every_precondition_says_what_to_do() {
    let ignition = || demo().with(|inputs| inputs.bootstrap_format = "ignition".to_owned());
    let rows = [
        (demo().exports(|e| *e = json!({})), "R-1"),
        (demo().exports(|e| e["region"] = json!(null)), "R-2"),
        (demo().zones(["us-west-2a"]), "R-3"),
        (ignition().labels([("a", "b")]), "R-4"),
        (ignition().document(&[0x1f, 0x8b, 0x08, 0]), "R-5"),
        (demo().with(|i| i.kubernetes_version = None), "R-6"),
    ];
    for (demo, code) in rows {
        let refusals = demo.refusals();
        assert_eq!(refusals.len(), 1, "{refusals:?}");
        assert_eq!(refusals[0].code, code);
        assert!(refusals[0].remedy.is_some(), "{code} has no remedy");
        let text = refusals[0].to_string();
        assert!(
            text.starts_with(&format!("{code} {}: ", refusals[0].subject)),
            "{text}"
        );
    }
}

#[test]
fn refusals_of_one_input_come_together_and_sorted() {
    let demo = demo()
        .with(|inputs| {
            inputs.captf_contract = "v1beta1".to_owned();
            inputs.bootstrap_format = "ignition".to_owned();
            inputs.kubernetes_version = None;
        })
        .labels([("team", "a")])
        .document(&[0x1f, 0x8b, 0x08, 0])
        .zones(["us-west-2a"])
        .var("spot", json!(7));
    let codes: Vec<&str> = demo.refused().into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["R-3", "R-4", "R-5", "V-0", "V-1"]);
}

#[test]
fn messages_of_every_refusal() {
    let rows = vec![
        demo().exports(|e| *e = json!({})),
        demo().exports(|e| *e = json!({ "schema": "captf.io/aws-cluster/v1" })),
        demo().exports(|e| *e = json!({ "schema": "captf.io/azure-cluster/v1" })),
        demo().zones(["us-west-2a"]),
        demo()
            .with(|i| i.bootstrap_format = "ignition".to_owned())
            .labels([("a", "b")]),
        demo().with(|i| i.kubernetes_version = None),
        demo().with(|i| i.replicas = -1),
        demo().with(|i| i.bootstrap_format = "cloud-init".to_owned()),
        demo().labels([("team", "platform'; reboot; '")]),
        demo().autoscaled(5, 2),
        demo().var("instance_type", json!("m6i")),
        demo().var("root_volume_size_gib", json!("big")),
        demo().var("instance_typ", json!("m6i.large")),
    ];
    let texts: Vec<String> = rows
        .iter()
        .flat_map(super::demo::Demo::refusals)
        .map(|refusal| refusal.to_string())
        .collect();
    insta::assert_snapshot!(texts.join("\n"));
}
