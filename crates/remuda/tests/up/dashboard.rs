//! The dashboard of `remuda up --demo`, as a person uses it: in Chromium, by mouse and keyboard.
//!
//! `REMUDA_PICTURES=DIR` leaves pictures of the pages there, to look at.

use std::{path::PathBuf, time::Instant};

use super::{
    browser::{Browser, Look},
    running::{Kubectl, PATIENCE, Running},
};

const TAB: &str = "\u{E004}";
const ENTER: &str = "\u{E007}";

const DESKTOP: Look = Look {
    width: 1_280,
    scheme: "light",
};
const LOOKS: [(&str, Look); 4] = [
    ("desktop-light", DESKTOP),
    (
        "desktop-dark",
        Look {
            width: 1_280,
            scheme: "dark",
        },
    ),
    (
        "phone-light",
        Look {
            width: 390,
            scheme: "light",
        },
    ),
    (
        "phone-dark",
        Look {
            width: 390,
            scheme: "dark",
        },
    ),
];

/// Texts whose contrast with their ground is below what WCAG asks (4.5, and 3 for large ones).
const FAINT: &str = r"
const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const colour = (text) => text.match(/[\d.]+/g).map(Number);
const ground = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const [r, g, b, a] = colour(getComputedStyle(e).backgroundColor);
    if (a === undefined || a === 1) return [r, g, b];
  }
  return [255, 255, 255];
};
const faint = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const text = walker.currentNode.textContent.trim();
  if (!text || !element.checkVisibility() || element.matches('script, style, noscript')) continue;
  const style = getComputedStyle(element);
  const [one, other] = [light(colour(style.color)), light(ground(element))];
  const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  if (contrast < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) faint.push(`${text}: ${contrast.toFixed(1)}`);
}
return faint";

/// Texts that lie over each other.
const OVERLAPPING: &str = r"
const boxes = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const text = walker.currentNode.textContent.trim();
  if (!text || !element.checkVisibility() || element.closest('script, style, noscript, .hidden, thead, .skip')) continue;
  const range = document.createRange();
  range.selectNodeContents(walker.currentNode);
  for (const box of range.getClientRects()) boxes.push([walker.currentNode, text, box]);
}
const over = [];
for (const [one, text, a] of boxes)
  for (const [other, more, b] of boxes) {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (one !== other && text <= more && wide > 2 && high > 6) over.push(`${text} / ${more}`);
  }
return over";

/// Somebody who may look at the namespace of the demo, and change nothing.
const VIEWER: &str = r#"
apiVersion: v1
kind: ServiceAccount
metadata: {name: viewer, namespace: team-a}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: viewer, namespace: team-a}
rules:
- apiGroups: [cluster.x-k8s.io, infrastructure.cluster.x-k8s.io]
  resources: ["*"]
  verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewer, namespace: team-a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: viewer}
subjects: [{kind: ServiceAccount, name: viewer, namespace: team-a}]
"#;

fn link(running: &Running) -> String {
    let words = running.said.split_whitespace();
    let mut links = words.filter(|word| word.contains("/sign-in/"));
    links.next().expect("remuda up prints a link").to_owned()
}

fn origin(link: &str) -> String {
    let (origin, _) = link.split_once("/sign-in/").unwrap();
    origin.to_owned()
}

#[test]
fn the_dashboard() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let running = Running::start();
    let Some(kubectl) = running.kubectl() else {
        return;
    };
    let link = link(&running);
    let origin = origin(&link);
    the_link_signs_in_once(&browser, &link, &origin);
    the_overview_shows_the_demo_ready(&browser);
    pages_fit_every_width(&browser, &origin, "ready");
    the_keyboard_reaches_everything(&browser, &origin);
    a_change_arrives_without_a_reload(&browser, &kubectl, &origin);
    scaling_from_the_page_scales_the_pool(&browser, &kubectl, &origin);
    pages_fit_every_width(&browser, &origin, "scaled");
    pausing_is_undone_by_resuming(&browser, &kubectl, &origin);
    pages_work_without_scripts(&browser, &origin);
    what_roles_forbid_is_said(&browser, &kubectl, &origin);
    assert_eq!(
        count(&kubectl),
        "4",
        "whoever may not scale has scaled nothing"
    );
}

fn count(kubectl: &Kubectl<'_>) -> String {
    let path = "jsonpath={.spec.replicas}";
    kubectl.run(&[
        "get",
        "machinepool",
        "demo-pool-0",
        "-n",
        "team-a",
        "-o",
        path,
    ])
}

fn the_link_signs_in_once(browser: &Browser, link: &str, origin: &str) {
    browser.look(DESKTOP);
    browser.go(&format!("{origin}/"));
    browser.until("the sign-in page", |text| text.contains("Paste a token"));
    picture(browser, origin, "/sign-in", "sign-in");
    browser.go(link);
    browser.until("the overview", |text| text.contains("Machine pools"));
    let cookies = browser.script("return document.cookie");
    assert_eq!(cookies, "", "scripts must not see the session");
    browser.go(link);
    browser.until("a used link", |text| text.contains("was used before"));
}

fn the_overview_shows_the_demo_ready(browser: &Browser) {
    let url = browser.url();
    browser.go(url.split("/sign-in").next().unwrap());
    let text = browser.until("both pools ready", |text| {
        text.contains("2 pools with 6 machines, 6 ready. Nothing needs attention.")
    });
    for part in [
        "demo-pool-0",
        "demo-azure-pool-0",
        "AWS",
        "Azure",
        "Healthy",
        "1a",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let drawn = browser.script("return document.querySelectorAll('svg rect.good').length");
    assert_eq!(drawn, 6, "each machine is drawn");
}

/// No page is wider than its window, in any look; with pictures where they are asked for.
fn pages_fit_every_width(browser: &Browser, origin: &str, when: &str) {
    let machine = browser_machine(browser, origin);
    let pages = [
        ("overview", "/".to_owned()),
        ("pool", "/pools/team-a/demo-pool-0".to_owned()),
        ("azure", "/pools/team-a/demo-azure-pool-0".to_owned()),
        ("machine", machine),
        ("calls", "/calls".to_owned()),
    ];
    for (name, page) in pages {
        picture(browser, origin, &page, &format!("{when}-{name}"));
    }
}

fn browser_machine(browser: &Browser, origin: &str) -> String {
    browser.go(&format!("{origin}/pools/team-a/demo-pool-0"));
    browser.until("the machines", |text| text.contains("Machines by zone"));
    let first = browser.script("return document.querySelector('.machine a').getAttribute('href')");
    first.as_str().unwrap().to_owned()
}

fn picture(browser: &Browser, origin: &str, page: &str, name: &str) {
    for (look, how) in LOOKS {
        browser.look(how);
        browser.go(&format!("{origin}{page}"));
        let width = browser.script("return document.documentElement.scrollWidth");
        let width = width.as_u64().unwrap();
        assert!(
            width <= how.width.into(),
            "{page} is {width} wide on {look}"
        );
        let ground = browser.script("return getComputedStyle(document.body).backgroundColor");
        let ground = ground.as_str().unwrap().to_owned();
        let dark = ground.starts_with("rgb(23,");
        assert_eq!(
            dark,
            how.scheme == "dark",
            "{page} on {look} has the ground {ground}"
        );
        let overlapping = browser.script(OVERLAPPING);
        assert_eq!(overlapping, serde_json::json!([]), "{page} on {look}");
        let faint = browser.script(FAINT);
        assert_eq!(faint, serde_json::json!([]), "{page} on {look}");
        if let Some(folder) = std::env::var_os("REMUDA_PICTURES") {
            browser.picture(&PathBuf::from(folder).join(format!("{name}-{look}.png")));
        }
    }
    browser.look(DESKTOP);
}

fn the_keyboard_reaches_everything(browser: &Browser, origin: &str) {
    browser.go(&format!("{origin}/pools/team-a/demo-pool-0"));
    browser.until("the page", |text| text.contains("Machines by zone"));
    let reachable = "return [...document.querySelectorAll('a[href], button, input:not([type=hidden]), summary')].length";
    let wanted = browser.script(reachable).as_u64().unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for step in 0..=wanted {
        browser.press(TAB);
        let here = browser.script(
            "const all = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), summary')];\
             return all.indexOf(document.activeElement)",
        );
        if step == 0 {
            let skip = browser.script("return document.activeElement.className");
            assert_eq!(skip, "skip", "the first stop skips to the content");
        }
        let outline = browser.script(
            "const active = document.activeElement;\
             return active === document.body ? 'solid' : getComputedStyle(active).outlineStyle",
        );
        assert_eq!(outline, "solid", "stop {step} can be seen");
        seen.insert(here.as_i64().unwrap());
    }
    seen.remove(&-1);
    assert_eq!(seen.len() as u64, wanted, "Tab stops at every control");
    browser.script("document.querySelector('.machine a').focus()");
    browser.press(ENTER);
    browser.until("the machine's page, by Enter", |text| {
        text.contains("Provider ID")
    });
}

fn a_change_arrives_without_a_reload(browser: &Browser, kubectl: &Kubectl<'_>, origin: &str) {
    browser.go(&format!("{origin}/"));
    browser.until("updates", |text| text.contains("Live"));
    browser.script("window.neverReloaded = true");
    kubectl.run(&[
        "scale",
        "machinepool",
        "demo-pool-0",
        "-n",
        "team-a",
        "--replicas",
        "5",
    ]);
    browser.until("five machines, 8 ready", |text| {
        text.contains("2 pools with 8 machines, 8 ready. Nothing needs attention.")
    });
    assert_eq!(browser.script("return window.neverReloaded === true"), true);
}

fn scaling_from_the_page_scales_the_pool(browser: &Browser, kubectl: &Kubectl<'_>, origin: &str) {
    browser.go(&format!("{origin}/pools/team-a/demo-pool-0"));
    browser.until("the pool", |text| text.contains("All 5 machines are ready"));
    browser.fill("#replicas", "4");
    browser.press(ENTER);
    browser.until("the question", |text| {
        text.contains("Scale demo-pool-0 from 5 to 4?")
    });
    let said = browser.text();
    assert!(said.contains("1 of 5 machines goes."), "{said}");
    if let Some(folder) = std::env::var_os("REMUDA_PICTURES") {
        browser.picture(&PathBuf::from(folder).join("confirm.png"));
    }
    assert_eq!(count(kubectl), "5", "a question changes nothing");
    browser.click("button.danger");
    browser.until("what was done", |text| {
        text.contains("demo-pool-0 now wants 4 machines.")
    });
    assert_eq!(count(kubectl), "4");
    browser.until("four machines", |text| {
        text.contains("All 4 machines are ready")
    });
}

fn pausing_is_undone_by_resuming(browser: &Browser, kubectl: &Kubectl<'_>, origin: &str) {
    let paused = [
        "get",
        "terraformmachinepool",
        "demo-pool-0",
        "-n",
        "team-a",
        "-o",
        "jsonpath={.status.conditions[?(@.type==\"Paused\")].status}",
    ];
    browser.go(&format!("{origin}/pools/team-a/demo-pool-0"));
    browser.click("form[action$='/pause'] button");
    browser.until("paused", |text| text.contains("demo-pool-0 is paused"));
    kubectl.until(&paused, |status| status == "True");
    browser.until("what it says", |text| {
        text.contains("Nothing changes until it is resumed")
    });
    browser.click("form[action$='/resume'] button");
    browser.until("resumed", |text| text.contains("demo-pool-0 goes on."));
    kubectl.until(&paused, |status| status == "False");
}

fn pages_work_without_scripts(browser: &Browser, origin: &str) {
    browser.scripts(false);
    browser.go(&format!("{origin}/pools/team-a/demo-pool-0"));
    browser.scripts(true);
    browser.until("the page without scripts", |text| {
        text.contains("Machines by zone") && text.contains("Shown as of the last load.")
    });
}

fn what_roles_forbid_is_said(browser: &Browser, kubectl: &Kubectl<'_>, origin: &str) {
    kubectl.apply(VIEWER);
    let token = kubectl.run(&["create", "token", "viewer", "-n", "team-a"]);
    browser.go(&format!("{origin}/"));
    browser.click(".who button");
    browser.until("signed out", |text| text.contains("Paste a token"));
    browser.fill("#token", token.trim());
    browser.press(ENTER);
    let refusal = browser.until("all namespaces are refused", |text| {
        text.contains("You may not do this")
    });
    assert!(
        refusal.contains("machinepools.cluster.x-k8s.io is forbidden"),
        "{refusal}"
    );
    browser.fill("#namespace", "team-a");
    browser.press(ENTER);
    browser.until("one namespace is shown", |text| {
        text.contains("demo-pool-0")
    });
    browser.go(&format!("{origin}/pools/team-a/demo-pool-0"));
    let page = browser.until("the pool", |text| text.contains("Machines by zone"));
    assert!(
        page.contains("Not known: events"),
        "events may not be read: {page}"
    );
    browser.fill("#replicas", "9");
    browser.press(ENTER);
    let refusal = browser.until("scaling is refused", |text| {
        text.contains("You may not do this")
    });
    assert!(refusal.contains("machinepools/scale"), "{refusal}");
    assert!(
        refusal.contains("system:serviceaccount:team-a:viewer"),
        "{refusal}"
    );
    if let Some(folder) = std::env::var_os("REMUDA_PICTURES") {
        browser.picture(&PathBuf::from(folder).join("refusal.png"));
    }
    let begun = Instant::now();
    browser.go(&format!("{origin}/pools/team-a/nobody"));
    browser.until("a pool that is not there", |text| {
        text.contains("There is no such page")
    });
    assert!(begun.elapsed() < PATIENCE);
}
