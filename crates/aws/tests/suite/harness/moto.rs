//! moto's server as a target: a process of its own, reset before each scenario. What moto lacks is
//! answered here (AWS document 14).

use std::{
    collections::BTreeMap,
    convert::Infallible,
    io::Write,
    net::TcpListener,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Request, Response, Uri, uri::Authority};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use tower::{ServiceExt, service_fn, util::BoxCloneSyncService};

use super::{
    demo::{BUCKET, Cluster, IMAGE},
    probe::{Probe, texts},
    wire::{Double, Recorded, Wire},
};

/// A running moto server; it ends with the value.
pub struct Moto {
    process: Child,
    wire: Wire,
    _images: tempfile::NamedTempFile,
}

impl Drop for Moto {
    fn drop(&mut self) {
        // A server that is gone already needs no ending.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Moto {
    /// Starts a server with the python of `REMUDA_MOTO_PYTHON`; `None` when that is not set.
    pub async fn start() -> Option<Self> {
        let python = std::env::var("REMUDA_MOTO_PYTHON").ok()?;
        let mut images = tempfile::NamedTempFile::new().unwrap();
        images.write_all(images_file().as_bytes()).unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let process = Command::new(python)
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p"])
            .arg(port.to_string())
            .env("MOTO_AMIS_PATH", images.path())
            .stdout(Stdio::null())
            .stderr(log())
            .spawn()
            .expect("REMUDA_MOTO_PYTHON names a python that has moto[server]");
        let moto = Self {
            process,
            wire: forward(&format!("127.0.0.1:{port}")),
            _images: images,
        };
        moto.ready().await;
        Some(moto)
    }

    /// A foreign process says that it is ready only by answering.
    async fn ready(&self) {
        let deadline = Instant::now() + Duration::from_mins(1);
        while self.ask("GET", "/moto-api/").await != 200 {
            assert!(Instant::now() < deadline, "moto did not start within 60 s");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn ask(&self, method: &str, path: &str) -> u16 {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .body(Full::new(Bytes::new()))
            .unwrap();
        let answer = self.wire.clone().oneshot(request).await.unwrap();
        answer.status().as_u16()
    }

    /// An empty account with DEMO's surroundings.
    pub async fn reset(&self) -> (Wire, Cluster, Double) {
        assert_eq!(self.ask("POST", "/moto-api/reset").await, 200);
        let probe = Probe::new(&self.wire);
        let vpc = probe
            .ec2("CreateVpc", &[("CidrBlock", "10.0.0.0/16")])
            .await
            .unwrap();
        let vpc = texts(&vpc, "vpcId").remove(0);
        let mut zones = BTreeMap::new();
        for (index, zone) in ["us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d"]
            .into_iter()
            .enumerate()
        {
            let subnet = probe
                .ec2(
                    "CreateSubnet",
                    &[
                        ("VpcId", &vpc),
                        ("CidrBlock", &format!("10.0.{index}.0/24")),
                        ("AvailabilityZone", zone),
                    ],
                )
                .await
                .unwrap();
            zones.insert(zone.to_owned(), texts(&subnet, "subnetId").remove(0));
        }
        let group = probe
            .ec2(
                "CreateSecurityGroup",
                &[
                    ("GroupName", "worker"),
                    ("GroupDescription", "worker"),
                    ("VpcId", &vpc),
                ],
            )
            .await
            .unwrap();
        probe
            .s3
            .create_bucket()
            .bucket(BUCKET)
            .send()
            .await
            .unwrap();
        let cluster = Cluster {
            zones,
            worker_group: texts(&group, "groupId").remove(0),
            newest_image: IMAGE.to_owned(),
        };
        (self.wire.clone(), cluster, what_moto_lacks())
    }
}

/// Where the server's own log goes: nowhere, or to the file that `REMUDA_MOTO_LOG` names.
fn log() -> Stdio {
    std::env::var("REMUDA_MOTO_LOG").map_or_else(
        |_| Stdio::null(),
        |path| std::fs::File::create(path).unwrap().into(),
    )
}

fn forward(authority: &str) -> Wire {
    let client: Client<HttpConnector, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).build_http();
    let authority: Authority = authority.parse().unwrap();
    BoxCloneSyncService::new(service_fn(move |mut request: Request<Full<Bytes>>| {
        let client = client.clone();
        let mut uri = request.uri().clone().into_parts();
        uri.scheme = Some(http::uri::Scheme::HTTP);
        uri.authority = Some(authority.clone());
        *request.uri_mut() = Uri::from_parts(uri).unwrap();
        // The client names the host it connects to; moto takes another one's first part for a bucket.
        request.headers_mut().remove(http::header::HOST);
        async move {
            let Ok(answer) = client.request(request).await else {
                let mut answer = Response::new(Full::default());
                *answer.status_mut() = http::StatusCode::BAD_GATEWAY;
                return Ok::<_, Infallible>(answer);
            };
            let (parts, body) = answer.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            Ok(Response::from_parts(parts, Full::new(body)))
        }
    }))
}

/// Images by the wildcards of DEMO's lookup, two versions and one of another architecture.
fn images_file() -> String {
    let image = |id: &str, name: &str, architecture: &str, created: &str| {
        serde_json::json!({
            "ami_id": id, "name": name, "description": name, "owner_id": "819546954734",
            "architecture": architecture, "virtualization_type": "hvm", "public": true,
            "platform": null, "image_type": "machine", "hypervisor": "xen", "state": "available",
            "root_device_name": "/dev/sda1", "root_device_type": "ebs", "sriov": "simple",
            "creation_date": created,
        })
    };
    serde_json::json!([
        image(
            IMAGE,
            "capa-ami-ubuntu-24.04-v1.34.1-1760000000",
            "x86_64",
            "2025-10-09T08:53:20.000Z"
        ),
        image(
            "ami-0000000000000aaa1",
            "capa-ami-ubuntu-24.04-v1.34.1-1750000000",
            "x86_64",
            "2025-06-15T15:06:40.000Z"
        ),
        image(
            "ami-0000000000000aaa2",
            "capa-ami-ubuntu-24.04-v1.34.1-1770000000",
            "arm64",
            "2026-02-02T02:40:00.000Z"
        ),
        image(
            "ami-0000000000000bbb1",
            "capa-ami-ubuntu-24.04-v1.35.0-1770000000",
            "x86_64",
            "2026-02-02T02:40:00.000Z"
        ),
    ])
    .to_string()
}

/// Instance refreshes as a small state machine, and the not-found code that AWS gives for a
/// launch template.
fn what_moto_lacks() -> Double {
    let refreshes: Arc<Mutex<Vec<(String, &'static str)>>> = Arc::default();
    let answers = Arc::new(move |call: &Recorded| {
        let mut refreshes = refreshes.lock().unwrap();
        match call.name.as_str() {
            "autoscaling:StartInstanceRefresh" => {
                if refreshes.iter().any(|(_, status)| *status == "InProgress") {
                    return Some(refuse("InstanceRefreshInProgress"));
                }
                let id = format!("refresh-{}", refreshes.len() + 1);
                refreshes.push((id.clone(), "InProgress"));
                Some(result(
                    "StartInstanceRefresh",
                    &format!("<InstanceRefreshId>{id}</InstanceRefreshId>"),
                ))
            }
            "autoscaling:CancelInstanceRefresh" => {
                let running = refreshes
                    .iter_mut()
                    .find(|(_, status)| *status == "InProgress");
                let Some((id, status)) = running else {
                    return Some(refuse("ActiveInstanceRefreshNotFound"));
                };
                *status = "Cancelled";
                Some(result(
                    "CancelInstanceRefresh",
                    &format!("<InstanceRefreshId>{id}</InstanceRefreshId>"),
                ))
            }
            "autoscaling:DescribeInstanceRefreshes" => {
                let members = refreshes
                    .iter()
                    .rev()
                    .fold(String::new(), |all, (id, status)| {
                        all + "<member><InstanceRefreshId>"
                            + id
                            + "</InstanceRefreshId><Status>"
                            + status
                            + "</Status></member>"
                    });
                Some(result(
                    "DescribeInstanceRefreshes",
                    &format!("<InstanceRefreshes>{members}</InstanceRefreshes>"),
                ))
            }
            _ => None,
        }
    });
    Double {
        answers,
        amends: Arc::new(without_own_tags),
    }
}

/// moto repeats the tags of a launch template inside its data; AWS does not.
fn without_own_tags(call: &Recorded, body: Bytes) -> Bytes {
    if call.name != "ec2:DescribeLaunchTemplateVersions" {
        return body;
    }
    let text = String::from_utf8_lossy(&body).into_owned();
    let mark = "<resourceType>launch-template</resourceType>";
    let Some(at) = text.find(mark) else {
        return body;
    };
    // The specification's own element is the last one that is open at the mark.
    let mut open = Vec::new();
    let mut begin = None;
    for (position, tag) in tags_of(&text) {
        if position > at && begin.is_none() {
            begin = open.last().copied();
        }
        if tag == "<item>" {
            open.push(position);
        } else if open.pop() == begin && begin.is_some() {
            let begin = begin.unwrap_or_default();
            let end = position + tag.len();
            return Bytes::from(format!("{}{}", &text[..begin], &text[end..]));
        }
    }
    body
}

/// Positions of opening and closing `item` tags.
fn tags_of(text: &str) -> Vec<(usize, &'static str)> {
    let mut tags: Vec<(usize, &'static str)> = ["<item>", "</item>"]
        .into_iter()
        .flat_map(|tag| {
            text.match_indices(tag)
                .map(move |(position, _)| (position, tag))
        })
        .collect();
    tags.sort_unstable();
    tags
}

/// An answer of Auto Scaling.
pub fn result(action: &str, inner: &str) -> Response<Full<Bytes>> {
    let body = format!(
        "<{action}Response xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\">\
         <{action}Result>{inner}</{action}Result>\
         <ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></{action}Response>"
    );
    xml(200, body)
}

/// A refusal by Auto Scaling.
pub fn refuse(code: &str) -> Response<Full<Bytes>> {
    let body = format!(
        "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{code}</Message>\
         </Error><RequestId>r</RequestId></ErrorResponse>"
    );
    xml(400, body)
}

fn xml(status: u16, body: String) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        .header("content-type", "text/xml")
        .body(Full::new(Bytes::from(body)))
        .unwrap()
}
