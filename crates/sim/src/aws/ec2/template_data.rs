//! The data of a launch template version: kept whole as it was sent, checked for names EC2 knows,
//! shown again in EC2's answer spelling, and read for what a launch needs.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};

use serde::{Deserialize, Serialize};

use crate::aws::{
    protocol::{AwsError, Params, Xml},
    state::Name,
};

/// EC2's limit of user data before base64.
const MOST_USER_DATA_BYTES: usize = 16_384;

/// What a launch takes from a template version.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LaunchData {
    pub(crate) image_id: Option<String>,
    pub(crate) instance_type: Option<Name>,
    pub(crate) key_name: Option<String>,
    pub(crate) instance_profile: Option<String>,
    pub(crate) security_groups: Vec<String>,
    pub(crate) public_ip: Option<bool>,
    pub(crate) spot: bool,
    pub(crate) instance_tags: BTreeMap<String, String>,
    pub(crate) root_device: Option<String>,
    pub(crate) http_tokens: Option<String>,
    pub(crate) hop_limit: Option<i64>,
}

impl LaunchData {
    /// Reads and checks `LaunchTemplateData`.
    pub(crate) fn read(data: &Params) -> Result<Self, AwsError> {
        refuse_unknown(data, "LaunchTemplateData", TOP)?;
        check_user_data(data.text("UserData"))?;
        let interfaces = data.list("NetworkInterface");
        let top_groups = data.texts("SecurityGroupId");
        if !interfaces.is_empty() && !top_groups.is_empty() {
            return Err(AwsError::new(
                "InvalidParameterCombination",
                "Network interfaces and an instance-level security groups may not be specified on \
                 the same request",
            ));
        }
        let groups = interfaces
            .first()
            .map_or(top_groups, |first| first.texts("SecurityGroupId"));
        let public_ip = interfaces
            .first()
            .map(|nic| nic.flag("AssociatePublicIpAddress"))
            .transpose()?;
        let owned = |path: &str| data.text(path).filter(|t| !t.is_empty()).map(str::to_owned);
        Ok(Self {
            image_id: owned("ImageId"),
            instance_type: owned("InstanceType").map(Name::from),
            key_name: owned("KeyName"),
            instance_profile: owned("IamInstanceProfile.Name")
                .or_else(|| owned("IamInstanceProfile.Arn").map(profile_name)),
            security_groups: groups.into_iter().map(str::to_owned).collect(),
            public_ip: public_ip.flatten(),
            spot: data.text("InstanceMarketOptions.MarketType") == Some("spot"),
            instance_tags: tags_for(data, "instance")?,
            root_device: data
                .list("BlockDeviceMapping")
                .first()
                .and_then(|device| device.text("DeviceName"))
                .map(str::to_owned),
            http_tokens: owned("MetadataOptions.HttpTokens"),
            hop_limit: data.int("MetadataOptions.HttpPutResponseHopLimit")?,
        })
    }
}

/// The tags a `TagSpecification` list gives a resource type.
pub(crate) fn tags_for(
    params: &Params,
    resource_type: &str,
) -> Result<BTreeMap<String, String>, AwsError> {
    let mut tags = BTreeMap::new();
    for specification in params.list("TagSpecification") {
        if specification.text("ResourceType") == Some(resource_type) {
            for tag in specification.list("Tag") {
                let key = tag.required("Key")?;
                super::tags::check_key(key)?;
                tags.insert(
                    key.to_owned(),
                    tag.text("Value").unwrap_or_default().to_owned(),
                );
            }
        }
    }
    super::tags::check_count(&tags)?;
    Ok(tags)
}

fn profile_name(arn: String) -> String {
    arn.rsplit('/').next().map(str::to_owned).unwrap_or(arn)
}

fn check_user_data(user_data: Option<&str>) -> Result<(), AwsError> {
    let Some(encoded) = user_data else {
        return Ok(());
    };
    let Ok(decoded) = STANDARD.decode(encoded) else {
        return Err(AwsError::new(
            "InvalidUserData.Malformed",
            "Invalid BASE64 encoding of user data.",
        ));
    };
    if decoded.len() > MOST_USER_DATA_BYTES {
        return Err(AwsError::new(
            "InvalidUserData.Malformed",
            format!("User data is limited to {MOST_USER_DATA_BYTES} bytes"),
        ));
    }
    Ok(())
}

/// Names EC2 knows at the top of `LaunchTemplateData`.
const TOP: &[&str] = &[
    "KernelId",
    "EbsOptimized",
    "IamInstanceProfile",
    "BlockDeviceMapping",
    "NetworkInterface",
    "ImageId",
    "InstanceType",
    "KeyName",
    "Monitoring",
    "Placement",
    "RamDiskId",
    "DisableApiTermination",
    "InstanceInitiatedShutdownBehavior",
    "UserData",
    "TagSpecification",
    "ElasticGpuSpecification",
    "ElasticInferenceAccelerator",
    "SecurityGroupId",
    "SecurityGroup",
    "InstanceMarketOptions",
    "CreditSpecification",
    "CpuOptions",
    "CapacityReservationSpecification",
    "LicenseSpecification",
    "HibernationOptions",
    "MetadataOptions",
    "EnclaveOptions",
    "InstanceRequirements",
    "PrivateDnsNameOptions",
    "MaintenanceOptions",
    "DisableApiStop",
    "Operator",
    "NetworkPerformanceOptions",
    "SecondaryInterface",
];

/// Names inside the structures people use; a structure that is not here takes any name.
fn known_inside(structure: &str) -> Option<&'static [&'static str]> {
    Some(match structure {
        "IamInstanceProfile" => &["Arn", "Name"],
        "BlockDeviceMapping" => &["DeviceName", "VirtualName", "Ebs", "NoDevice"],
        "Ebs" => &[
            "Encrypted",
            "DeleteOnTermination",
            "Iops",
            "KmsKeyId",
            "SnapshotId",
            "VolumeSize",
            "VolumeType",
            "Throughput",
            "VolumeInitializationRate",
            "EbsCardIndex",
        ],
        "NetworkInterface" => &[
            "AssociateCarrierIpAddress",
            "AssociatePublicIpAddress",
            "DeleteOnTermination",
            "Description",
            "DeviceIndex",
            "SecurityGroupId",
            "InterfaceType",
            "Ipv6AddressCount",
            "Ipv6Addresses",
            "NetworkInterfaceId",
            "PrivateIpAddress",
            "PrivateIpAddresses",
            "SecondaryPrivateIpAddressCount",
            "SubnetId",
            "NetworkCardIndex",
            "Ipv4Prefix",
            "Ipv4PrefixCount",
            "Ipv6Prefix",
            "Ipv6PrefixCount",
            "PrimaryIpv6",
            "EnaSrdSpecification",
            "ConnectionTrackingSpecification",
            "EnaQueueCount",
        ],
        "MetadataOptions" => &[
            "HttpTokens",
            "HttpPutResponseHopLimit",
            "HttpEndpoint",
            "HttpProtocolIpv6",
            "InstanceMetadataTags",
        ],
        "InstanceMarketOptions" => &["MarketType", "SpotOptions"],
        "SpotOptions" => &[
            "MaxPrice",
            "SpotInstanceType",
            "BlockDurationMinutes",
            "ValidUntil",
            "InstanceInterruptionBehavior",
        ],
        "TagSpecification" => &["ResourceType", "Tag"],
        "Tag" => &["Key", "Value"],
        _ => return None,
    })
}

fn refuse_unknown(node: &Params, path: &str, known: &[&str]) -> Result<(), AwsError> {
    for (name, child) in node.children() {
        if !known.contains(&name) {
            return Err(AwsError::new(
                "UnknownParameter",
                format!("The parameter {path}.{name} is not recognized"),
            ));
        }
        let Some(inside) = known_inside(name) else {
            continue;
        };
        let path = format!("{path}.{name}");
        let elements = child.elements();
        if elements.is_empty() {
            refuse_unknown(child, &path, inside)?;
        }
        for element in elements {
            refuse_unknown(element, &path, inside)?;
        }
    }
    Ok(())
}

/// Shows the data in EC2's answer spelling.
pub(crate) fn render(data: &Params, xml: &mut Xml) {
    render_inside(data, "", xml);
}

fn render_inside(node: &Params, structure: &str, xml: &mut Xml) {
    for (name, child) in node.children() {
        let elements = child.elements();
        if !elements.is_empty() {
            let (tag, item) = list_names(structure, name);
            xml.list(&tag, item, elements, |xml, element| match element.value() {
                Some(text) => xml.escape(text),
                None => render_inside(element, name, xml),
            });
        } else if let Some(text) = child.value() {
            xml.text(&answer_name(name), text);
        } else {
            xml.within(&answer_name(name), |xml| render_inside(child, name, xml));
        }
    }
}

/// Names of a list and of its items in answers.
fn list_names(structure: &str, name: &str) -> (String, &'static str) {
    match (structure, name) {
        ("NetworkInterface", "SecurityGroupId") => ("groupSet".into(), "groupId"),
        (_, "LicenseSpecification") => ("licenseSet".into(), "item"),
        _ => (format!("{}Set", answer_name(name)), "item"),
    }
}

/// Answers spell names with a small first letter.
fn answer_name(name: &str) -> String {
    let mut characters = name.chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(form: &str) -> Params {
        Params::parse(form.as_bytes())
    }

    #[test]
    fn lists_get_their_answer_names() {
        let params = data(
            "NetworkInterface.1.SecurityGroupId.1=sg-1&NetworkInterface.1.DeviceIndex=0\
             &TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=a\
             &TagSpecification.1.Tag.1.Value=b",
        );
        let mut xml = Xml::new();
        render(&params, &mut xml);
        assert_eq!(
            xml.finish(),
            "<networkInterfaceSet><item><deviceIndex>0</deviceIndex><groupSet><groupId>sg-1\
             </groupId></groupSet></item></networkInterfaceSet><tagSpecificationSet><item>\
             <resourceType>instance</resourceType><tagSet><item><key>a</key><value>b</value>\
             </item></tagSet></item></tagSpecificationSet>"
        );
    }

    #[test]
    fn unknown_names_are_refused_with_their_path() {
        let error = LaunchData::read(&data("NetworkInterface.1.Groups.1=sg-1")).unwrap_err();
        assert!(
            error
                .message
                .contains("LaunchTemplateData.NetworkInterface.Groups")
        );
        assert_eq!(error.code, "UnknownParameter");
    }

    #[test]
    fn user_data_is_limited_before_base64() {
        let user_data = |bytes: usize| {
            let encoded = STANDARD.encode(vec![b'x'; bytes]);
            let form: String = form_urlencoded::Serializer::new(String::new())
                .append_pair("UserData", &encoded)
                .finish();
            LaunchData::read(&data(&form)).map(|_| ())
        };
        assert!(user_data(16_384).is_ok());
        assert!(user_data(16_385).is_err());
    }
}
