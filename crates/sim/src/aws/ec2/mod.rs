//! Simulated EC2: launch templates, instances, images, subnets, tags.
//!
//! In: parameters of a call, and the estate of the caller. Out: the body of the answer, or EC2's
//! refusal. EC2 refuses parameters it does not know, and so does this.

mod filter;
mod images;
pub(crate) mod instance;
mod instance_calls;
pub(crate) mod instance_rows;
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

/// The handler of an action.
pub(crate) fn handler(action: &str) -> Option<Handler> {
    use Handler::{Read, Write};
    Some(match action {
        "CreateLaunchTemplate" => Write(template_calls::create),
        "CreateLaunchTemplateVersion" => Write(template_calls::create_version),
        "ModifyLaunchTemplate" => Write(template_calls::modify),
        "DeleteLaunchTemplate" => Write(template_calls::delete),
        "DeleteLaunchTemplateVersions" => Write(template_calls::delete_versions),
        "DescribeLaunchTemplates" => Read(template_reads::describe),
        "DescribeLaunchTemplateVersions" => Read(template_reads::describe_versions),
        "DescribeInstances" => Read(instance_calls::describe),
        "TerminateInstances" => Write(instance_calls::terminate),
        "StopInstances" => Write(instance_calls::stop),
        "StartInstances" => Write(instance_calls::start),
        "DescribeImages" => Read(images::describe),
        "DescribeSubnets" => Read(places::subnets),
        "DescribeAvailabilityZones" => Read(places::zones),
        "DescribeRegions" => Read(places::regions),
        "CreateTags" => Write(tags::create),
        "DeleteTags" => Write(tags::delete),
        _ => return None,
    })
}

/// The parameters each action takes, besides those every action takes.
const PARAMETERS: &[(&str, &str)] = &[
    (
        "CreateLaunchTemplate",
        "ClientToken LaunchTemplateName VersionDescription LaunchTemplateData TagSpecification \
         Operator",
    ),
    (
        "CreateLaunchTemplateVersion",
        "ClientToken LaunchTemplateId LaunchTemplateName SourceVersion VersionDescription \
         LaunchTemplateData ResolveAlias",
    ),
    (
        "ModifyLaunchTemplate",
        "ClientToken LaunchTemplateId LaunchTemplateName SetDefaultVersion",
    ),
    (
        "DeleteLaunchTemplate",
        "LaunchTemplateId LaunchTemplateName",
    ),
    (
        "DeleteLaunchTemplateVersions",
        "LaunchTemplateId LaunchTemplateName LaunchTemplateVersion",
    ),
    (
        "DescribeLaunchTemplates",
        "LaunchTemplateId LaunchTemplateName Filter MaxResults NextToken IncludeManagedResources",
    ),
    (
        "DescribeLaunchTemplateVersions",
        "LaunchTemplateId LaunchTemplateName LaunchTemplateVersion MinVersion MaxVersion Filter \
         MaxResults NextToken ResolveAlias IncludeManagedResources",
    ),
    (
        "DescribeInstances",
        "InstanceId Filter MaxResults NextToken IncludeManagedResources",
    ),
    ("TerminateInstances", "InstanceId Force SkipOsShutdown"),
    ("StopInstances", "InstanceId Force Hibernate SkipOsShutdown"),
    ("StartInstances", "InstanceId AdditionalInfo"),
    (
        "DescribeImages",
        "ExecutableBy ImageId Owner IncludeDeprecated IncludeDisabled Filter MaxResults NextToken",
    ),
    ("DescribeSubnets", "SubnetId Filter MaxResults NextToken"),
    (
        "DescribeAvailabilityZones",
        "ZoneName ZoneId AllAvailabilityZones Filter",
    ),
    ("DescribeRegions", "RegionName AllRegions Filter"),
    ("CreateTags", "ResourceId Tag"),
    ("DeleteTags", "ResourceId Tag"),
];

/// EC2's refusal of a parameter the action does not have.
pub(crate) fn refuse_unknown(action: &str, params: &Params) -> Result<(), AwsError> {
    const ALWAYS: &str = "Action Version DryRun";
    let own = PARAMETERS.iter().find(|(name, _)| *name == action);
    let own = own.map_or("", |(_, parameters)| *parameters);
    // Clients write some names with a small first letter.
    let known = |name: &str| {
        let mut all = own.split_whitespace().chain(ALWAYS.split_whitespace());
        all.any(|known| known.eq_ignore_ascii_case(name))
    };
    match params.children().find(|(name, _)| !known(name)) {
        None => Ok(()),
        Some((name, _)) => Err(AwsError::new(
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
