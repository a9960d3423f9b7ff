//! Launch templates: data to parameters (AWS document 4.3) and back.
//!
//! Reading back is strict in one direction: what a template holds beyond our shape is listed by
//! name as a foreign field, so that the plan sees drift it can't express as a value.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use remuda_plan::aws::{desired::TemplateData, observed::Template};
use sha2::{Digest, Sha256};

use super::{filter, foreign::Foreign, push, read_tags, tags};
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
pub(crate) fn templates(page: Node<'_>) -> Vec<Template> {
    page.items("launchTemplates")
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
pub(crate) fn complete(template: &mut Template, answer: Node<'_>) {
    let newest = answer
        .items("launchTemplateVersionSet")
        .max_by_key(|version| number(*version, &["versionNumber"]));
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

fn number(node: Node<'_>, path: &[&str]) -> i64 {
    node.text_at(path)
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}

/// Reads data into our shape. What is absent reads as empty, and so differs from what we send.
fn read_data(data: Node<'_>) -> (TemplateData, Vec<String>) {
    let mut foreign = Foreign::default();
    let text = |path: &[&str]| data.text_at(path).unwrap_or_default().to_owned();
    let device = data.items("blockDeviceMappingSet").next();
    let interface = data.items("networkInterfaceSet").next();
    let of = |node: Option<Node<'_>>, path: &[&str]| {
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
                .map(|group| group.text().to_owned())
                .collect()
        }),
        spot: market == Some("spot"),
        instance_tags,
        network_interface_tags,
    };
    foreign.check_fixed(data, device, interface);
    foreign.check_unknown(data, device, interface);
    (read, foreign.into_names())
}

fn decode(text: &str) -> Option<String> {
    STANDARD
        .decode(text)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
}

fn read_specifications(
    data: Node<'_>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::Document;

    fn data() -> TemplateData {
        let tags = |name: Option<&str>| {
            let mut tags = BTreeMap::from([("captf.io/template".to_owned(), String::new())]);
            tags.extend(name.map(|name| ("Name".to_owned(), name.to_owned())));
            tags
        };
        TemplateData {
            image_id: "ami-1".to_owned(),
            instance_type: "m6i.large".to_owned(),
            key_name: Some("ops".to_owned()),
            user_data: "#cloud-boothook\n#!/bin/sh\necho 'a & b' < /dev/null\n".to_owned(),
            instance_profile: "worker".to_owned(),
            root_device_name: "/dev/sda1".to_owned(),
            root_volume_size_gib: 40,
            root_volume_type: "gp3".to_owned(),
            root_volume_kms_key_id: Some("arn:aws:kms:us-east-1:111122223333:key/k".to_owned()),
            metadata_hop_limit: 2,
            associate_public_ip: true,
            security_groups: BTreeSet::from(["sg-1".to_owned(), "sg-2".to_owned()]),
            spot: true,
            instance_tags: tags(Some("demo-pool-0")),
            network_interface_tags: tags(None),
        }
    }

    /// The answer EC2 gives for `data`, field by field from its API reference.
    fn answer(extra: &str) -> String {
        let user_data = STANDARD.encode(data().user_data);
        let tag = "<item><key>captf.io/template</key><value/></item>";
        let name = "<item><key>Name</key><value>demo-pool-0</value></item>";
        format!(
            "<launchTemplateData><imageId>ami-1</imageId><instanceType>m6i.large</instanceType>\
             <keyName>ops</keyName><userData>{user_data}</userData>\
             <iamInstanceProfile><name>worker</name></iamInstanceProfile>\
             <blockDeviceMappingSet><item><deviceName>/dev/sda1</deviceName><ebs>\
             <encrypted>true</encrypted><deleteOnTermination>true</deleteOnTermination>\
             <kmsKeyId>arn:aws:kms:us-east-1:111122223333:key/k</kmsKeyId>\
             <volumeSize>40</volumeSize><volumeType>gp3</volumeType></ebs></item>\
             </blockDeviceMappingSet><networkInterfaceSet><item>\
             <associatePublicIpAddress>true</associatePublicIpAddress>\
             <deleteOnTermination>true</deleteOnTermination><deviceIndex>0</deviceIndex>\
             <groupSet><groupId>sg-1</groupId><groupId>sg-2</groupId></groupSet></item>\
             </networkInterfaceSet><metadataOptions><httpEndpoint>enabled</httpEndpoint>\
             <httpTokens>required</httpTokens>\
             <httpPutResponseHopLimit>2</httpPutResponseHopLimit>\
             <instanceMetadataTags>disabled</instanceMetadataTags></metadataOptions>\
             <instanceMarketOptions><marketType>spot</marketType></instanceMarketOptions>\
             <tagSpecificationSet><item><resourceType>instance</resourceType>\
             <tagSet>{tag}{name}</tagSet></item>\
             <item><resourceType>network-interface</resourceType><tagSet>{tag}</tagSet></item>\
             <item><resourceType>volume</resourceType><tagSet>{tag}{name}</tagSet></item>\
             </tagSpecificationSet>{extra}</launchTemplateData>"
        )
    }

    fn read(text: &str) -> (TemplateData, Vec<String>) {
        read_data(Document::parse(text.as_bytes()).expect("a document").root())
    }

    #[test]
    fn data_reads_back_as_it_was_sent() {
        assert_eq!(read(&answer("")), (data(), Vec::new()));
    }

    #[test]
    fn what_we_never_set_is_named() {
        let (_, foreign) = read(&answer(
            "<ebsOptimized>true</ebsOptimized><placement/>\
             <securityGroupIdSet><item>sg-3</item></securityGroupIdSet>",
        ));
        assert_eq!(foreign, ["EbsOptimized", "SecurityGroupIdSet"]);
        let weaker = answer("").replace("required", "optional");
        assert_eq!(read(&weaker).1, ["MetadataOptions.HttpTokens"]);
        let iops = answer("").replace("<volumeSize>", "<iops>9000</iops><volumeSize>");
        assert_eq!(read(&iops).1, ["BlockDeviceMappings.Ebs.Iops"]);
        let untagged = answer("").replace("<resourceType>volume<", "<resourceType>elastic-gpu<");
        assert_eq!(
            read(&untagged).1,
            ["TagSpecifications.elastic-gpu", "TagSpecifications.volume"]
        );
    }

    #[test]
    fn an_empty_template_differs_and_does_not_fail() {
        let (read, foreign) =
            read("<launchTemplateData><imageId>ami-1</imageId></launchTemplateData>");
        assert_eq!(read.image_id, "ami-1");
        assert_eq!(read.root_volume_size_gib, 0);
        assert!(foreign.contains(&"MetadataOptions.HttpTokens".to_owned()));
    }

    #[test]
    fn a_creation_carries_a_token_of_its_name_and_a_version_no_source() {
        let sent = create("captf-x-1", "d", &data(), &BTreeMap::new());
        let token = &sent
            .iter()
            .find(|(name, _)| name == "ClientToken")
            .expect("a token")
            .1;
        assert_eq!(token.len(), 64);
        let again = create("captf-x-1", "other", &data(), &BTreeMap::new());
        assert!(again.contains(&("ClientToken".to_owned(), token.clone())));
        let version = create_version("captf-x-1", "d", &data());
        assert!(
            !version
                .iter()
                .any(|(name, _)| name == "SourceVersion" || name == "ClientToken")
        );
    }
}
