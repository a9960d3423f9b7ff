//! DescribeImages.

use super::{Answer, filter::Filter, max_results};
use crate::{
    aws::{
        protocol::{AwsError, Params, Xml, page},
        state::{View, region::Image},
    },
    clock::iso,
};

const FILTERS: &[&str] = &[
    "architecture",
    "creation-date",
    "image-id",
    "image-type",
    "is-public",
    "name",
    "owner-alias",
    "owner-id",
    "root-device-name",
    "root-device-type",
    "state",
    "virtualization-type",
];

pub(super) fn describe(view: View<'_>, params: &Params) -> Answer {
    let compute = &view.estate.compute;
    let account = &*compute.account;
    let Some(region) = view.fabric.regions.get(&compute.region) else {
        return Ok(Xml::new());
    };
    let ids = params.texts("ImageId");
    if let Some(missing) = ids.iter().find(|id| !region.images.contains_key(**id)) {
        return Err(AwsError::new(
            "InvalidAMIID.NotFound",
            format!("The image id '[{missing}]' does not exist"),
        ));
    }
    let owners = params.texts("Owner");
    let deprecated = params.flag("IncludeDeprecated")?.unwrap_or(false);
    let filters = Filter::all(params, FILTERS)?;
    let size = max_results(params, 1, 1000)?.unwrap_or(usize::MAX);
    let now = view.fabric.now;
    let wanted = region.images.values().filter(|image| {
        let mine = image.owner == account;
        // A deprecated image is shown to its owner, to who names it, and on request.
        let hidden = image.deprecated_since.is_some_and(|since| since <= now);
        (image.public || mine)
            && (!hidden || deprecated || mine || ids.contains(&&*image.id))
            && (ids.is_empty() || ids.contains(&&*image.id))
            && (owners.is_empty() || owners.iter().any(|owner| owned_by(image, owner, account)))
            && filters.iter().all(|filter| passes(filter, image))
    });
    let (page, next) = page::cut(wanted, |i| &i.id, params.text("NextToken"), size)?;
    let mut xml = Xml::new();
    xml.list("imagesSet", "item", page, |xml, image| {
        image_xml(image, xml);
    });
    xml.optional("nextToken", next.as_deref());
    Ok(xml)
}

fn owned_by(image: &Image, owner: &str, account: &str) -> bool {
    match owner {
        "self" => image.owner == account,
        "amazon" | "aws-marketplace" => image.owner_alias.as_deref() == Some(owner),
        id => image.owner == id,
    }
}

fn passes(filter: &Filter<'_>, image: &Image) -> bool {
    match filter.name {
        "architecture" => filter.accepts(&image.architecture),
        "creation-date" => filter.accepts(&iso(image.created)),
        "image-id" => filter.accepts(&image.id),
        "image-type" => filter.accepts("machine"),
        "is-public" => filter.accepts(if image.public { "true" } else { "false" }),
        "name" => filter.accepts(&image.name),
        "owner-alias" => image
            .owner_alias
            .as_deref()
            .is_some_and(|alias| filter.accepts(alias)),
        "owner-id" => filter.accepts(&image.owner),
        "root-device-name" => filter.accepts(&image.root_device_name),
        "root-device-type" => filter.accepts("ebs"),
        "state" => filter.accepts(&image.state),
        "virtualization-type" => filter.accepts("hvm"),
        // Simulated images carry no tags.
        _ => false,
    }
}

fn image_xml(image: &Image, xml: &mut Xml) {
    xml.text("imageId", &image.id);
    xml.text("imageLocation", &format!("{}/{}", image.owner, image.name));
    xml.text("imageState", &image.state);
    xml.text("imageOwnerId", &image.owner);
    xml.text("creationDate", &iso(image.created));
    xml.plain("isPublic", image.public);
    xml.text("architecture", &image.architecture);
    xml.raw("<imageType>machine</imageType>");
    xml.optional("imageOwnerAlias", image.owner_alias.as_deref());
    xml.text("name", &image.name);
    xml.raw("<rootDeviceType>ebs</rootDeviceType>");
    xml.text("rootDeviceName", &image.root_device_name);
    xml.within("blockDeviceMapping", |xml| {
        xml.within("item", |xml| {
            xml.text("deviceName", &image.root_device_name);
            xml.within("ebs", |xml| {
                xml.raw("<deleteOnTermination>true</deleteOnTermination>");
                xml.raw("<volumeSize>20</volumeSize><volumeType>gp3</volumeType>");
            });
        });
    });
    xml.raw("<virtualizationType>hvm</virtualizationType><hypervisor>xen</hypervisor>");
    xml.raw("<enaSupport>true</enaSupport><platformDetails>Linux/UNIX</platformDetails>");
    xml.optional(
        "deprecationTime",
        image.deprecated_since.map(iso).as_deref(),
    );
}
