//! An instance as DescribeInstances shows it. The one answer that gets large.

use super::{
    instance::{Instance, Origin},
    tags::tag_set,
};
use crate::{
    aws::{protocol::Xml, state::Compute},
    clock::iso,
};

/// The reservation around an instance: each launch of a group is one of its own.
pub(super) fn reservation(compute: &Compute, instance: &Instance, xml: &mut Xml) {
    xml.text("reservationId", &instance.id.replacen("i-", "r-", 1));
    xml.text("ownerId", &compute.account);
    xml.raw("<groupSet/>");
    xml.within("instancesSet", |xml| {
        xml.within("item", |xml| describe(compute, instance, xml));
    });
}

fn describe(compute: &Compute, instance: &Instance, xml: &mut Xml) {
    let ip = instance.private_ip.map(|ip| ip.to_string());
    let dns = instance.private_dns(&compute.region);
    xml.text("instanceId", &instance.id);
    xml.text("imageId", &instance.image_id);
    state("instanceState", instance.state, xml);
    xml.text("privateDnsName", &dns);
    xml.raw("<dnsName/>");
    xml.text(
        "reason",
        instance.reason.as_ref().map_or("", |(_, message)| message),
    );
    if let Some((code, message)) = &instance.reason {
        xml.within("stateReason", |xml| {
            xml.text("code", code);
            xml.text("message", message);
        });
    }
    xml.raw("<amiLaunchIndex>0</amiLaunchIndex><productCodes/>");
    xml.text("instanceType", &instance.instance_type);
    xml.text("launchTime", &iso(instance.launched));
    xml.within("placement", |xml| {
        xml.text("availabilityZone", &instance.zone);
        xml.raw("<groupName/><tenancy>default</tenancy>");
    });
    xml.raw("<monitoring><state>disabled</state></monitoring>");
    if let Some(ip) = &ip {
        xml.text("subnetId", &instance.subnet_id);
        xml.text("vpcId", &instance.vpc_id);
        xml.text("privateIpAddress", ip);
    }
    xml.optional(
        "ipAddress",
        instance.public_ip.map(|ip| ip.to_string()).as_deref(),
    );
    xml.raw("<sourceDestCheck>true</sourceDestCheck>");
    xml.text("architecture", &instance.architecture);
    xml.raw("<rootDeviceType>ebs</rootDeviceType>");
    xml.text("rootDeviceName", &instance.root_device);
    xml.raw("<blockDeviceMapping/><virtualizationType>hvm</virtualizationType>");
    if instance.spot {
        xml.raw("<instanceLifecycle>spot</instanceLifecycle>");
    }
    tag_set(&instance.tags, xml);
    xml.raw("<hypervisor>xen</hypervisor><ebsOptimized>false</ebsOptimized>");
    if let Some(origin) = &instance.origin {
        from_template(compute, instance, origin, ip.as_deref(), xml);
    }
}

fn from_template(
    compute: &Compute,
    instance: &Instance,
    origin: &Origin,
    ip: Option<&str>,
    xml: &mut Xml,
) {
    let data = &origin.version.launch;
    xml.optional("keyName", data.key_name.as_deref());
    let groups = |xml: &mut Xml| {
        xml.list("groupSet", "item", &data.security_groups, |xml, group| {
            xml.text("groupId", group);
            xml.text("groupName", group);
        });
    };
    groups(xml);
    if let Some(ip) = ip {
        xml.within("networkInterfaceSet", |xml| {
            xml.within("item", |xml| {
                xml.text("networkInterfaceId", &instance.id.replacen("i-", "eni-", 1));
                xml.text("subnetId", &instance.subnet_id);
                xml.text("vpcId", &instance.vpc_id);
                xml.text("ownerId", &compute.account);
                xml.raw("<status>in-use</status>");
                xml.text("privateIpAddress", ip);
                groups(xml);
            });
        });
    }
    if let Some(profile) = &data.instance_profile {
        xml.within("iamInstanceProfile", |xml| {
            let arn = format!(
                "arn:aws:iam::{}:instance-profile/{profile}",
                compute.account
            );
            xml.text("arn", &arn);
            xml.text("id", "AIPASIMULATED0000000");
        });
    }
    xml.within("metadataOptions", |xml| {
        xml.raw("<state>applied</state>");
        xml.text(
            "httpTokens",
            data.http_tokens.as_deref().unwrap_or("optional"),
        );
        xml.plain("httpPutResponseHopLimit", data.hop_limit.unwrap_or(1));
        xml.raw("<httpEndpoint>enabled</httpEndpoint>");
    });
}

/// A state with its code.
pub(super) fn state(tag: &str, state: super::instance::InstanceState, xml: &mut Xml) {
    xml.within(tag, |xml| {
        xml.plain("code", state.code());
        xml.text("name", state.name());
    });
}
