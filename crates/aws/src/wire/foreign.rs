//! What a launch template holds beyond our shape, by name: drift that no value can express.

use std::collections::BTreeSet;

use crate::xml::Node;

/// Names of what a template holds beyond our shape.
#[derive(Default)]
pub(super) struct Foreign {
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
    /// Notes a field.
    pub(super) fn add(&mut self, name: &str) {
        self.names.insert(name.to_owned());
    }

    /// The names, sorted.
    pub(super) fn into_names(self) -> Vec<String> {
        self.names.into_iter().collect()
    }

    /// Values that are the same in every template of ours and have no place in `TemplateData`.
    pub(super) fn check_fixed(
        &mut self,
        data: Node<'_>,
        device: Option<Node<'_>>,
        interface: Option<Node<'_>>,
    ) {
        let data = Some(data);
        let rows: [(Option<Node<'_>>, &[&str], &str, &str); 8] = [
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
            let fits = match node.and_then(|node| node.text_at(path)) {
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
    pub(super) fn check_unknown(
        &mut self,
        data: Node<'_>,
        device: Option<Node<'_>>,
        interface: Option<Node<'_>>,
    ) {
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
        if data.items("blockDeviceMappingSet").count() > 1 {
            self.add("BlockDeviceMappings");
        }
        if data.items("networkInterfaceSet").count() > 1 {
            self.add("NetworkInterfaces");
        }
    }

    fn unknown_children(&mut self, prefix: &str, node: Node<'_>, known: &[&str]) {
        for child in node.children() {
            if !known.contains(&child.name()) && !child.is_blank() {
                self.add(&format!("{prefix}{}", pascal_case(child.name())));
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
