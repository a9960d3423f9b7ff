//! An independent look at a target, and hands on it: the vendor's own clients for Auto Scaling and
//! S3, plain signed requests for EC2. Never recorded, and never through the backend under test.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::SystemTime,
};

use aws_config::{BehaviorVersion, SdkConfig};
use aws_credential_types::{Credentials, provider::SharedCredentialsProvider};
use aws_sdk_autoscaling::types::AutoScalingGroup;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use remuda_aws::InProcess;
use tower::ServiceExt;

use super::{demo::REGION, wire::Wire};

/// The account under test; moto takes any key.
pub use remuda_sim::aws::{
    DEMO_ACCESS_KEY_ID as ACCESS_KEY_ID, DEMO_SECRET_ACCESS_KEY as SECRET_ACCESS_KEY,
};

/// An independent look at a target.
#[derive(Clone)]
pub struct Probe {
    wire: Wire,
    /// Auto Scaling by the vendor's client.
    pub autoscaling: aws_sdk_autoscaling::Client,
    /// S3 by the vendor's client.
    pub s3: aws_sdk_s3::Client,
}

impl Probe {
    pub fn new(wire: &Wire) -> Self {
        let config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(aws_config::Region::new(REGION))
            .credentials_provider(SharedCredentialsProvider::new(credentials()))
            .http_client(InProcess::new(wire.clone()))
            .endpoint_url("http://aws.remuda.invalid")
            .retry_config(aws_config::retry::RetryConfig::disabled())
            .sleep_impl(aws_smithy_async::rt::sleep::TokioSleep::new())
            .build();
        let s3 = aws_sdk_s3::config::Builder::from(&config)
            .force_path_style(true)
            .build();
        Self {
            wire: wire.clone(),
            autoscaling: aws_sdk_autoscaling::Client::new(&config),
            s3: aws_sdk_s3::Client::from_conf(s3),
        }
    }

    /// Sends an EC2 call; the answer is text.
    pub async fn ec2(&self, action: &str, params: &[(&str, &str)]) -> Result<String, String> {
        let request = signed(action, params);
        let answer = self.wire.clone().oneshot(request).await.unwrap();
        let status = answer.status();
        let text = answer.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&text).into_owned();
        if status.is_success() {
            Ok(text)
        } else {
            Err(text)
        }
    }

    /// A group, `None` when it does not exist.
    pub async fn group(&self, name: &str) -> Option<AutoScalingGroup> {
        let page = self
            .autoscaling
            .describe_auto_scaling_groups()
            .auto_scaling_group_names(name)
            .send()
            .await
            .unwrap();
        page.auto_scaling_groups.unwrap_or_default().pop()
    }

    /// Minimum, maximum and desired capacity.
    pub async fn sizes(&self, name: &str) -> (i32, i32, i32) {
        let group = self.group(name).await.expect("the group exists");
        (
            group.min_size.unwrap(),
            group.max_size.unwrap(),
            group.desired_capacity.unwrap(),
        )
    }

    /// The subnets of a group.
    pub async fn subnets(&self, name: &str) -> BTreeSet<String> {
        let group = self.group(name).await.expect("the group exists");
        group
            .vpc_zone_identifier
            .unwrap_or_default()
            .split(',')
            .map(ToOwned::to_owned)
            .collect()
    }

    /// Launch templates whose name starts with a prefix: name to id.
    pub async fn templates(&self, prefix: &str) -> BTreeMap<String, String> {
        let pattern = format!("{prefix}*");
        let text = self
            .ec2(
                "DescribeLaunchTemplates",
                &[
                    ("Filter.1.Name", "launch-template-name"),
                    ("Filter.1.Value.1", &pattern),
                ],
            )
            .await
            .unwrap();
        texts(&text, "launchTemplateName")
            .into_iter()
            .zip(texts(&text, "launchTemplateId"))
            .collect()
    }

    /// How many versions a launch template has, and which is the default.
    pub async fn versions(&self, name: &str) -> (usize, String, String) {
        let text = self
            .ec2("DescribeLaunchTemplates", &[("LaunchTemplateName.1", name)])
            .await
            .unwrap();
        let latest = texts(&text, "latestVersionNumber").remove(0);
        let default = texts(&text, "defaultVersionNumber").remove(0);
        (latest.parse().unwrap(), default, latest)
    }

    /// The newest data of a launch template, as XML.
    pub async fn template_data(&self, name: &str) -> String {
        self.ec2(
            "DescribeLaunchTemplateVersions",
            &[
                ("LaunchTemplateName", name),
                ("LaunchTemplateVersion.1", "$Latest"),
            ],
        )
        .await
        .unwrap()
    }

    /// Instance ids of a group that are neither shutting down nor terminated, sorted.
    pub async fn instances(&self, group: &str) -> Vec<String> {
        let text = self
            .ec2(
                "DescribeInstances",
                &[
                    ("Filter.1.Name", "tag:aws:autoscaling:groupName"),
                    ("Filter.1.Value.1", group),
                    ("Filter.2.Name", "instance-state-name"),
                    ("Filter.2.Value.1", "pending"),
                    ("Filter.2.Value.2", "running"),
                    ("Filter.2.Value.3", "stopping"),
                    ("Filter.2.Value.4", "stopped"),
                ],
            )
            .await
            .unwrap();
        let mut ids: Vec<String> = texts(&text, "instanceId")
            .into_iter()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        ids.sort();
        ids
    }

    /// Bytes of an object, `None` when it does not exist.
    pub async fn object(&self, bucket: &str, key: &str) -> Option<Vec<u8>> {
        let answer = self.s3.get_object().bucket(bucket).key(key).send().await;
        let body = answer.ok()?.body.collect().await.unwrap();
        Some(body.into_bytes().to_vec())
    }

    /// Tags of an object.
    pub async fn object_tags(&self, bucket: &str, key: &str) -> BTreeMap<String, String> {
        let answer = self
            .s3
            .get_object_tagging()
            .bucket(bucket)
            .key(key)
            .send()
            .await
            .unwrap();
        answer
            .tag_set
            .into_iter()
            .map(|tag| (tag.key, tag.value))
            .collect()
    }
}

/// A signed EC2 request.
fn signed(action: &str, params: &[(&str, &str)]) -> Request<Full<Bytes>> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("Action", action)
        .append_pair("Version", "2016-11-15")
        .extend_pairs(params);
    let body = form.finish();
    let request = Request::builder()
        .method("POST")
        .uri("http://aws.remuda.invalid/")
        .header("host", "aws.remuda.invalid")
        .header("content-type", "application/x-www-form-urlencoded");
    let mut request = request.body(Full::new(Bytes::from(body.clone()))).unwrap();
    let identity = credentials().into();
    let settings = v4::SigningParams::builder()
        .identity(&identity)
        .region(REGION)
        .name("ec2")
        .time(SystemTime::now())
        .settings(SigningSettings::default())
        .build()
        .unwrap()
        .into();
    let headers = request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
        .collect::<Vec<_>>();
    let signable = SignableRequest::new(
        "POST",
        "http://aws.remuda.invalid/",
        headers.into_iter(),
        SignableBody::Bytes(body.as_bytes()),
    )
    .unwrap();
    let (instructions, _) = sign(signable, &settings).unwrap().into_parts();
    instructions.apply_to_request_http1x(&mut request);
    request
}

fn credentials() -> Credentials {
    Credentials::new(ACCESS_KEY_ID, SECRET_ACCESS_KEY, None, None, "test")
}

/// Texts of all elements of a name, in order.
pub fn texts(xml: &str, name: &str) -> Vec<String> {
    let open = format!("<{name}>");
    let close = format!("</{name}>");
    xml.split(&open)
        .skip(1)
        .filter_map(|rest| rest.split_once(&close))
        .map(|(text, _)| text.to_owned())
        .collect()
}
