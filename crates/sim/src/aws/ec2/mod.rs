//! Simulated EC2: launch templates, instances, images, subnets, tags.
//!
//! In: parameters of a call, and the estate of the caller. Out: the body of the answer, or EC2's
//! refusal. EC2 refuses parameters it does not know, and so does this.

mod filter;
mod images;
pub(crate) mod instance;
mod instance_calls;
mod instance_xml;
pub(crate) mod launch;
mod places;
mod tags;
pub(crate) mod template;
mod template_calls;
pub(crate) mod template_data;
mod template_reads;

use super::{
    protocol::{AwsError, Params, Xml},
    service::Handler,
};

/// What a call is answered with.
pub(crate) type Answer = Result<Xml, AwsError>;

/// The handler of an action and the parameters the action takes.
pub(crate) fn handler(action: &str) -> Option<(Handler, &'static [&'static str])> {
    use Handler::{Read, Write};
    const BY_TEMPLATE: &[&str] = &["LaunchTemplateId", "LaunchTemplateName"];
    Some(match action {
        "CreateLaunchTemplate" => (
            Write(template_calls::create),
            &[
                "ClientToken",
                "LaunchTemplateName",
                "VersionDescription",
                "LaunchTemplateData",
                "TagSpecification",
                "OperatorRequest",
            ],
        ),
        "CreateLaunchTemplateVersion" => (
            Write(template_calls::create_version),
            &[
                "ClientToken",
                "LaunchTemplateId",
                "LaunchTemplateName",
                "SourceVersion",
                "VersionDescription",
                "LaunchTemplateData",
                "ResolveAlias",
            ],
        ),
        "ModifyLaunchTemplate" => (
            Write(template_calls::modify),
            &[
                "ClientToken",
                "LaunchTemplateId",
                "LaunchTemplateName",
                "SetDefaultVersion",
            ],
        ),
        "DeleteLaunchTemplate" => (Write(template_calls::delete), BY_TEMPLATE),
        "DeleteLaunchTemplateVersions" => (
            Write(template_calls::delete_versions),
            &[
                "LaunchTemplateId",
                "LaunchTemplateName",
                "LaunchTemplateVersion",
            ],
        ),
        "DescribeLaunchTemplates" => (
            Read(template_reads::describe),
            &[
                "LaunchTemplateId",
                "LaunchTemplateName",
                "Filter",
                "MaxResults",
                "NextToken",
            ],
        ),
        "DescribeLaunchTemplateVersions" => (
            Read(template_reads::describe_versions),
            &[
                "LaunchTemplateId",
                "LaunchTemplateName",
                "LaunchTemplateVersion",
                "MinVersion",
                "MaxVersion",
                "Filter",
                "MaxResults",
                "NextToken",
                "ResolveAlias",
            ],
        ),
        "DescribeInstances" => (
            Read(instance_calls::describe),
            &[
                "InstanceId",
                "Filter",
                "MaxResults",
                "NextToken",
                "IncludeManagedResources",
            ],
        ),
        "TerminateInstances" => (
            Write(instance_calls::terminate),
            &["InstanceId", "Force", "SkipOsShutdown"],
        ),
        "StopInstances" => (
            Write(instance_calls::stop),
            &["InstanceId", "Force", "Hibernate", "SkipOsShutdown"],
        ),
        "StartInstances" => (
            Write(instance_calls::start),
            &["InstanceId", "AdditionalInfo"],
        ),
        "DescribeImages" => (
            Read(images::describe),
            &[
                "ExecutableBy",
                "ImageId",
                "Owner",
                "IncludeDeprecated",
                "IncludeDisabled",
                "Filter",
                "MaxResults",
                "NextToken",
            ],
        ),
        "DescribeSubnets" => (
            Read(places::subnets),
            &["SubnetId", "Filter", "MaxResults", "NextToken"],
        ),
        "DescribeAvailabilityZones" => (
            Read(places::zones),
            &["ZoneName", "ZoneId", "AllAvailabilityZones", "Filter"],
        ),
        "DescribeRegions" => (
            Read(places::regions),
            &["RegionName", "AllRegions", "Filter"],
        ),
        "CreateTags" => (Write(tags::create), &["ResourceId", "Tag"]),
        "DeleteTags" => (Write(tags::delete), &["ResourceId", "Tag"]),
        _ => return None,
    })
}

/// EC2's refusal of a parameter the action does not have.
pub(crate) fn refuse_unknown(params: &Params, known: &[&str]) -> Result<(), AwsError> {
    const ALWAYS: [&str; 4] = ["Action", "Version", "DryRun", "dryRun"];
    let unknown = params
        .children()
        .map(|(name, _)| name)
        // Clients write the paging parameters of DescribeInstances in either case.
        .find(|name| {
            !ALWAYS.contains(name) && !known.iter().any(|known| known.eq_ignore_ascii_case(name))
        });
    match unknown {
        None => Ok(()),
        Some(name) => Err(AwsError::new(
            "UnknownParameter",
            format!("The parameter {name} is not recognized"),
        )),
    }
}

/// `MaxResults` within its bounds.
pub(crate) fn max_results(
    params: &Params,
    least: i64,
    most: i64,
) -> Result<Option<usize>, AwsError> {
    match params.int("MaxResults")? {
        None => Ok(None),
        Some(size) if (least..=most).contains(&size) => Ok(usize::try_from(size).ok()),
        Some(size) => Err(AwsError::invalid_value(format!(
            "Value ( {size} ) for parameter maxResults is invalid. Expecting a value between \
             {least} and {most}."
        ))),
    }
}
