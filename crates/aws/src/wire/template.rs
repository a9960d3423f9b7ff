//! Launch templates: data to parameters (AWS document 4.3) and back.
//!
//! Reading back is strict in one direction: what a template holds beyond our shape is listed by
//! name as a foreign field, so that the plan sees drift it can't express as a value.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use remuda_plan::aws::{desired::TemplateData, observed::Template};
use sha2::{Digest, Sha256};

use super::{filter, push, read_tags, tags};
use crate::{ec2::Parameters, xml::Node};

/// Prefix of all data parameters.
const DATA: &str = "LaunchTemplateData";

/// `CreateLaunchTemplate`.
pub(crate) fn create(
    name: &str,
    description: &str,
    data: &TemplateData,
    template_tags: &BTreeMap<String, String>,
) -> Parameters {
    let mut parameters = Parameters::new();
    push(&mut parameters, "ClientToken", client_token(name));
    push(&mut parameters, "LaunchTemplateName", name);
    push(&mut parameters, "VersionDescription", description);
    write_data(&mut parameters, data);
    if !template_tags.is_empty() {
        push(
            &mut parameters,
            "TagSpecification.1.ResourceType",
            "launch-template",
        );
        tags(&mut parameters, "TagSpecification.1.Tag", template_tags);
    }
    parameters
}

/// `CreateLaunchTemplateVersion`: complete data, no source version.
pub(crate) fn create_version(name: &str, description: &str, data: &TemplateData) -> Parameters {
    let mut parameters = Parameters::new();
    push(&mut parameters, "LaunchTemplateName", name);
    push(&mut parameters, "VersionDescription", description);
    write_data(&mut parameters, data);
    parameters
}

/// A token that AWS recognises a repeated creation by: at most 64 characters, derived from the
/// name alone.
fn client_token(name: &str) -> String {
    super::hex(&Sha256::digest(name.as_bytes()))
}

fn write_data(parameters: &mut Parameters, data: &TemplateData) {
    let mut put = |name: &str, value: String| push(parameters, format!("{DATA}.{name}"), value);
    put("ImageId", data.image_id.clone());
    put("InstanceType", data.instance_type.clone());
    if let Some(key_name) = &data.key_name {
        put("KeyName", key_name.clone());
    }
    put("UserData", STANDARD.encode(&data.user_data));
    put("IamInstanceProfile.Name", data.instance_profile.clone());
    put(
        "BlockDeviceMapping.1.DeviceName",
        data.root_device_name.clone(),
    );
    put(
        "BlockDeviceMapping.1.Ebs.VolumeSize",
        data.root_volume_size_gib.to_string(),
    );
    put(
        "BlockDeviceMapping.1.Ebs.VolumeType",
        data.root_volume_type.clone(),
    );
    put("BlockDeviceMapping.1.Ebs.Encrypted", true.to_string());
    put(
        "BlockDeviceMapping.1.Ebs.DeleteOnTermination",
        true.to_string(),
    );
    if let Some(key) = &data.root_volume_kms_key_id {
        put("BlockDeviceMapping.1.Ebs.KmsKeyId", key.clone());
    }
    put("MetadataOptions.HttpEndpoint", "enabled".to_owned());
    put("MetadataOptions.HttpTokens", "required".to_owned());
    put(
        "MetadataOptions.HttpPutResponseHopLimit",
        data.metadata_hop_limit.to_string(),
    );
    put(
        "MetadataOptions.InstanceMetadataTags",
        "disabled".to_owned(),
    );
    put("NetworkInterface.1.DeviceIndex", 0.to_string());
    put("NetworkInterface.1.DeleteOnTermination", true.to_string());
    put(
        "NetworkInterface.1.AssociatePublicIpAddress",
        data.associate_public_ip.to_string(),
    );
    for (index, group) in data.security_groups.iter().enumerate() {
        put(
            &format!("NetworkInterface.1.SecurityGroupId.{}", index + 1),
            group.clone(),
        );
    }
    if data.spot {
        put("InstanceMarketOptions.MarketType", "spot".to_owned());
    }
    let specifications = [
        ("instance", &data.instance_tags),
        ("network-interface", &data.network_interface_tags),
        ("volume", &data.instance_tags),
    ];
    let with_tags = specifications
        .into_iter()
        .filter(|(_, set)| !set.is_empty());
    for (index, (resource_type, set)) in with_tags.enumerate() {
        let prefix = format!("{DATA}.TagSpecification.{}", index + 1);
        push(parameters, format!("{prefix}.ResourceType"), resource_type);
        tags(parameters, &format!("{prefix}.Tag"), set);
    }
}

/// `DescribeLaunchTemplates` for all whose name starts with `prefix`.
pub(crate) fn describe_by_prefix(prefix: &str, next_token: Option<&str>) -> Parameters {
    let mut parameters = Parameters::new();
    let pattern = format!("{prefix}*");
    filter(
        &mut parameters,
        1,
        "launch-template-name",
        [pattern.as_str()],
    );
    push(&mut parameters, "MaxResults", 200);
    if let Some(token) = next_token {
        push(&mut parameters, "NextToken", token);
    }
    parameters
}

/// `DescribeLaunchTemplateVersions` for the newest version of one template.
pub(crate) fn describe_latest(id: &str) -> Parameters {
    let mut parameters = Parameters::new();
    push(&mut parameters, "LaunchTemplateId", id);
    push(&mut parameters, "LaunchTemplateVersion.1", "$Latest");
    parameters
}

/// Templates of one page; their data is not part of it.
pub(crate) fn templates(page: &Node) -> Vec<Template> {
    page.items("launchTemplates")
        .iter()
        .filter_map(|template| {
            Some(Template {
                id: template.text_at(&["launchTemplateId"])?.to_owned(),
                name: template.text_at(&["launchTemplateName"])?.to_owned(),
                default_version: number(template, &["defaultVersionNumber"]),
                latest_version: number(template, &["latestVersionNumber"]),
                tags: read_tags(template),
                data: None,
                foreign_fields: Vec::new(),
            })
        })
        .collect()
}

/// Puts the newest version into its template.
pub(crate) fn complete(template: &mut Template, answer: &Node) {
    let newest = answer
        .items("launchTemplateVersionSet")
        .iter()
        .max_by_key(|version| number(version, &["versionNumber"]));
    let Some(newest) = newest else { return };
    template.latest_version = template
        .latest_version
        .max(number(newest, &["versionNumber"]));
    if let Some(data) = newest.child("launchTemplateData") {
        let (data, foreign_fields) = read_data(data);
        template.data = Some(data);
        template.foreign_fields = foreign_fields;
    }
}

fn number(node: &Node, path: &[&str]) -> i64 {
    node.text_at(path)
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}

/// Reads data into our shape. What is absent reads as empty, and so differs from what we send.
fn read_data(data: &Node) -> (TemplateData, Vec<String>) {
    let mut foreign = Foreign::default();
    let text = |path: &[&str]| data.text_at(path).unwrap_or_default().to_owned();
    let device = data.items("blockDeviceMappingSet").first();
    let interface = data.items("networkInterfaceSet").first();
    let of = |node: Option<&Node>, path: &[&str]| {
        node.and_then(|node| node.text_at(path))
            .map(ToOwned::to_owned)
    };
    let (instance_tags, network_interface_tags) = read_specifications(data, &mut foreign);
    let user_data = match data.text_at(&["userData"]).map(decode) {
        Some(Some(text)) => text,
        Some(None) => {
            foreign.add("UserData");
            String::new()
        }
        None => String::new(),
    };
    let market = data.text_at(&["instanceMarketOptions", "marketType"]);
    if market.is_some_and(|market| market != "spot") {
        foreign.add("InstanceMarketOptions.MarketType");
    }
    let read = TemplateData {
        image_id: text(&["imageId"]),
        instance_type: text(&["instanceType"]),
        key_name: of(Some(data), &["keyName"]),
        user_data,
        instance_profile: text(&["iamInstanceProfile", "name"]),
        root_device_name: of(device, &["deviceName"]).unwrap_or_default(),
        root_volume_size_gib: device.map_or(0, |node| number(node, &["ebs", "volumeSize"])),
        root_volume_type: of(device, &["ebs", "volumeType"]).unwrap_or_default(),
        root_volume_kms_key_id: of(device, &["ebs", "kmsKeyId"]),
        metadata_hop_limit: number(data, &["metadataOptions", "httpPutResponseHopLimit"]),
        associate_public_ip: of(interface, &["associatePublicIpAddress"]).as_deref()
            == Some("true"),
        security_groups: interface.map_or_else(BTreeSet::new, |node| {
            node.items("groupSet")
                .iter()
                .map(|group| group.text.clone())
                .collect()
        }),
        spot: market == Some("spot"),
        instance_tags,
        network_interface_tags,
    };
    foreign.check_fixed(data, device, interface);
    foreign.check_unknown(data, device, interface);
    (read, foreign.names.into_iter().collect())
}

fn decode(text: &str) -> Option<String> {
    STANDARD
        .decode(text)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
}

fn read_specifications(
    data: &Node,
    foreign: &mut Foreign,
) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let mut sets: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    for specification in data.items("tagSpecificationSet") {
        let resource_type = specification.text_at(&["resourceType"]).unwrap_or_default();
        sets.insert(resource_type, read_tags(specification));
    }
    let instance = sets.remove("instance").unwrap_or_default();
    let interface = sets.remove("network-interface").unwrap_or_default();
    if sets.remove("volume").unwrap_or_default() != instance {
        foreign.add("TagSpecifications.volume");
    }
    for resource_type in sets.keys() {
        foreign.add(&format!("TagSpecifications.{resource_type}"));
    }
    (instance, interface)
}

/// Names of what a template holds beyond our shape.
#[derive(Default)]
struct Foreign {
    names: BTreeSet<String>,
}

/// Fields we read, per element.
const KNOWN_DATA: &[&str] = &[
    "imageId",
    "instanceType",
    "keyName",
    "userData",
    "iamInstanceProfile",
    "blockDeviceMappingSet",
    "metadataOptions",
    "networkInterfaceSet",
    "instanceMarketOptions",
    "tagSpecificationSet",
];
const KNOWN_EBS: &[&str] = &[
    "volumeSize",
    "volumeType",
    "kmsKeyId",
    "encrypted",
    "deleteOnTermination",
];
const KNOWN_INTERFACE: &[&str] = &[
    "deviceIndex",
    "deleteOnTermination",
    "associatePublicIpAddress",
    "groupSet",
    // AWS shows the type it assumes.
    "interfaceType",
    "networkCardIndex",
];
const KNOWN_METADATA: &[&str] = &[
    "httpEndpoint",
    "httpTokens",
    "httpPutResponseHopLimit",
    "instanceMetadataTags",
    // `applied`: how far AWS is with it.
    "state",
    "httpProtocolIpv6",
];

impl Foreign {
    fn add(&mut self, name: &str) {
        self.names.insert(name.to_owned());
    }

    /// Values that are the same in every template of ours and have no place in `TemplateData`.
    fn check_fixed(&mut self, data: &Node, device: Option<&Node>, interface: Option<&Node>) {
        let nothing = Node::default();
        let device = device.unwrap_or(&nothing);
        let interface = interface.unwrap_or(&nothing);
        let rows: [(&Node, &[&str], &str, &str); 8] = [
            (
                device,
                &["ebs", "encrypted"],
                "true",
                "BlockDeviceMappings.Ebs.Encrypted",
            ),
            (
                device,
                &["ebs", "deleteOnTermination"],
                "true",
                "BlockDeviceMappings.Ebs.DeleteOnTermination",
            ),
            (
                data,
                &["metadataOptions", "httpEndpoint"],
                "enabled",
                "MetadataOptions.HttpEndpoint",
            ),
            (
                data,
                &["metadataOptions", "httpTokens"],
                "required",
                "MetadataOptions.HttpTokens",
            ),
            (
                data,
                &["metadataOptions", "instanceMetadataTags"],
                "disabled",
                "MetadataOptions.InstanceMetadataTags",
            ),
            (
                interface,
                &["deviceIndex"],
                "0",
                "NetworkInterfaces.DeviceIndex",
            ),
            (
                interface,
                &["deleteOnTermination"],
                "true",
                "NetworkInterfaces.DeleteOnTermination",
            ),
            (
                interface,
                &["associatePublicIpAddress"],
                "",
                "NetworkInterfaces.AssociatePublicIpAddress",
            ),
        ];
        for (node, path, expected, name) in rows {
            let fits = match node.text_at(path) {
                // An empty expectation: it must be there, whatever it says.
                Some(value) => expected.is_empty() || value == expected,
                None => false,
            };
            if !fits {
                self.add(name);
            }
        }
    }

    /// Fields we never set.
    fn check_unknown(&mut self, data: &Node, device: Option<&Node>, interface: Option<&Node>) {
        self.unknown_children("", data, KNOWN_DATA);
        if let Some(ebs) = device.and_then(|device| device.child("ebs")) {
            self.unknown_children("BlockDeviceMappings.Ebs.", ebs, KNOWN_EBS);
        }
        if let Some(interface) = interface {
            self.unknown_children("NetworkInterfaces.", interface, KNOWN_INTERFACE);
        }
        if let Some(options) = data.child("metadataOptions") {
            self.unknown_children("MetadataOptions.", options, KNOWN_METADATA);
        }
        if let Some(options) = data.child("instanceMarketOptions") {
            self.unknown_children("InstanceMarketOptions.", options, &["marketType"]);
        }
        if data.text_at(&["iamInstanceProfile", "arn"]).is_some() {
            self.add("IamInstanceProfile.Arn");
        }
        if data.items("blockDeviceMappingSet").len() > 1 {
            self.add("BlockDeviceMappings");
        }
        if data.items("networkInterfaceSet").len() > 1 {
            self.add("NetworkInterfaces");
        }
    }

    fn unknown_children(&mut self, prefix: &str, node: &Node, known: &[&str]) {
        for child in &node.children {
            if !known.contains(&child.name.as_str()) && !child.is_blank() {
                self.add(&format!("{prefix}{}", pascal_case(&child.name)));
            }
        }
    }
}

/// `ebsOptimized` to `EbsOptimized`, as AWS writes the field in a request.
fn pascal_case(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
        .unwrap_or_default()
}
