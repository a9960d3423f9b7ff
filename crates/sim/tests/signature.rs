//! Who may call: signatures, sessions, rights.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::time::Duration;

use axum::body::Body;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::Request;
use remuda_sim::aws::{DEMO_ACCOUNT, DEMO_BUCKET, DEMO_CONTROLLER_ROLE_ARN};
use support::{Client, demo};

#[tokio::test(start_paused = true)]
async fn a_right_signature_tells_who_calls() {
    let answer = demo().call("sts", "GetCallerIdentity", &[]).await.ok();
    assert_eq!(answer.first("Account").unwrap(), DEMO_ACCOUNT);
    assert_eq!(
        answer.first("Arn").unwrap(),
        "arn:aws:iam::111122223333:user/administrator"
    );
}

#[tokio::test(start_paused = true)]
async fn an_unknown_key_is_refused_in_each_services_words() {
    let client = demo().with_key("AKIAUNKNOWN000000000", "x", None);
    let asg = client.asg("DescribeAutoScalingGroups", &[]).await;
    assert_eq!(
        (asg.status.as_u16(), asg.code().as_str()),
        (403, "InvalidClientTokenId")
    );
    let ec2 = client.ec2("DescribeInstances", &[]).await;
    assert_eq!(
        (ec2.status.as_u16(), ec2.code().as_str()),
        (401, "AuthFailure")
    );
    let s3 = client
        .s3("GET", &format!("{DEMO_BUCKET}/pool/x"), &[], b"")
        .await;
    assert_eq!(s3.code(), "InvalidAccessKeyId");
    let sts = client.call("sts", "GetCallerIdentity", &[]).await;
    assert_eq!(sts.code(), "InvalidClientTokenId");
}

#[tokio::test(start_paused = true)]
async fn a_wrong_secret_does_not_match() {
    let client = demo();
    let wrong = client.with_key(&client.access_key_id, "another secret", None);
    for service in ["autoscaling", "sts"] {
        let answer = wrong.call(service, "GetCallerIdentity", &[]).await;
        assert_eq!(answer.code(), "SignatureDoesNotMatch", "{service}");
    }
    let answer = wrong
        .s3("PUT", &format!("{DEMO_BUCKET}/pool/x"), &[], b"data")
        .await;
    assert_eq!(answer.code(), "SignatureDoesNotMatch");
    assert_eq!(client.sim.world().object(DEMO_BUCKET, "pool/x"), None);
    assert_eq!(
        wrong.ec2("DescribeInstances", &[]).await.code(),
        "AuthFailure"
    );
}

#[tokio::test(start_paused = true)]
async fn signatures_hold_for_odd_paths_and_headers() {
    let client = demo();
    let path = format!("{DEMO_BUCKET}/pool/a%20b%2Bc%3D%C3%A4");
    let tags = [(
        "x-amz-tagging",
        "captf.io%2Fcluster=demo&captf.io%2Ftemplate=",
    )];
    client.s3("PUT", &path, &tags, b"data").await.ok();
    assert_eq!(
        client.sim.world().object_keys(DEMO_BUCKET),
        ["pool/a b+c=ä"]
    );
    let list = format!("{DEMO_BUCKET}?list-type=2&prefix=pool%2F&max-keys=5");
    assert_eq!(
        client
            .s3("GET", &list, &[], b"")
            .await
            .ok()
            .first("Key")
            .unwrap(),
        "pool/a b+c=ä"
    );
}

#[tokio::test(start_paused = true)]
async fn an_unsigned_call_is_refused() {
    let request = Request::post("https://ec2.us-east-1.amazonaws.com/")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from("Action=DescribeInstances&Version=2016-11-15"))
        .unwrap();
    let answer = demo().send_unsigned(request).await;
    assert_eq!(answer.code(), "MissingAuthenticationToken");
}

async fn assume(client: &Client, seconds: &str) -> Client {
    let params = [
        ("RoleArn", DEMO_CONTROLLER_ROLE_ARN),
        ("RoleSessionName", "test"),
        ("DurationSeconds", seconds),
    ];
    let answer = client.call("sts", "AssumeRole", &params).await.ok();
    let field = |name: &str| answer.first(name).unwrap();
    let token = field("SessionToken");
    client.with_key(
        &field("AccessKeyId"),
        &field("SecretAccessKey"),
        Some(&token),
    )
}

#[tokio::test(start_paused = true)]
async fn a_session_works_until_it_expires() {
    let client = demo();
    let session = assume(&client, "900").await;
    let identity = session.call("sts", "GetCallerIdentity", &[]).await.ok();
    assert_eq!(
        identity.first("Arn").unwrap(),
        "arn:aws:sts::111122223333:assumed-role/remuda-demo-controller/test"
    );
    session.ec2("DescribeInstances", &[]).await.ok();
    let without_token = session.with_key(&session.access_key_id, &session.secret, None);
    assert_eq!(
        without_token.asg("DescribeTags", &[]).await.code(),
        "InvalidClientTokenId"
    );
    client.sim.pass(Duration::from_secs(901)).await;
    assert_eq!(
        session.asg("DescribeTags", &[]).await.code(),
        "ExpiredToken"
    );
    assert_eq!(
        session.ec2("DescribeInstances", &[]).await.code(),
        "RequestExpired"
    );
    let path = format!("{DEMO_BUCKET}/pool/x");
    assert_eq!(
        session.s3("GET", &path, &[], b"").await.code(),
        "ExpiredToken"
    );
}

#[tokio::test(start_paused = true)]
async fn a_role_is_only_assumed_by_whom_it_trusts() {
    let client = demo();
    let world = client.sim.world();
    let role = world.add_role(
        "999900001111",
        "shared",
        &[DEMO_ACCOUNT],
        Some("secret-handshake"),
    );
    let params = [("RoleArn", role.as_str()), ("RoleSessionName", "test")];
    assert_eq!(
        client.call("sts", "AssumeRole", &params).await.code(),
        "AccessDenied"
    );
    let with_id = [params[0], params[1], ("ExternalId", "secret-handshake")];
    let answer = client.call("sts", "AssumeRole", &with_id).await.ok();
    assert!(answer.first("Arn").unwrap().contains("999900001111"));
    let unknown = [
        ("RoleArn", "arn:aws:iam::1:role/none"),
        ("RoleSessionName", "test"),
    ];
    assert_eq!(
        client.call("sts", "AssumeRole", &unknown).await.code(),
        "AccessDenied"
    );
}

#[tokio::test(start_paused = true)]
async fn a_web_identity_needs_no_signature() {
    let client = demo();
    let subject = "system:serviceaccount:remuda:manager";
    let role = client
        .sim
        .world()
        .add_web_identity_role(DEMO_ACCOUNT, "irsa", subject);
    let call = |subject: &str| {
        let claims = URL_SAFE_NO_PAD.encode(format!("{{\"sub\":\"{subject}\"}}"));
        let form = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([
                ("Action", "AssumeRoleWithWebIdentity"),
                ("RoleArn", &role),
                ("RoleSessionName", "test"),
                ("WebIdentityToken", &format!("e30.{claims}.sig")),
            ])
            .finish();
        let request = Request::post("https://sts.us-east-1.amazonaws.com/")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(form))
            .unwrap();
        client.send_unsigned(request)
    };
    assert!(call(subject).await.ok().first("SessionToken").is_some());
    assert_eq!(
        call("system:serviceaccount:other:x").await.code(),
        "AccessDenied"
    );
    let journal = format!("{:?}", client.sim.journal().calls());
    assert!(!journal.contains("e30."), "tokens stay out of the journal");
}
