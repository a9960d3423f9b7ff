//! A client for tests: signs with the SDK's signer, calls the router, takes answers apart.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses its own part"
)]

pub mod workload;

use std::time::Duration;

use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{
        PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
        UriPathNormalizationMode, sign,
    },
    sign::v4,
};
use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use jiff::Timestamp;
use remuda_sim::{
    SimClock,
    aws::{AwsSim, DEMO_ACCESS_KEY_ID, DEMO_SECRET_ACCESS_KEY, GroupInfo},
};
use tower::ServiceExt;

pub const SUBNETS: &str =
    "subnet-0aaa0000000000001,subnet-0bbb0000000000002,subnet-0ccc0000000000003";
pub const SECURITY_GROUP: &str = "sg-0e0000000000000e1";
pub const IMAGE: &str = "ami-0123456789abcdef0";

pub fn start() -> Timestamp {
    "2026-10-01T08:00:00Z".parse().unwrap()
}

/// The DEMO world at normal speed.
pub fn demo() -> Client {
    Client::new(
        AwsSim::builder()
            .clock(SimClock::starting_at(start()))
            .seed(7)
            .demo(),
    )
}

/// The DEMO world whose processes take no time.
pub fn immediate() -> Client {
    Client::new(
        AwsSim::builder()
            .clock(SimClock::immediate(start()))
            .seed(7)
            .demo(),
    )
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: http::HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// The answer, which must be a success.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert!(self.status.is_success(), "{} {}", self.status, self.text());
        self
    }

    /// Code of a refusal; the answer must be one.
    #[track_caller]
    pub fn code(&self) -> String {
        assert!(!self.status.is_success(), "{}", self.text());
        self.first("Code").unwrap_or_default()
    }

    /// Text of the first element of that name.
    pub fn first(&self, element: &str) -> Option<String> {
        self.all(element).into_iter().next()
    }

    /// Texts of all elements of that name.
    pub fn all(&self, element: &str) -> Vec<String> {
        let text = self.text();
        let mut reader = quick_xml::Reader::from_str(&text);
        let mut found = Vec::new();
        let mut inside = false;
        let mut current = String::new();
        loop {
            match reader.read_event().expect("answers are well-formed XML") {
                quick_xml::events::Event::Start(tag) => {
                    inside = tag.name().as_ref() == element;
                    current.clear();
                }
                quick_xml::events::Event::Text(text) if inside => {
                    current.push_str(&text);
                }
                quick_xml::events::Event::GeneralRef(name) if inside => {
                    let name = name.to_string();
                    current.push_str(match name.as_str() {
                        "lt" => "<",
                        "gt" => ">",
                        "amp" => "&",
                        "quot" => "\"",
                        other => panic!("unexpected reference {other}"),
                    });
                }
                quick_xml::events::Event::End(tag) => {
                    if inside && tag.name().as_ref() == element {
                        found.push(current.clone());
                    }
                    inside = false;
                }
                quick_xml::events::Event::Eof => return found,
                _ => {}
            }
        }
    }
}

/// A client with credentials.
#[derive(Clone)]
pub struct Client {
    pub sim: AwsSim,
    pub access_key_id: String,
    pub secret: String,
    pub token: Option<String>,
    pub region: String,
}

impl Client {
    pub fn new(sim: AwsSim) -> Self {
        Self {
            sim,
            access_key_id: DEMO_ACCESS_KEY_ID.into(),
            secret: DEMO_SECRET_ACCESS_KEY.into(),
            token: None,
            region: "us-east-1".into(),
        }
    }

    /// The same client with other credentials.
    pub fn with_key(&self, id: &str, secret: &str, token: Option<&str>) -> Self {
        Self {
            access_key_id: id.into(),
            secret: secret.into(),
            token: token.map(Into::into),
            ..self.clone()
        }
    }

    /// The same client for another region.
    pub fn in_region(&self, region: &str) -> Self {
        Self {
            region: region.into(),
            ..self.clone()
        }
    }

    /// A Query call.
    pub async fn call(&self, service: &str, action: &str, params: &[(&str, &str)]) -> Answer {
        let version = match service {
            "ec2" => "2016-11-15",
            "sts" => "2011-06-15",
            _ => "2011-01-01",
        };
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("Action", action)
            .append_pair("Version", version)
            .extend_pairs(params);
        let request = Request::post(format!("https://{service}.{}.amazonaws.com/", self.region))
            .header(
                "content-type",
                "application/x-www-form-urlencoded; charset=utf-8",
            );
        self.send(service, request, form.finish().into_bytes())
            .await
    }

    pub async fn asg(&self, action: &str, params: &[(&str, &str)]) -> Answer {
        self.call("autoscaling", action, params).await
    }

    pub async fn ec2(&self, action: &str, params: &[(&str, &str)]) -> Answer {
        self.call("ec2", action, params).await
    }

    /// An S3 call, path-style; `headers` are signed too.
    pub async fn s3(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("https://s3.{}.amazonaws.com/{path}", self.region));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send("s3", request, body.to_vec()).await
    }

    /// Signs and sends.
    pub async fn send(
        &self,
        service: &str,
        request: http::request::Builder,
        body: Vec<u8>,
    ) -> Answer {
        self.send_unsigned(self.sign(service, request, body)).await
    }

    /// Signs.
    pub fn sign(
        &self,
        service: &str,
        request: http::request::Builder,
        body: Vec<u8>,
    ) -> Request<Body> {
        let mut request = request.body(body.clone()).unwrap();
        let identity = Credentials::new(
            self.access_key_id.clone(),
            self.secret.clone(),
            self.token.clone(),
            None,
            "test",
        )
        .into();
        let mut settings = SigningSettings::default();
        if service == "s3" {
            settings.percent_encoding_mode = PercentEncodingMode::Single;
            settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
            settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        }
        let seconds = u64::try_from(self.sim.clock().now().as_second()).unwrap();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(service)
            .time(std::time::UNIX_EPOCH + Duration::from_secs(seconds))
            .settings(settings)
            .build()
            .unwrap()
            .into();
        let uri = request.uri().to_string();
        let headers: Vec<(String, String)> = request
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        let signable = SignableRequest::new(
            request.method().as_str(),
            &uri,
            headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
            SignableBody::Bytes(&body),
        )
        .unwrap();
        let (instructions, _) = sign(signable, &params).unwrap().into_parts();
        instructions.apply_to_request_http1x(&mut request);
        request.map(Body::from)
    }

    /// Sends a request as it is.
    pub async fn send_unsigned(&self, request: Request<Body>) -> Answer {
        self.try_send(request)
            .await
            .expect("the answer arrives whole")
    }

    /// Sends a request; `None` when the answer breaks off.
    pub async fn try_send(&self, request: Request<Body>) -> Option<Answer> {
        let response = self.sim.router().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.ok()?.to_bytes().to_vec();
        Some(Answer {
            status: parts.status,
            headers: parts.headers,
            body,
        })
    }

    /// Creates a launch template for the DEMO pool.
    pub async fn create_template(&self, name: &str) -> Answer {
        self.create_template_with(name, &[]).await
    }

    pub async fn create_template_with(&self, name: &str, more: &[(&str, &str)]) -> Answer {
        let mut params = vec![
            ("LaunchTemplateName", name),
            ("LaunchTemplateData.ImageId", IMAGE),
            ("LaunchTemplateData.InstanceType", "m6i.large"),
            ("LaunchTemplateData.NetworkInterface.1.DeviceIndex", "0"),
            (
                "LaunchTemplateData.NetworkInterface.1.SecurityGroupId.1",
                SECURITY_GROUP,
            ),
            (
                "LaunchTemplateData.IamInstanceProfile.Name",
                remuda_sim::aws::DEMO_WORKER_PROFILE,
            ),
        ];
        params.extend_from_slice(more);
        self.ec2("CreateLaunchTemplate", &params).await
    }

    /// Creates a group of a fixed size, with a template `<name>-lt`.
    pub async fn create_group(&self, name: &str, size: &str) {
        let template = format!("{name}-lt");
        self.create_template(&template).await.ok();
        self.create_group_of(name, &template, &[("MinSize", size), ("MaxSize", size)])
            .await
            .ok();
    }

    pub async fn create_group_of(
        &self,
        name: &str,
        template: &str,
        more: &[(&str, &str)],
    ) -> Answer {
        let mut params = vec![
            ("AutoScalingGroupName", name),
            ("LaunchTemplate.LaunchTemplateName", template),
            ("LaunchTemplate.Version", "$Latest"),
            ("VPCZoneIdentifier", SUBNETS),
        ];
        params.extend_from_slice(more);
        self.asg("CreateAutoScalingGroup", &params).await
    }

    /// Lets simulated time pass.
    pub async fn pass(&self, seconds: u64) {
        self.sim.pass(Duration::from_secs(seconds)).await;
    }

    #[track_caller]
    pub fn group(&self, name: &str) -> GroupInfo {
        self.sim.world().group(name).expect("the group exists")
    }

    /// Instances of a group that are neither shutting down nor terminated.
    pub fn live(&self, group: &str) -> usize {
        self.sim.world().live_instances(group).len()
    }
}
