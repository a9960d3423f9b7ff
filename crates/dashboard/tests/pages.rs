//! The pages over the embedded API server, with its roles: no socket, no browser.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod world;

use http::StatusCode;
use serde_json::json;
use world::{Answer, World};

#[tokio::test]
async fn nobody_sees_anything_before_signing_in() {
    let world = World::new().await;
    for path in [
        "/",
        "/pools/team-a/web",
        "/machines/team-a/web-0",
        "/calls",
        "/live?at=/",
        "/nowhere",
    ] {
        let answer = world.get(path, None).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{path}");
        assert!(answer.header("location").starts_with("/sign-in"), "{path}");
        assert!(!answer.body.contains("web"), "{path}: {}", answer.body);
    }
    let page = world.get("/sign-in?next=https://example.com/", None).await;
    assert!(page.body.contains("Paste a token"));
}

#[tokio::test]
async fn every_answer_carries_the_guards() {
    let world = World::new().await;
    let session = world.sign_in("admin").await;
    for (path, session) in [
        ("/", Some(&session)),
        ("/sign-in", None),
        ("/assets/style.css", None),
        ("/x", Some(&session)),
    ] {
        let answer = world.get(path, session).await;
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("x-frame-options"), "DENY");
        assert!(
            !answer.body.contains(" style=\"") && !answer.body.contains("onclick"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_wrong_token_opens_nothing_and_is_not_repeated() {
    let world = World::new().await;
    let answer = world
        .post(
            "/sign-in",
            None,
            &[("token", "no-such-token"), ("next", "/")],
        )
        .await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    assert!(
        answer.body.contains("does not accept this token"),
        "{}",
        answer.body
    );
    assert!(!answer.body.contains("no-such-token"));
    assert_eq!(answer.header("set-cookie"), "");
}

#[tokio::test]
async fn the_cookie_is_out_of_reach_and_the_token_is_not_in_it() {
    let world = World::new().await;
    let answer = world
        .post("/sign-in", None, &[("token", "admin"), ("next", "/calls")])
        .await;
    let cookie = answer.header("set-cookie");
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    assert!(!cookie.contains("admin"), "{cookie}");
    assert_eq!(answer.header("location"), "/calls");
    let away = world
        .post(
            "/sign-in",
            None,
            &[("token", "admin"), ("next", "//example.com")],
        )
        .await;
    assert_eq!(away.header("location"), "/");
}

#[tokio::test]
async fn a_link_signs_in_once() {
    let world = World::new().await;
    let link = world.dashboard.sign_in_link("admin").unwrap().unwrap();
    let first = world.get(&link, None).await;
    assert_eq!(first.status, StatusCode::OK);
    assert_eq!(first.header("refresh"), "0;url=/");
    assert!(first.header("set-cookie").contains("HttpOnly"));
    let second = world.get(&link, None).await;
    assert_eq!(second.status, StatusCode::GONE);
    assert_eq!(second.header("set-cookie"), "");
}

#[tokio::test]
async fn other_names_and_other_sites_are_refused() {
    let world = World::new().await;
    let session = world.sign_in("admin").await;
    let request = world
        .request("GET", "/", Some(&session))
        .header("host", "evil.example");
    let answer = world.send(request, String::new()).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    for origin in [Some("http://evil.example"), Some("null"), None] {
        let mut request = world.request("POST", "/pools/team-a/web/scale", Some(&session));
        request.headers_mut().unwrap().remove("origin");
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let form = format!("replicas=5&csrf={}", session.csrf);
        let answer = world.send(request, form).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{origin:?}");
    }
    assert_eq!(world.replicas("web").await, 3);
}

#[tokio::test]
async fn a_form_without_the_sessions_secret_changes_nothing() {
    let world = World::new().await;
    let session = world.sign_in("admin").await;
    let other = world.sign_in("admin").await;
    for csrf in ["", "x", other.csrf.as_str()] {
        for (path, more) in [
            ("/pools/team-a/web/scale", ("replicas", "5")),
            ("/pools/team-a/web/pause", ("", "")),
            ("/pools/team-a/web/resume", ("", "")),
            ("/machines/team-a/web-0/delete", ("confirmed", "yes")),
            ("/sign-out", ("", "")),
        ] {
            let answer = world
                .post(path, Some(&session), &[("csrf", csrf), more])
                .await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
        }
    }
    assert_eq!(world.replicas("web").await, 3);
    assert_eq!(world.get("/", Some(&session)).await.status, StatusCode::OK);
}

#[tokio::test]
async fn scaling_out_is_done_and_scaling_in_is_asked_about() {
    let world = World::new().await;
    let session = world.sign_in("admin").await;
    let out = world
        .act("/pools/team-a/web/scale", &session, &[("replicas", "5")])
        .await;
    assert_eq!(
        (out.status, out.header("location")),
        (StatusCode::SEE_OTHER, "/pools/team-a/web")
    );
    assert_eq!(world.replicas("web").await, 5);
    let page = world.get("/pools/team-a/web", Some(&session)).await;
    assert!(
        page.body.contains("web now wants 5 machines."),
        "{}",
        page.body
    );
    let again = world.get("/pools/team-a/web", Some(&session)).await;
    assert!(!again.body.contains("now wants"), "it is said once");

    let asked = world
        .act("/pools/team-a/web/scale", &session, &[("replicas", "1")])
        .await;
    assert_eq!(asked.status, StatusCode::OK);
    assert!(
        asked.body.contains("Scale web from 5 to 1?"),
        "{}",
        asked.body
    );
    assert_eq!(world.replicas("web").await, 5);
    let fields = [("replicas", "1"), ("from", "5"), ("confirmed", "yes")];
    world
        .act("/pools/team-a/web/scale", &session, &fields)
        .await;
    assert_eq!(world.replicas("web").await, 1);
    let late = world
        .act("/pools/team-a/web/scale", &session, &fields)
        .await;
    assert_eq!(late.status, StatusCode::CONFLICT);
    assert!(
        late.body.contains("changed the count to 1"),
        "{}",
        late.body
    );
}

#[tokio::test]
async fn a_count_that_is_none_is_refused() {
    let world = World::new().await;
    let session = world.sign_in("admin").await;
    for count in ["", "-1", "many", "99999"] {
        let answer = world
            .act("/pools/team-a/web/scale", &session, &[("replicas", count)])
            .await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{count}");
    }
    assert_eq!(world.replicas("web").await, 3);
}

#[tokio::test]
async fn pausing_marks_the_pool_and_its_infrastructure() {
    let world = World::new().await;
    let session = world.sign_in("admin").await;
    world.act("/pools/team-a/web/pause", &session, &[]).await;
    for kind in ["MachinePool", "TerraformMachinePool"] {
        let annotations = world.object(kind, "web").await["metadata"]["annotations"].clone();
        assert!(
            annotations.get("cluster.x-k8s.io/paused").is_some(),
            "{kind}: {annotations}"
        );
    }
    let page = world.get("/pools/team-a/web", Some(&session)).await;
    assert!(page.body.contains("Resume"), "{}", page.body);
    world
        .act(
            "/pools/team-a/web/resume",
            &session,
            &[("confirmed", "yes")],
        )
        .await;
    for kind in ["MachinePool", "TerraformMachinePool"] {
        let annotations = world.object(kind, "web").await["metadata"]["annotations"].clone();
        assert!(
            annotations.get("cluster.x-k8s.io/paused").is_none(),
            "{kind}: {annotations}"
        );
    }
}

#[tokio::test]
async fn what_the_roles_forbid_is_said_in_the_apis_words() {
    let world = World::new().await;
    let nobody = world.sign_in("nobody").await;
    let overview = world.get("/", Some(&nobody)).await;
    assert_eq!(overview.status, StatusCode::FORBIDDEN);
    assert!(
        overview
            .body
            .contains("machinepools.cluster.x-k8s.io is forbidden"),
        "{}",
        overview.body
    );
    assert!(overview.body.contains("Look in one namespace"));

    let viewer = world.sign_in("viewer").await;
    let page = world.get("/pools/team-a/web", Some(&viewer)).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(
        page.body.contains("Not known: the infrastructure of pools"),
        "{}",
        page.body
    );
    for (path, fields) in [
        ("/pools/team-a/web/scale", vec![("replicas", "5")]),
        ("/pools/team-a/web/pause", vec![]),
        (
            "/machines/team-a/web-0/delete",
            vec![("uid", "u"), ("confirmed", "yes")],
        ),
    ] {
        let answer = world.act(path, &viewer, &fields).await;
        assert_eq!(
            answer.status,
            StatusCode::FORBIDDEN,
            "{path}: {}",
            answer.body
        );
        assert!(
            answer.body.contains("is forbidden"),
            "{path}: {}",
            answer.body
        );
    }
    assert_eq!(world.replicas("web").await, 3);
}

#[tokio::test]
async fn nothing_hostile_is_rendered_as_it_is() {
    const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>";
    let world = World::new().await;
    let condition = json!({
        "type": "ApplyJobSucceeded", "status": "False", "reason": "ApplyFailed",
        "message": HOSTILE, "lastTransitionTime": "2026-10-01T08:00:00Z",
    });
    world.status("TerraformMachinePool", "web", json!({
        "conditions": [condition],
        "lastRun": { "job": "j", "operation": "apply", "error": { "kind": "step", "summary": HOSTILE, "resources": [HOSTILE] } },
    })).await;
    world.event("web", HOSTILE).await;
    let session = world.sign_in("admin").await;
    for path in [
        "/",
        "/pools/team-a/web",
        "/?q=%3Cscript%3Ealert(1)%3C/script%3E",
    ] {
        let page = world.get(path, Some(&session)).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(
            !page.body.contains("<script>alert") && !page.body.contains("<img src"),
            "{path}: {}",
            page.body
        );
        assert!(
            page.body.contains("&lt;script&gt;alert"),
            "{path} shows it as text: {}",
            page.body
        );
    }
}

#[tokio::test]
async fn pages_of_a_thousand_machines_are_short_until_all_are_asked_for() {
    let world = World::new().await;
    world.members("web", 1_000).await;
    let session = world.sign_in("admin").await;
    let page = world.get("/pools/team-a/web", Some(&session)).await;
    assert_eq!(cards(&page), 100);
    assert!(
        page.body.contains("List all 1000 machines"),
        "{}",
        page.body
    );
    let all = world.get("/pools/team-a/web?all=1", Some(&session)).await;
    assert_eq!(cards(&all), 1_000);
}

fn cards(page: &Answer) -> usize {
    page.body.matches("<li class=\"machine ").count()
}

#[tokio::test]
async fn a_member_without_a_machine_has_its_page() {
    let world = World::new().await;
    world.members("web", 2).await;
    let session = world.sign_in("admin").await;
    let page = world
        .get("/pools/team-a/web/machines/i-1", Some(&session))
        .await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.body);
    assert!(
        page.body
            .contains("aws:&#x2f;&#x2f;&#x2f;us-east-1b&#x2f;i-1"),
        "{}",
        page.body
    );
    let none = world
        .get("/pools/team-a/web/machines/i-99", Some(&session))
        .await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn who_counts_no_calls_says_so() {
    let world = World::new().await;
    let session = world.sign_in("admin").await;
    let page = world.get("/calls", Some(&session)).await;
    assert!(
        page.body.contains("does not count its calls"),
        "{}",
        page.body
    );
}

#[tokio::test]
async fn signing_out_ends_the_session() {
    let world = World::new().await;
    let session = world.sign_in("admin").await;
    world.act("/sign-out", &session, &[]).await;
    assert_eq!(
        world.get("/", Some(&session)).await.status,
        StatusCode::SEE_OTHER
    );
}

#[tokio::test]
async fn a_change_is_streamed_and_only_what_differs() {
    let world = World::new().await;
    let session = world.sign_in("admin").await;
    let mut stream = world.stream("/live?at=/pools/team-a/web", &session).await;
    let first = stream.event().await;
    assert!(
        first["pool-head"].as_str().unwrap().contains("Wanted"),
        "{first}"
    );
    world
        .act("/pools/team-a/web/scale", &session, &[("replicas", "5")])
        .await;
    let change = stream.event().await;
    assert!(
        change["pool-head"].as_str().unwrap().contains(">5<"),
        "{change}"
    );
    assert!(change.get("events").is_none(), "{change}");
}

#[tokio::test]
async fn a_stream_ends_with_its_session() {
    let world = World::new().await;
    let session = world.sign_in("admin").await;
    let mut stream = world.stream("/live?at=/pools/team-a/web", &session).await;
    stream.event().await;
    world.act("/sign-out", &session, &[]).await;
    world.scale_behind("web", 7).await;
    assert_eq!(stream.named().await.0, "gone");
}
