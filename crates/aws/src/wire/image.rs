//! The image lookup (AWS document 6).

use remuda_plan::aws::desired::ImageQuery;

use super::{filter, push};
use crate::{ec2::Parameters, xml::Node};

/// `DescribeImages` for a query; deprecated images count.
pub(crate) fn describe(query: &ImageQuery, next_token: Option<&str>) -> Parameters {
    let mut parameters = Parameters::new();
    push(&mut parameters, "Owner.1", &query.owner);
    push(&mut parameters, "IncludeDeprecated", true);
    filter(&mut parameters, 1, "name", [query.name.as_str()]);
    filter(
        &mut parameters,
        2,
        "architecture",
        [query.architecture.as_str()],
    );
    filter(&mut parameters, 3, "state", ["available"]);
    if let Some(token) = next_token {
        push(&mut parameters, "NextToken", token);
    }
    parameters
}

/// An image as the choice sees it: creation time first, then the id, so that the greatest wins and
/// a tie is always broken the same way.
pub(crate) type Candidate = (String, String);

/// Images of one page. AWS writes creation dates as ISO 8601 in UTC with a fixed width, so their
/// order as text is their order in time.
pub(crate) fn candidates(page: Node<'_>) -> Vec<Candidate> {
    page.items("imagesSet")
        .filter_map(|image| {
            Some((
                image
                    .text_at(&["creationDate"])
                    .unwrap_or_default()
                    .to_owned(),
                image.text_at(&["imageId"])?.to_owned(),
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::Document;

    #[test]
    fn the_newest_image_wins_and_a_tie_goes_to_the_highest_id() {
        let page = Document::parse(
            b"<R><imagesSet>\
              <item><imageId>ami-2</imageId><creationDate>2025-06-15T00:00:00.000Z</creationDate></item>\
              <item><imageId>ami-1</imageId><creationDate>2025-10-09T00:00:00.000Z</creationDate></item>\
              <item><imageId>ami-3</imageId><creationDate>2025-10-09T00:00:00.000Z</creationDate></item>\
              </imagesSet></R>",
        )
        .expect("a page");
        let newest = candidates(page.root()).into_iter().max().map(|(_, id)| id);
        assert_eq!(newest.as_deref(), Some("ami-3"));
    }

    #[test]
    fn deprecated_images_are_asked_for() {
        let parameters = describe(
            &ImageQuery {
                owner: "self".to_owned(),
                name: "img-*".to_owned(),
                architecture: "arm64".to_owned(),
            },
            Some("t"),
        );
        let text: Vec<String> = parameters.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(
            text,
            [
                "Owner.1=self",
                "IncludeDeprecated=true",
                "Filter.1.Name=name",
                "Filter.1.Value.1=img-*",
                "Filter.2.Name=architecture",
                "Filter.2.Value.1=arm64",
                "Filter.3.Name=state",
                "Filter.3.Value.1=available",
                "NextToken=t"
            ]
        );
    }
}
