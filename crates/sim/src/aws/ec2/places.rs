//! Subnets, zones and regions.

use super::{Answer, filter::Filter, max_results};
use crate::aws::{
    protocol::{AwsError, Params, Xml, page},
    state::{View, network::Subnet},
};

pub(super) fn subnets(view: View<'_>, params: &Params) -> Answer {
    let compute = &view.estate.compute;
    let ids = params.texts("SubnetId");
    if let Some(missing) = ids.iter().find(|id| !compute.subnets.contains_key(**id)) {
        return Err(AwsError::new(
            "InvalidSubnetID.NotFound",
            format!("The subnet ID '{missing}' does not exist"),
        ));
    }
    let known = [
        "availability-zone",
        "cidr-block",
        "state",
        "subnet-id",
        "vpc-id",
    ];
    let filters = Filter::all(params, &known)?;
    let size = max_results(params, 5, 1000)?.unwrap_or(usize::MAX);
    let passes = |subnet: &Subnet, filter: &Filter<'_>| match filter.name {
        "availability-zone" => filter.accepts(&subnet.zone),
        "cidr-block" => filter.accepts(&subnet.addresses.cidr()),
        "state" => filter.accepts("available"),
        "subnet-id" => filter.accepts(&subnet.id),
        "vpc-id" => filter.accepts(&subnet.vpc_id),
        // Simulated subnets carry no tags.
        _ => false,
    };
    let wanted = compute.subnets.values().filter(|subnet| {
        (ids.is_empty() || ids.contains(&&*subnet.id))
            && filters.iter().all(|filter| passes(subnet, filter))
    });
    let (page, next) = page::cut(wanted, |s| &s.id, params.text("NextToken"), size)?;
    let zones = view
        .fabric
        .regions
        .get(&compute.region)
        .map(|region| &region.zones);
    let mut xml = Xml::new();
    xml.list("subnetSet", "item", page, |xml, subnet| {
        xml.text("subnetId", &subnet.id);
        xml.text(
            "subnetArn",
            &format!(
                "arn:aws:ec2:{}:{}:subnet/{}",
                compute.region, compute.account, subnet.id
            ),
        );
        xml.raw("<state>available</state>");
        xml.text("vpcId", &subnet.vpc_id);
        xml.text("ownerId", &compute.account);
        xml.text("cidrBlock", &subnet.addresses.cidr());
        xml.plain("availableIpAddressCount", subnet.addresses.free());
        xml.text("availabilityZone", &subnet.zone);
        let zone = zones.and_then(|zones| zones.get(&subnet.zone));
        xml.optional("availabilityZoneId", zone.map(|zone| zone.id.as_str()));
        xml.raw("<defaultForAz>false</defaultForAz>");
        xml.raw("<mapPublicIpOnLaunch>false</mapPublicIpOnLaunch><tagSet/>");
    });
    xml.optional("nextToken", next.as_deref());
    Ok(xml)
}

pub(super) fn zones(view: View<'_>, params: &Params) -> Answer {
    let region_name = &view.estate.compute.region;
    let filters = Filter::all(params, &["region-name", "state", "zone-name", "zone-id"])?;
    let names = params.texts("ZoneName");
    let zones = view
        .fabric
        .regions
        .get(region_name)
        .map(|region| &region.zones);
    let wanted = zones.into_iter().flatten().filter(|(name, zone)| {
        (names.is_empty() || names.contains(&&***name))
            && filters.iter().all(|filter| match filter.name {
                "region-name" => filter.accepts(region_name),
                "state" => filter.accepts("available"),
                "zone-name" => filter.accepts(name),
                "zone-id" => filter.accepts(&zone.id),
                _ => false,
            })
    });
    let mut xml = Xml::new();
    xml.list(
        "availabilityZoneInfo",
        "item",
        wanted,
        |xml, (name, zone)| {
            xml.text("zoneName", name);
            xml.text("zoneId", &zone.id);
            xml.text("regionName", region_name);
            xml.raw("<zoneState>available</zoneState><zoneType>availability-zone</zoneType>");
            xml.raw("<optInStatus>opt-in-not-required</optInStatus><messageSet/>");
            xml.text("groupName", region_name);
            xml.text("networkBorderGroup", region_name);
        },
    );
    Ok(xml)
}

pub(super) fn regions(view: View<'_>, params: &Params) -> Answer {
    let names = params.texts("RegionName");
    if let Some(missing) = names
        .iter()
        .find(|name| !view.fabric.regions.contains_key(**name))
    {
        return Err(AwsError::invalid_value(format!(
            "Invalid region provided: {missing}"
        )));
    }
    let wanted = view
        .fabric
        .regions
        .keys()
        .filter(|name| names.is_empty() || names.contains(&&***name));
    let mut xml = Xml::new();
    xml.list("regionInfo", "item", wanted, |xml, name| {
        xml.text("regionName", name);
        xml.text("regionEndpoint", &format!("ec2.{name}.amazonaws.com"));
        xml.raw("<optInStatus>opt-in-not-required</optInStatus>");
    });
    Ok(xml)
}
