//! Traces of a manager, as a collector gets them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Bytes, extract::State, routing::post};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest, common::v1::any_value::Value as Any,
    trace::v1::Span,
};
use prost::Message as _;

use crate::place::{PATIENCE, POOL, Place, until};

/// A collector that keeps what it gets.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Span>>>);

async fn take(State(collector): State<Collector>, body: Bytes) {
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    let resources = request.resource_spans.into_iter();
    let scopes = resources.flat_map(|resource| resource.scope_spans);
    let spans = scopes.flat_map(|scope| scope.spans);
    collector.0.lock().unwrap().extend(spans);
}

impl Collector {
    async fn start(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/v1/traces", post(take))
            .with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}")
    }

    fn spans(&self) -> Vec<Span> {
        self.0.lock().unwrap().clone()
    }
}

fn attributes(span: &Span) -> BTreeMap<&str, String> {
    let attributes = span.attributes.iter();
    attributes
        .map(|attribute| {
            let value = attribute.value.as_ref().and_then(|it| it.value.as_ref());
            let text = match value {
                Some(Any::StringValue(text)) => text.clone(),
                other => format!("{other:?}"),
            };
            (attribute.key.as_str(), text)
        })
        .collect()
}

/// Spans below a span, at any depth.
fn below<'a>(root: &Span, spans: &'a [Span]) -> Vec<&'a Span> {
    let children = spans
        .iter()
        .filter(|span| span.trace_id == root.trace_id && span.parent_span_id == root.span_id);
    children
        .flat_map(|child| [vec![child], below(child, spans)].concat())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_and_the_calls_below_it_are_one_trace() {
    let place = Place::filled().await;
    let collector = Collector::default();
    let endpoint = collector.start().await;
    let arguments = [
        "--webhooks=false",
        "--health-addr=0",
        "--otlp-endpoint",
        &endpoint,
    ];
    let command = place.command(&place.kubeconfig(), &arguments);
    let mut manager = place.start(command);
    until("the group has three", PATIENCE, async || {
        place.is_running(POOL, 3).await
    })
    .await;
    assert!(manager.terminate(), "it ends well");

    // What was left is sent before the program ends.
    let spans = collector.spans();
    let made = "autoscaling:CreateAutoScalingGroup";
    let passes = spans.iter().filter(|span| span.name == "pass");
    let (pass, calls) = passes
        .map(|pass| (pass, below(pass, &spans)))
        .find(|(_, calls)| calls.iter().any(|call| call.name == made))
        .unwrap_or_else(|| panic!("no pass made the group, of {} spans", spans.len()));
    assert!(pass.parent_span_id.is_empty(), "a pass is the root");
    let about = attributes(pass);
    assert_eq!(about["kind"], "TerraformMachinePool");
    assert_eq!(about["object"], "team-a/demo-pool-0");
    let call = calls.iter().find(|call| call.name == made).unwrap();
    let about = attributes(call);
    assert_eq!(about["cloud"], "aws");
    assert_eq!(about["region"], "us-east-1");
    assert!(about["subject"].contains("demo-pool-0"), "{about:?}");
    assert!(call.end_time_unix_nano > call.start_time_unix_nano);
    let asked: Vec<String> = calls
        .iter()
        .filter(|call| call.name == "kubernetes")
        .map(|call| attributes(call)["request"].clone())
        .collect();
    assert!(
        asked
            .iter()
            .any(|request| request == "get TerraformMachinePool team-a/demo-pool-0"),
        "{asked:?}"
    );
    assert!(
        asked
            .iter()
            .any(|request| request.starts_with("patch TerraformMachinePool")),
        "{asked:?}"
    );
    for span in &spans {
        let events = span.events.iter().flat_map(|event| &event.attributes);
        let text = format!("{:?}{:?}", span.attributes, events.collect::<Vec<_>>());
        for secret in ["remudademosecretkey", "#cloud-config"] {
            assert!(!text.contains(secret), "{}", span.name);
        }
    }
}
