//! A thousand sets of ten: what the events and the lists of such a world come to.

use std::time::Instant;

use remuda_sim::{azure::DEMO_GROUP, azure::DEMO_SUBSCRIPTION};
use serde_json::Value;

use crate::client::{ARM, demo, fixed_setting, group_path, set_body, set_path, setting_path};

#[tokio::test(start_paused = true)]
async fn a_thousand_sets_of_ten_settle() {
    let client = demo().await;
    let began = Instant::now();
    for number in 0..1000 {
        let name = format!("pool-{number}");
        client.put(&set_path(&name), set_body(&name, 10)).await.ok();
        let setting = setting_path(&format!("{name}-autoscale"));
        client.put(&setting, fixed_setting(&name, 10)).await.ok();
    }
    client.pass(100).await;
    let mut next = format!(
        "{}/providers/Microsoft.Compute/virtualMachineScaleSets",
        group_path(DEMO_GROUP)
    );
    let mut sets = 0;
    loop {
        let page = client.get(&next).await.ok();
        let up = |set: &&Value| set["properties"]["provisioningState"] == "Succeeded";
        sets += page.items().iter().filter(up).count();
        let Some(link) = page.body["nextLink"].as_str() else {
            break;
        };
        link.trim_start_matches(ARM).clone_into(&mut next);
    }
    assert_eq!(sets, 1000);
    assert_eq!(client.powers("pool-999").await.len(), 10);
    let index = format!("/subscriptions/{DEMO_SUBSCRIPTION}/resources?$filter=name eq 'pool-7'");
    assert_eq!(client.get(&index).await.ok().items().len(), 1);
    println!(
        "1,000 sets made, settled and listed in {:?}",
        began.elapsed()
    );
}
