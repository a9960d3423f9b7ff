//! Scheduled Events, as the machine itself is told them (Azure documentation, "Scheduled Events for
//! Linux VMs"). A scale set tells all its machines of each other's events.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response, request};
use http_body_util::Full;
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use remuda_cloud::{
    CloudError, GuestService,
    in_process::{LocalService, Wire},
};
use remuda_plan::{
    error::FailureClass,
    machines::agent::{EventKind, ScheduledEvent},
};
use serde::Deserialize;
use serde_json::json;

use crate::{errors, transport::Transport};

/// The newest version of Scheduled Events in the documentation.
const EVENTS: &str = "/metadata/scheduledevents?api-version=2020-07-01";
/// The machine's name in its scale set: `workers-7d91b187_0`.
const NAME: &str = "/metadata/instance?api-version=2021-02-01";
/// How `NotBefore` is written: `Mon, 19 Sep 2016 18:29:47 GMT`.
const MOMENT: &str = "%a, %d %b %Y %H:%M:%S GMT";

/// The metadata service of the machine this runs on.
#[derive(Debug, Clone)]
pub struct Guest {
    transport: Transport,
    endpoint: String,
}

impl Guest {
    /// At an address: `http://169.254.169.254`, never through a proxy.
    pub fn at(endpoint: &str) -> Self {
        Self::over(Transport::network(), endpoint)
    }

    /// A service in this process as the metadata service.
    pub fn in_process(service: impl LocalService) -> Self {
        Self::over(Wire::local(service).into(), "http://169.254.169.254")
    }

    fn over(transport: Transport, endpoint: &str) -> Self {
        Self {
            transport,
            endpoint: endpoint.trim_end_matches('/').to_owned(),
        }
    }

    async fn send(
        &self,
        call: &'static str,
        request: request::Builder,
        body: Bytes,
    ) -> Result<Response<Bytes>, CloudError> {
        let request = request
            .header("Metadata", "true")
            .body(Full::new(body))
            .map_err(|_| errors::failure(FailureClass::Bug, call, "the metadata URL is no URL"))?;
        match self.transport.send(request).await {
            Ok(answer) if answer.status().is_success() => Ok(answer),
            Ok(answer) => Err(errors::read(call, &answer).error),
            Err(why) => Err(errors::no_answer(call, why).error),
        }
    }

    async fn get<T: serde::de::DeserializeOwned>(
        &self,
        call: &'static str,
        path: &str,
    ) -> Result<T, CloudError> {
        let request = Request::get(format!("{}{path}", self.endpoint));
        let answer = self.send(call, request, Bytes::new()).await?;
        serde_json::from_slice(answer.body()).map_err(|_| {
            let why = "an answer that is not the metadata service's";
            errors::failure(FailureClass::Transient, call, why).into()
        })
    }
}

#[derive(Deserialize)]
struct Described {
    compute: Compute,
}

#[derive(Deserialize)]
struct Compute {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    #[serde(default)]
    events: Vec<Event>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
#[allow(
    clippy::struct_field_names,
    reason = "the names are those of Azure's document"
)]
struct Event {
    event_id: String,
    event_type: String,
    #[serde(default)]
    event_status: String,
    #[serde(default)]
    resources: Vec<String>,
    #[serde(default)]
    not_before: String,
}

impl Event {
    fn read(self) -> ScheduledEvent {
        ScheduledEvent {
            kind: match self.event_type.as_str() {
                "Terminate" => EventKind::Terminate,
                "Preempt" => EventKind::Preempt,
                _ => EventKind::Other,
            },
            has_begun: self.event_status.eq_ignore_ascii_case("Started"),
            not_before: moment(&self.not_before),
            machines: self.resources,
            id: self.event_id,
        }
    }
}

/// `None` where Azure leaves it out or empty: the event has begun.
fn moment(text: &str) -> Option<Timestamp> {
    let civil = DateTime::strptime(MOMENT, text).ok()?;
    Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[async_trait]
impl GuestService for Guest {
    async fn machine(&self) -> Result<String, CloudError> {
        let described: Described = self.get("GET metadata instance", NAME).await?;
        Ok(described.compute.name)
    }

    async fn events(&self) -> Result<Vec<ScheduledEvent>, CloudError> {
        let document: Document = self.get("GET metadata scheduledevents", EVENTS).await?;
        Ok(document.events.into_iter().map(Event::read).collect())
    }

    async fn acknowledge(&self, event: &str) -> Result<(), CloudError> {
        let body = json!({ "StartRequests": [{ "EventId": event }] });
        let request = Request::post(format!("{}{EVENTS}", self.endpoint))
            .header(http::header::CONTENT_TYPE, "application/json");
        let call = "POST metadata scheduledevents";
        let sent = self
            .send(call, request, Bytes::from(body.to_string()))
            .await;
        match sent {
            // It is over: whoever answered twice, or too late, has lost nothing.
            Err(error) if error.class() == FailureClass::Rejected => Ok(()),
            sent => sent.map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_example_reads() {
        let text = r#"{
            "DocumentIncarnation": 1,
            "Events": [{
                "EventId": "C7061BAC-AFDC-4513-B24B-AA5F13A16123",
                "EventStatus": "Scheduled",
                "EventType": "Terminate",
                "ResourceType": "VirtualMachine",
                "Resources": ["WestNO_0", "WestNO_1"],
                "NotBefore": "Mon, 11 Apr 2022 22:26:58 GMT",
                "Description": "",
                "EventSource": "Platform",
                "DurationInSeconds": -1
            }]
        }"#;
        let document: Document = serde_json::from_str(text).expect("a document");
        let events: Vec<ScheduledEvent> = document.events.into_iter().map(Event::read).collect();
        let expected = ScheduledEvent {
            id: "C7061BAC-AFDC-4513-B24B-AA5F13A16123".to_owned(),
            kind: EventKind::Terminate,
            machines: vec!["WestNO_0".to_owned(), "WestNO_1".to_owned()],
            has_begun: false,
            not_before: Some("2022-04-11T22:26:58Z".parse().expect("a moment")),
        };
        assert_eq!(events, [expected]);
    }

    #[test]
    fn an_event_that_has_begun_has_no_moment() {
        let text =
            r#"{"EventId":"A","EventType":"Preempt","EventStatus":"Started","NotBefore":""}"#;
        let event: Event = serde_json::from_str(text).expect("an event");
        let event = event.read();
        assert!(event.has_begun && event.not_before.is_none());
        assert_eq!(event.kind, EventKind::Preempt);
    }
}
