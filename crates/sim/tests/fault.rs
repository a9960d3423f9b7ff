//! Scripted failures: every error class of the AWS document, section 10.3, and the journal.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::time::Duration;

use remuda_sim::{Effect, Fault, Outcome, aws::DEMO_BUCKET};
use support::{Client, demo};
use tokio::time::Instant;

async fn struck(effect: Effect, service: &str) -> (u16, String) {
    let client = demo();
    client
        .sim
        .faults()
        .script(Fault::new(effect).service(service).once());
    let answer = call(&client, service).await;
    let again = call(&client, service).await;
    assert!(
        again.status.is_success(),
        "a fault that struck once is over: {}",
        again.text()
    );
    (answer.status.as_u16(), answer.code())
}

async fn call(client: &Client, service: &str) -> support::Answer {
    match service {
        "s3" => {
            client
                .s3("PUT", &format!("{DEMO_BUCKET}/pool/x"), &[], b"x")
                .await
        }
        "sts" => client.call("sts", "GetCallerIdentity", &[]).await,
        "ec2" => client.ec2("DescribeInstances", &[]).await,
        _ => client.asg("DescribeAutoScalingGroups", &[]).await,
    }
}

#[tokio::test(start_paused = true)]
async fn each_service_fails_in_its_own_words() {
    let cases = [
        (Effect::Throttle, "ec2", 503, "RequestLimitExceeded"),
        (Effect::Throttle, "autoscaling", 400, "Throttling"),
        (Effect::Throttle, "sts", 400, "Throttling"),
        (Effect::Throttle, "s3", 503, "SlowDown"),
        (Effect::InternalError, "ec2", 500, "InternalError"),
        (Effect::InternalError, "autoscaling", 500, "InternalFailure"),
        (Effect::InternalError, "s3", 500, "InternalError"),
        (Effect::Unavailable, "ec2", 503, "Unavailable"),
        (
            Effect::Unavailable,
            "autoscaling",
            503,
            "ServiceUnavailable",
        ),
        (Effect::Denied, "ec2", 403, "UnauthorizedOperation"),
        (Effect::Denied, "autoscaling", 403, "AccessDenied"),
        (Effect::Denied, "s3", 403, "AccessDenied"),
        (Effect::ExpiredToken, "autoscaling", 403, "ExpiredToken"),
        (Effect::ExpiredToken, "sts", 403, "ExpiredToken"),
        (
            Effect::BadSignature,
            "autoscaling",
            403,
            "SignatureDoesNotMatch",
        ),
    ];
    for (effect, service, status, code) in cases {
        let case = format!("{effect:?} on {service}");
        assert_eq!(
            struck(effect, service).await,
            (status, code.to_owned()),
            "{case}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn any_code_can_be_scripted_on_one_action_and_resource() {
    let codes = [
        ("autoscaling", "ResourceContention", 400),
        ("autoscaling", "LimitExceeded", 400),
        ("autoscaling", "ServiceLinkedRoleFailure", 500),
        ("s3", "OperationAborted", 409),
        ("ec2", "VersionLimitExceeded", 400),
    ];
    for (service, code, status) in codes {
        let client = demo();
        client
            .sim
            .faults()
            .script(Fault::refuse(code, "scripted", status).service(service));
        let answer = call(&client, service).await;
        assert_eq!(
            (answer.status.as_u16(), answer.code().as_str()),
            (status, code)
        );
        assert_eq!(answer.first("Message").unwrap(), "scripted");
    }
    let client = demo();
    let fault = Fault::new(Effect::Denied)
        .on("ec2", "CreateLaunchTemplate")
        .resource("pool-a");
    client.sim.faults().script(fault);
    client.create_template("pool-b").await.ok();
    assert_eq!(
        client.create_template("pool-a").await.code(),
        "UnauthorizedOperation"
    );
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_carried_out_and_a_broken_connection_is_not() {
    for (effect, made) in [(Effect::LostAnswer, 1), (Effect::Disconnect, 0)] {
        let client = demo();
        client.create_template("one").await.ok();
        client
            .sim
            .faults()
            .script(Fault::new(effect).on("ec2", "DeleteLaunchTemplate"));
        let form = b"Action=DeleteLaunchTemplate&Version=2016-11-15&LaunchTemplateName=one";
        let request = http::Request::post("https://ec2.us-east-1.amazonaws.com/")
            .header("content-type", "application/x-www-form-urlencoded");
        let request = client.sign("ec2", request, form.to_vec());
        assert!(
            client.try_send(request).await.is_none(),
            "the caller sees the connection break"
        );
        assert_eq!(1 - client.sim.world().templates().len(), made);
        let call = client.sim.journal().calls().pop().unwrap();
        assert_eq!(call.outcome == Outcome::AnswerLost, made == 1);
    }
}

#[tokio::test(start_paused = true)]
async fn latency_takes_simulated_time() {
    let client = demo();
    let slow = Fault::new(Effect::Latency(Duration::from_secs(40)))
        .service("ec2")
        .once();
    client.sim.faults().script(slow);
    let before = Instant::now();
    client.ec2("DescribeInstances", &[]).await.ok();
    assert_eq!(before.elapsed().as_secs(), 40);
}

#[tokio::test(start_paused = true)]
async fn a_stale_read_shows_the_past() {
    let client = demo();
    let stale = Effect::StaleRead(Duration::from_secs(10));
    client.sim.faults().script(
        Fault::new(stale)
            .on("ec2", "DescribeLaunchTemplates")
            .skip(1),
    );
    client.pass(60).await;
    client.create_template("one").await.ok();
    let names = |answer: support::Answer| answer.ok().all("launchTemplateName");
    assert_eq!(
        names(client.ec2("DescribeLaunchTemplates", &[]).await),
        ["one"]
    );
    assert!(names(client.ec2("DescribeLaunchTemplates", &[]).await).is_empty());
    client.pass(11).await;
    assert_eq!(
        names(client.ec2("DescribeLaunchTemplates", &[]).await),
        ["one"]
    );
}

#[tokio::test(start_paused = true)]
async fn the_journal_tells_reads_writes_and_outcomes_in_order() {
    let client = demo();
    client.create_group("pool", "1").await;
    client
        .asg("DescribeAutoScalingGroups", &[("MaxRecords", "100")])
        .await
        .ok();
    client.create_template("pool-lt").await;
    let journal = client.sim.journal();
    assert_eq!(
        journal.write_names(),
        [
            "ec2:CreateLaunchTemplate",
            "autoscaling:CreateAutoScalingGroup",
            "ec2:CreateLaunchTemplate"
        ]
    );
    assert_eq!(journal.reads().len(), 1);
    let last = journal.calls().pop().unwrap();
    let code = "InvalidLaunchTemplateName.AlreadyExistsException".to_owned();
    assert_eq!(last.outcome, Outcome::Refused { code, status: 400 });
    assert_eq!(
        (last.param("LaunchTemplateName"), last.region.as_str()),
        ("pool-lt", "us-east-1")
    );
    journal.clear();
    assert!(journal.calls().is_empty());
    assert_eq!(journal.next_number(), 4);
}
