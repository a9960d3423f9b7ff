//! The wire: signatures, parameters, answers and refusals of the four services.
//!
//! In: HTTP requests. Out: who called which action with which parameters, and bodies for answers.
//! Nothing here knows what an action does.

pub(crate) mod chunked;
pub(crate) mod error;
pub(crate) mod page;
pub(crate) mod params;
pub(crate) mod sigv4;
pub(crate) mod xml;

pub(crate) use error::AwsError;
pub(crate) use params::{Packed, Params};
pub(crate) use xml::Xml;

/// A simulated service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Service {
    AutoScaling,
    Ec2,
    S3,
    Sts,
}

impl Service {
    /// The service of a credential scope.
    pub(crate) fn from_scope(name: &str) -> Option<Self> {
        match name {
            "autoscaling" => Some(Self::AutoScaling),
            "ec2" => Some(Self::Ec2),
            "s3" => Some(Self::S3),
            "sts" => Some(Self::Sts),
            _ => None,
        }
    }

    /// Its name in credential scopes and in the journal.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AutoScaling => "autoscaling",
            Self::Ec2 => "ec2",
            Self::S3 => "s3",
            Self::Sts => "sts",
        }
    }

    /// The XML namespace of its answers.
    pub(crate) fn namespace(self) -> &'static str {
        match self {
            Self::AutoScaling => "http://autoscaling.amazonaws.com/doc/2011-01-01/",
            Self::Ec2 => "http://ec2.amazonaws.com/doc/2016-11-15/",
            Self::S3 => "http://s3.amazonaws.com/doc/2006-03-01/",
            Self::Sts => "https://sts.amazonaws.com/doc/2011-06-15/",
        }
    }
}

/// The body of a successful Query answer around what the action wrote.
pub(crate) fn query_answer(service: Service, action: &str, mut result: Xml, id: &str) -> String {
    let mut before = Xml::new();
    before.raw(&format!(
        "<{action}Response xmlns=\"{}\">",
        service.namespace()
    ));
    if service == Service::Ec2 {
        before.text("requestId", id);
    } else {
        before.raw(&format!("<{action}Result>"));
        result.raw(&format!("</{action}Result>"));
        result.within("ResponseMetadata", |xml| xml.text("RequestId", id));
    }
    result.raw(&format!("</{action}Response>"));
    result.put_before(&before);
    result.finish()
}
