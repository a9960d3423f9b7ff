//! Launch templates and their versions.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use base64::{Engine, engine::general_purpose::STANDARD};
use support::{Client, immediate};

async fn version(client: &Client, params: &[(&str, &str)]) -> support::Answer {
    let mut all = vec![("LaunchTemplateName", "pool-lt")];
    all.extend_from_slice(params);
    client.ec2("CreateLaunchTemplateVersion", &all).await
}

async fn versions(client: &Client, wanted: &str) -> support::Answer {
    let params = [
        ("LaunchTemplateName", "pool-lt"),
        ("LaunchTemplateVersion.1", wanted),
    ];
    client.ec2("DescribeLaunchTemplateVersions", &params).await
}

#[tokio::test]
async fn versions_count_up_and_the_default_moves_when_told() {
    let client = immediate();
    client.create_template("pool-lt").await.ok();
    let answer = version(
        &client,
        &[("LaunchTemplateData.InstanceType", "m6i.xlarge")],
    )
    .await
    .ok();
    assert_eq!(answer.first("versionNumber").unwrap(), "2");
    assert_eq!(
        versions(&client, "$Default")
            .await
            .ok()
            .first("versionNumber")
            .unwrap(),
        "1"
    );
    let latest = versions(&client, "$Latest").await.ok();
    assert_eq!(latest.first("instanceType").unwrap(), "m6i.xlarge");
    assert_eq!(
        latest.first("imageId"),
        None,
        "without a source version nothing is inherited"
    );
    let default = [
        ("LaunchTemplateName", "pool-lt"),
        ("SetDefaultVersion", "2"),
    ];
    let answer = client.ec2("ModifyLaunchTemplate", &default).await.ok();
    assert_eq!(answer.first("defaultVersionNumber").unwrap(), "2");
    let inherited = [
        ("SourceVersion", "1"),
        ("LaunchTemplateData.InstanceType", "c7g.large"),
    ];
    version(&client, &inherited).await.ok();
    let third = versions(&client, "3").await.ok();
    assert_eq!(third.first("imageId").unwrap(), support::IMAGE);
    assert_eq!(third.first("instanceType").unwrap(), "c7g.large");
    assert_eq!(
        versions(&client, "4").await.code(),
        "InvalidLaunchTemplateId.VersionNotFound"
    );
}

#[tokio::test]
async fn names_are_unique_and_well_formed() {
    let client = immediate();
    client.create_template("pool-lt").await.ok();
    let again = client.create_template("pool-lt").await;
    assert_eq!(
        again.code(),
        "InvalidLaunchTemplateName.AlreadyExistsException"
    );
    for name in ["ab", "with space", &"x".repeat(129)] {
        let answer = client.create_template(name).await;
        assert_eq!(
            answer.code(),
            "InvalidLaunchTemplateName.MalformedException",
            "{name}"
        );
    }
    client.create_template(&"x".repeat(128)).await.ok();
}

#[tokio::test]
async fn a_client_token_makes_a_repeat_harmless() {
    let client = immediate();
    let create = |token: &'static str, image: &'static str| {
        let client = client.clone();
        async move {
            let more = [
                ("ClientToken", token),
                ("LaunchTemplateData.ImageId", image),
            ];
            client.create_template_with("pool-lt", &more).await
        }
    };
    let first = create("token-1", "ami-0aaaaaaaaaaaaaaaa").await.ok();
    let second = create("token-1", "ami-0aaaaaaaaaaaaaaaa").await.ok();
    assert_eq!(
        first.first("launchTemplateId"),
        second.first("launchTemplateId")
    );
    assert_eq!(client.sim.world().templates().len(), 1);
    let other = create("token-1", "ami-0123456789abcdef0").await;
    assert_eq!(other.code(), "IdempotentParameterMismatch");
    let without = create("token-2", "ami-0aaaaaaaaaaaaaaaa").await;
    assert_eq!(
        without.code(),
        "InvalidLaunchTemplateName.AlreadyExistsException"
    );
}

#[tokio::test]
async fn missing_templates_are_told_by_name_and_by_id() {
    let client = immediate();
    let by_name = [("LaunchTemplateName.1", "nobody")];
    let answer = client.ec2("DescribeLaunchTemplates", &by_name).await;
    assert_eq!(answer.code(), "InvalidLaunchTemplateName.NotFoundException");
    let by_id = [("LaunchTemplateId.1", "lt-00000000000000000")];
    let answer = client.ec2("DescribeLaunchTemplates", &by_id).await;
    assert_eq!(answer.code(), "InvalidLaunchTemplateId.NotFound");
    let delete = [("LaunchTemplateName", "nobody")];
    let answer = client.ec2("DeleteLaunchTemplate", &delete).await;
    assert_eq!(answer.code(), "InvalidLaunchTemplateName.NotFoundException");
}

#[tokio::test]
async fn templates_are_found_by_name_pattern_and_tag_in_pages() {
    let client = immediate();
    for number in 0..5 {
        let tag = [
            ("TagSpecification.1.ResourceType", "launch-template"),
            ("TagSpecification.1.Tag.1.Key", "captf.io/cluster"),
            (
                "TagSpecification.1.Tag.1.Value",
                if number < 3 { "demo" } else { "other" },
            ),
        ];
        client
            .create_template_with(&format!("pool-{number}"), &tag)
            .await
            .ok();
    }
    let filters = [
        ("Filter.1.Name", "launch-template-name"),
        ("Filter.1.Value.1", "pool-*"),
        ("Filter.2.Name", "tag:captf.io/cluster"),
        ("Filter.2.Value.1", "demo"),
        ("MaxResults", "2"),
    ];
    let first = client.ec2("DescribeLaunchTemplates", &filters).await.ok();
    assert_eq!(first.all("launchTemplateName"), ["pool-0", "pool-1"]);
    let token = first.first("nextToken").unwrap();
    let mut more = filters.to_vec();
    more.push(("NextToken", &token));
    let second = client.ec2("DescribeLaunchTemplates", &more).await.ok();
    assert_eq!(second.all("launchTemplateName"), ["pool-2"]);
    assert_eq!(second.first("nextToken"), None);
}

#[tokio::test]
async fn data_comes_back_as_it_was_sent() {
    let client = immediate();
    let user_data = STANDARD.encode("#cloud-boothook\n#!/bin/sh\nlabel='<&>'\n");
    let more = [
        (
            "VersionDescription",
            "CAPTF machine pool team-a/demo-pool-0",
        ),
        ("LaunchTemplateData.UserData", user_data.as_str()),
        (
            "LaunchTemplateData.BlockDeviceMapping.1.DeviceName",
            "/dev/sda1",
        ),
        (
            "LaunchTemplateData.BlockDeviceMapping.1.Ebs.VolumeSize",
            "40",
        ),
        (
            "LaunchTemplateData.BlockDeviceMapping.1.Ebs.Encrypted",
            "true",
        ),
        ("LaunchTemplateData.MetadataOptions.HttpTokens", "required"),
        (
            "LaunchTemplateData.InstanceMarketOptions.MarketType",
            "spot",
        ),
        (
            "LaunchTemplateData.TagSpecification.1.ResourceType",
            "instance",
        ),
        ("LaunchTemplateData.TagSpecification.1.Tag.1.Key", "team"),
        ("LaunchTemplateData.TagSpecification.1.Tag.1.Value", "a & b"),
    ];
    client.create_template_with("pool-lt", &more).await.ok();
    let answer = versions(&client, "1").await.ok();
    assert_eq!(answer.first("userData").unwrap(), user_data);
    assert_eq!(answer.first("volumeSize").unwrap(), "40");
    assert_eq!(answer.first("groupId").unwrap(), support::SECURITY_GROUP);
    assert_eq!(answer.first("value").unwrap(), "a & b");
    assert_eq!(answer.first("marketType").unwrap(), "spot");
    assert_eq!(
        answer.first("versionDescription").unwrap(),
        "CAPTF machine pool team-a/demo-pool-0"
    );
    let journal = format!("{:?}", client.sim.journal().calls());
    assert!(
        !journal.contains(&user_data),
        "user data stays out of the journal"
    );
}

#[tokio::test]
async fn unknown_parameters_are_refused() {
    let client = immediate();
    let wrong = [(
        "LaunchTemplateData.SecurityGroupIds.1",
        "sg-0e0000000000000e1",
    )];
    let answer = client.create_template_with("pool-lt", &wrong).await;
    assert_eq!(answer.code(), "UnknownParameter");
    let answer = client
        .ec2("DescribeInstances", &[("Filters.1.Name", "x")])
        .await;
    assert_eq!(answer.code(), "UnknownParameter");
    let answer = client.ec2("RebootTheWorld", &[]).await;
    assert_eq!(answer.code(), "InvalidAction");
}

#[tokio::test]
async fn old_versions_can_be_pruned_but_not_the_default() {
    let client = immediate();
    client.create_template("pool-lt").await.ok();
    version(
        &client,
        &[("LaunchTemplateData.InstanceType", "m6i.xlarge")],
    )
    .await
    .ok();
    let params = [
        ("LaunchTemplateName", "pool-lt"),
        ("LaunchTemplateVersion.1", "1"),
        ("LaunchTemplateVersion.2", "2"),
        ("LaunchTemplateVersion.3", "9"),
    ];
    let answer = client
        .ec2("DeleteLaunchTemplateVersions", &params)
        .await
        .ok();
    assert_eq!(
        answer.all("versionNumber"),
        ["2", "1", "9"],
        "deleted ones come first"
    );
    let template = client.sim.world().templates().remove(0);
    assert_eq!((template.versions, template.latest_version), (1, 1));
}

#[tokio::test]
async fn template_tags_change() {
    let client = immediate();
    let id = client
        .create_template("pool-lt")
        .await
        .ok()
        .first("launchTemplateId")
        .unwrap();
    let tag = [
        ("ResourceId.1", id.as_str()),
        ("Tag.1.Key", "team"),
        ("Tag.1.Value", "a"),
    ];
    client.ec2("CreateTags", &tag).await.ok();
    assert_eq!(client.sim.world().templates()[0].tags["team"], "a");
    let other = [tag[0], tag[1], ("Tag.1.Value", "b")];
    client.ec2("DeleteTags", &other).await.ok();
    assert_eq!(
        client.sim.world().templates()[0].tags.len(),
        1,
        "another value protects the tag"
    );
    client.ec2("DeleteTags", &tag[..2]).await.ok();
    assert!(client.sim.world().templates()[0].tags.is_empty());
    let unknown = [("ResourceId.1", "lt-0bad"), ("Tag.1.Key", "a")];
    assert_eq!(
        client.ec2("CreateTags", &unknown).await.code(),
        "InvalidLaunchTemplateId.NotFound"
    );
}
