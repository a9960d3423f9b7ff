//! S3 objects.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use remuda_sim::aws::DEMO_BUCKET;
use support::immediate;

const TAGS: &str = "captf.io%2Fcluster=demo&captf.io%2Ftemplate=";

fn path(key: &str) -> String {
    format!("{DEMO_BUCKET}/{key}")
}

#[tokio::test]
async fn an_object_comes_back_byte_for_byte() {
    let client = immediate();
    let body = [0x1f, 0x8b, 8, 0, 255, 0, b'\r', b'\n'];
    let headers = [
        ("content-type", "application/octet-stream"),
        ("x-amz-server-side-encryption", "AES256"),
        ("x-amz-tagging", TAGS),
    ];
    let put = client
        .s3("PUT", &path("pool/demo"), &headers, &body)
        .await
        .ok();
    let etag = put.headers["etag"].to_str().unwrap().to_owned();
    assert_eq!(etag.len(), 34);
    let got = client.s3("GET", &path("pool/demo"), &[], b"").await.ok();
    assert_eq!(got.body, body);
    assert_eq!(got.headers["content-type"], "application/octet-stream");
    assert_eq!(got.headers["x-amz-tagging-count"], "2");
    let head = client.s3("HEAD", &path("pool/demo"), &[], b"").await.ok();
    assert_eq!(head.headers["etag"], etag.as_str());
    assert_eq!(head.headers["content-length"], "8");
    assert_eq!(head.headers["x-amz-server-side-encryption"], "AES256");
    let tags = client
        .s3("GET", &path("pool/demo?tagging"), &[], b"")
        .await
        .ok();
    assert_eq!(tags.all("Key"), ["captf.io/cluster", "captf.io/template"]);
    assert_eq!(tags.all("Value"), ["demo", ""]);
}

#[tokio::test]
async fn tags_are_replaced_whole() {
    let client = immediate();
    let headers = [("x-amz-tagging", TAGS)];
    client
        .s3("PUT", &path("pool/demo"), &headers, b"x")
        .await
        .ok();
    let body =
        b"<Tagging xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><TagSet><Tag><Key>a&amp;b\
                 </Key><Value>c</Value></Tag></TagSet></Tagging>";
    client
        .s3("PUT", &path("pool/demo?tagging"), &[], body)
        .await
        .ok();
    let tags = client
        .sim
        .world()
        .object_tags(DEMO_BUCKET, "pool/demo")
        .unwrap();
    assert_eq!(
        tags.into_iter().collect::<Vec<_>>(),
        [("a&b".to_owned(), "c".to_owned())]
    );
    let bad = client
        .s3("PUT", &path("pool/demo?tagging"), &[], b"<Nonsense/>")
        .await;
    assert_eq!(bad.code(), "MalformedXML");
    let eleven: Vec<String> = (0..11).map(|number| format!("k{number}=v")).collect();
    let too_many = [("x-amz-tagging", &*eleven.join("&"))];
    let refused = client.s3("PUT", &path("pool/other"), &too_many, b"x").await;
    assert_eq!(refused.code(), "BadRequest");
}

#[tokio::test]
async fn what_is_missing_is_told_apart() {
    let client = immediate();
    let no_key = client.s3("GET", &path("pool/none"), &[], b"").await;
    assert_eq!(
        (no_key.status.as_u16(), no_key.code().as_str()),
        (404, "NoSuchKey")
    );
    let no_bucket = client.s3("PUT", "no-such-bucket/pool/x", &[], b"x").await;
    assert_eq!(
        (no_bucket.status.as_u16(), no_bucket.code().as_str()),
        (404, "NoSuchBucket")
    );
    let head = client.s3("HEAD", &path("pool/none"), &[], b"").await;
    assert_eq!((head.status.as_u16(), head.body.len()), (404, 0));
    client.s3("DELETE", &path("pool/none"), &[], b"").await.ok();
    let no_bucket = client.s3("DELETE", "no-such-bucket/pool/x", &[], b"").await;
    assert_eq!(no_bucket.code(), "NoSuchBucket");
}

#[tokio::test]
async fn conditional_writes_do_not_overwrite() {
    let client = immediate();
    let only_new = [("if-none-match", "*")];
    client
        .s3("PUT", &path("pool/demo"), &only_new, b"one")
        .await
        .ok();
    let refused = client
        .s3("PUT", &path("pool/demo"), &only_new, b"two")
        .await;
    assert_eq!(
        (refused.status.as_u16(), refused.code().as_str()),
        (412, "PreconditionFailed")
    );
    assert_eq!(
        client.sim.world().object(DEMO_BUCKET, "pool/demo").unwrap(),
        "one"
    );
}

#[tokio::test]
async fn buckets_are_made_listed_and_removed() {
    let client = immediate();
    client.s3("PUT", "another-bucket", &[], b"").await.ok();
    let again = client.s3("PUT", "another-bucket", &[], b"").await;
    assert_eq!(again.code(), "BucketAlreadyOwnedByYou");
    let listed = client.s3("GET", "", &[], b"").await.ok();
    assert_eq!(listed.all("Name"), ["another-bucket", DEMO_BUCKET]);
    client.s3("PUT", "another-bucket/x", &[], b"1").await.ok();
    assert_eq!(
        client.s3("DELETE", "another-bucket", &[], b"").await.code(),
        "BucketNotEmpty"
    );
    client.s3("DELETE", "another-bucket/x", &[], b"").await.ok();
    client.s3("DELETE", "another-bucket", &[], b"").await.ok();
    assert_eq!(
        client
            .s3("HEAD", "another-bucket", &[], b"")
            .await
            .status
            .as_u16(),
        404
    );
}
