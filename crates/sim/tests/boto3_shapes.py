"""Calls the simulator with boto3, whose parsers reject answers of a wrong shape.

usage: boto3_shapes.py ENDPOINT
"""

import base64
import json
import sys
import time
import urllib.request

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, HTTPClientError
from botocore.parsers import ResponseParserError

ENDPOINT = sys.argv[1]
SUBNETS = ["subnet-0aaa0000000000001", "subnet-0bbb0000000000002", "subnet-0ccc0000000000003"]
BUCKET = "captf-bootstrap-20261001000000000000000001"
PROFILE = "captf-team-a-demo-1960e37c-worker"
KEYS = dict(
    region_name="us-east-1",
    aws_access_key_id="AKIAREMUDADEMO000000",
    aws_secret_access_key="remudademosecretkeyforsimulatedworlds000",
)


def client(service, **credentials):
    return boto3.client(
        service,
        endpoint_url=ENDPOINT,
        config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
        **(credentials or KEYS),
    )


def control(path, **body):
    request = urllib.request.Request(
        f"{ENDPOINT}/_sim/{path}",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    urllib.request.urlopen(request).close()


def refused(code, call, **params):
    try:
        call(**params)
    except ClientError as error:
        assert error.response["Error"]["Code"] == code, error
        return error.response["Error"]["Message"]
    raise AssertionError(f"{call} was not refused with {code}")


def eventually(what, ready):
    for _ in range(300):
        value = ready()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"never: {what}")


sts, ec2, asg, s3 = (client(name) for name in ("sts", "ec2", "autoscaling", "s3"))

# STS
assert sts.get_caller_identity()["Account"] == "111122223333"
session = sts.assume_role(
    RoleArn="arn:aws:iam::111122223333:role/remuda-demo-controller", RoleSessionName="boto3"
)["Credentials"]
as_role = client(
    "sts",
    region_name="us-east-1",
    aws_access_key_id=session["AccessKeyId"],
    aws_secret_access_key=session["SecretAccessKey"],
    aws_session_token=session["SessionToken"],
)
assert as_role.get_caller_identity()["Arn"].endswith("assumed-role/remuda-demo-controller/boto3")
wrong = dict(KEYS, aws_secret_access_key="x")
refused("SignatureDoesNotMatch", client("sts", **wrong).get_caller_identity)
refused("AuthFailure", client("ec2", **wrong).describe_regions)

# S3
s3.put_object(
    Bucket=BUCKET,
    Key="pool/demo pool+ä",
    Body=b"#cloud-config\n",
    ContentType="application/octet-stream",
    ServerSideEncryption="AES256",
    Tagging="captf.io%2Fcluster=demo&captf.io%2Ftemplate=",
)
got = s3.get_object(Bucket=BUCKET, Key="pool/demo pool+ä")
assert got["Body"].read() == b"#cloud-config\n"
head = s3.head_object(Bucket=BUCKET, Key="pool/demo pool+ä")
assert head["ServerSideEncryption"] == "AES256" and head["ContentLength"] == 14
tags = s3.get_object_tagging(Bucket=BUCKET, Key="pool/demo pool+ä")["TagSet"]
assert {"Key": "captf.io/template", "Value": ""} in tags, tags
s3.put_object_tagging(
    Bucket=BUCKET,
    Key="pool/demo pool+ä",
    Tagging={"TagSet": [{"Key": "a&<b>", "Value": "c d"}]},
)
tags = s3.get_object_tagging(Bucket=BUCKET, Key="pool/demo pool+ä")["TagSet"]
assert tags == [{"Key": "a&<b>", "Value": "c d"}], tags
assert s3.list_objects_v2(Bucket=BUCKET)["KeyCount"] == 1
assert BUCKET in [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]
refused("NoSuchBucket", s3.get_object, Bucket="no-such-bucket", Key="x")
refused("NoSuchKey", s3.get_object, Bucket=BUCKET, Key="x")
refused("404", s3.head_object, Bucket=BUCKET, Key="x")
refused("PreconditionFailed", s3.put_object, Bucket=BUCKET, Key="pool/demo pool+ä", IfNoneMatch="*")
s3.delete_object(Bucket=BUCKET, Key="pool/demo pool+ä")

# EC2: places and images
assert [r["RegionName"] for r in ec2.describe_regions()["Regions"]] == ["us-east-1"]
assert len(ec2.describe_availability_zones()["AvailabilityZones"]) == 4
subnets = ec2.describe_subnets(SubnetIds=SUBNETS)["Subnets"]
assert [s["AvailabilityZone"] for s in subnets] == ["us-east-1a", "us-east-1b", "us-east-1c"]
images = ec2.describe_images(
    Owners=["819546954734"],
    IncludeDeprecated=True,
    Filters=[
        {"Name": "name", "Values": ["capa-ami-ubuntu-24.04-?1.34.1-*"]},
        {"Name": "architecture", "Values": ["x86_64"]},
        {"Name": "state", "Values": ["available"]},
    ],
)["Images"]
image = max(images, key=lambda image: image["CreationDate"])
assert image["Name"] == "capa-ami-ubuntu-24.04-v1.34.1-1760000000", images
assert image["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"] == 20

# EC2: launch templates
DATA = {
    "ImageId": image["ImageId"],
    "InstanceType": "m6i.large",
    "UserData": base64.b64encode(b"#cloud-boothook\n").decode(),
    "IamInstanceProfile": {"Name": PROFILE},
    "BlockDeviceMappings": [
        {
            "DeviceName": "/dev/sda1",
            "Ebs": {
                "VolumeSize": 40,
                "VolumeType": "gp3",
                "Encrypted": True,
                "DeleteOnTermination": True,
            },
        }
    ],
    "MetadataOptions": {
        "HttpEndpoint": "enabled",
        "HttpTokens": "required",
        "HttpPutResponseHopLimit": 1,
        "InstanceMetadataTags": "disabled",
    },
    "NetworkInterfaces": [
        {
            "DeviceIndex": 0,
            "AssociatePublicIpAddress": False,
            "DeleteOnTermination": True,
            "Groups": ["sg-0e0000000000000e1"],
        }
    ],
    "TagSpecifications": [
        {"ResourceType": kind, "Tags": [{"Key": "captf.io/template", "Value": ""}]}
        for kind in ("instance", "network-interface", "volume")
    ],
}
template = ec2.create_launch_template(
    LaunchTemplateName="pool-lt",
    VersionDescription="CAPTF machine pool team-a/demo-pool-0",
    ClientToken="token-1",
    LaunchTemplateData=DATA,
    TagSpecifications=[
        {"ResourceType": "launch-template", "Tags": [{"Key": "team", "Value": "platform"}]}
    ],
)["LaunchTemplate"]
again = ec2.describe_launch_template_versions(LaunchTemplateName="pool-lt", Versions=["$Latest"])
version = again["LaunchTemplateVersions"][0]
assert version["LaunchTemplateData"] == DATA, version["LaunchTemplateData"]
assert version["DefaultVersion"] is True
made = ec2.create_launch_template_version(
    LaunchTemplateId=template["LaunchTemplateId"],
    LaunchTemplateData=dict(DATA, InstanceType="m6i.xlarge"),
)["LaunchTemplateVersion"]
assert made["VersionNumber"] == 2
modified = ec2.modify_launch_template(
    LaunchTemplateId=template["LaunchTemplateId"], DefaultVersion="2"
)["LaunchTemplate"]
assert modified["DefaultVersionNumber"] == 2 == modified["LatestVersionNumber"]
pages = ec2.get_paginator("describe_launch_template_versions").paginate(
    LaunchTemplateName="pool-lt", PaginationConfig={"PageSize": 1}
)
numbers = [v["VersionNumber"] for page in pages for v in page["LaunchTemplateVersions"]]
assert numbers == [2, 1], numbers
refused(
    "InvalidLaunchTemplateName.AlreadyExistsException",
    ec2.create_launch_template,
    LaunchTemplateName="pool-lt",
    LaunchTemplateData=DATA,
)
refused(
    "InvalidLaunchTemplateName.NotFoundException",
    ec2.describe_launch_templates,
    LaunchTemplateNames=["nobody"],
)
ec2.create_tags(
    Resources=[template["LaunchTemplateId"]], Tags=[{"Key": "captf.io/name", "Value": "x"}]
)
listed = ec2.describe_launch_templates(Filters=[{"Name": "tag:captf.io/name", "Values": ["x"]}])
assert {"Key": "team", "Value": "platform"} in listed["LaunchTemplates"][0]["Tags"]
pruned = ec2.delete_launch_template_versions(LaunchTemplateName="pool-lt", Versions=["1", "2"])
assert pruned["SuccessfullyDeletedLaunchTemplateVersions"][0]["VersionNumber"] == 1
failed = pruned["UnsuccessfullyDeletedLaunchTemplateVersions"][0]
assert failed["ResponseError"]["Code"] == "launchTemplateVersionCannotBeDeleted", failed

# Auto Scaling: a group and its settings
GROUP = "captf-team-a-demo-pool-0-43c6d828"
asg.create_auto_scaling_group(
    AutoScalingGroupName=GROUP,
    MinSize=3,
    MaxSize=3,
    DesiredCapacity=3,
    LaunchTemplate={"LaunchTemplateName": "pool-lt", "Version": "$Latest"},
    VPCZoneIdentifier=",".join(SUBNETS),
    CapacityRebalance=False,
    HealthCheckType="EC2",
    HealthCheckGracePeriod=300,
    Tags=[
        {
            "ResourceId": GROUP,
            "ResourceType": "auto-scaling-group",
            "Key": "captf.io/template",
            "Value": "",
            "PropagateAtLaunch": False,
        }
    ],
)
asg.suspend_processes(AutoScalingGroupName=GROUP, ScalingProcesses=["AZRebalance"])


def group():
    return asg.describe_auto_scaling_groups(AutoScalingGroupNames=[GROUP])["AutoScalingGroups"][0]


def in_service():
    instances = group()["Instances"]
    serve = all(instance["LifecycleState"] == "InService" for instance in instances)
    return len(instances) == 3 and serve


eventually("three members in service", in_service)
shown = group()
assert shown["LaunchTemplate"]["LaunchTemplateName"] == "pool-lt"
assert shown["LaunchTemplate"]["Version"] == "$Latest"
assert shown["HealthCheckGracePeriod"] == 300 and shown["DefaultCooldown"] == 300
assert [p["ProcessName"] for p in shown["SuspendedProcesses"]] == ["AZRebalance"]
assert shown["Tags"][0]["PropagateAtLaunch"] is False and shown["Tags"][0]["Value"] == ""
assert shown["Instances"][0]["LaunchTemplate"]["Version"] == "2"
assert shown["AvailabilityZones"] == ["us-east-1a", "us-east-1b", "us-east-1c"]
put = asg.put_scaling_policy(
    AutoScalingGroupName=GROUP,
    PolicyName="captf-cpu-target-tracking",
    PolicyType="TargetTrackingScaling",
    TargetTrackingConfiguration={
        "PredefinedMetricSpecification": {"PredefinedMetricType": "ASGAverageCPUUtilization"},
        "TargetValue": 60.0,
    },
)
assert put["PolicyARN"].startswith("arn:aws:autoscaling:") and len(put["Alarms"]) == 2
policy = asg.describe_policies(AutoScalingGroupName=GROUP)["ScalingPolicies"][0]
assert policy["TargetTrackingConfiguration"]["TargetValue"] == 60.0, policy
asg.delete_policy(AutoScalingGroupName=GROUP, PolicyName="captf-cpu-target-tracking")
refused(
    "AlreadyExists",
    asg.create_auto_scaling_group,
    AutoScalingGroupName=GROUP,
    MinSize=0,
    MaxSize=0,
    LaunchTemplate={"LaunchTemplateName": "pool-lt"},
    VPCZoneIdentifier=SUBNETS[0],
)
text = refused("ValidationError", asg.set_desired_capacity, AutoScalingGroupName="x", DesiredCapacity=1)
assert "name not found" in text
assert asg.describe_tags()["Tags"][0]["ResourceId"] == GROUP
ids = [i["InstanceId"] for i in shown["Instances"]]
asg.set_instance_protection(AutoScalingGroupName=GROUP, InstanceIds=ids, ProtectedFromScaleIn=True)
asg.set_instance_protection(AutoScalingGroupName=GROUP, InstanceIds=ids, ProtectedFromScaleIn=False)
assert len(asg.describe_auto_scaling_instances(InstanceIds=ids)["AutoScalingInstances"]) == 3

# EC2: instances of the group
pages = ec2.get_paginator("describe_instances").paginate(
    Filters=[
        {"Name": "tag:aws:autoscaling:groupName", "Values": [GROUP]},
        {"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]},
    ],
    PaginationConfig={"PageSize": 5},
)
instances = [i for page in pages for r in page["Reservations"] for i in r["Instances"]]
assert sorted(i["InstanceId"] for i in instances) == sorted(ids)
first = instances[0]
assert first["State"] == {"Code": 16, "Name": "running"}
assert first["PrivateDnsName"].endswith(".ec2.internal")
assert first["IamInstanceProfile"]["Arn"].endswith(PROFILE)
assert first["SecurityGroups"][0]["GroupId"] == "sg-0e0000000000000e1"
assert first["MetadataOptions"]["HttpTokens"] == "required"
assert {"Key": "aws:ec2launchtemplate:version", "Value": "2"} in first["Tags"]

# Auto Scaling: hooks, refreshes, activities, the end
asg.put_lifecycle_hook(
    AutoScalingGroupName=GROUP,
    LifecycleHookName="drain",
    LifecycleTransition="autoscaling:EC2_INSTANCE_TERMINATING",
    HeartbeatTimeout=7200,
    DefaultResult="CONTINUE",
)
hook = asg.describe_lifecycle_hooks(AutoScalingGroupName=GROUP)["LifecycleHooks"][0]
assert hook["HeartbeatTimeout"] == 7200
ended = asg.terminate_instance_in_auto_scaling_group(
    InstanceId=ids[0], ShouldDecrementDesiredCapacity=False
)["Activity"]
assert ended["StatusCode"] == "InProgress", ended
waiting = dict(AutoScalingGroupName=GROUP, LifecycleHookName="drain", InstanceId=ids[0])
asg.record_lifecycle_action_heartbeat(**waiting)
asg.complete_lifecycle_action(LifecycleActionResult="CONTINUE", **waiting)
asg.delete_lifecycle_hook(AutoScalingGroupName=GROUP, LifecycleHookName="drain")
eventually("a replacement", in_service)
started = asg.start_instance_refresh(
    AutoScalingGroupName=GROUP,
    Strategy="Rolling",
    Preferences={
        "MinHealthyPercentage": 100,
        "MaxHealthyPercentage": 200,
        "InstanceWarmup": 300,
        "ScaleInProtectedInstances": "Ignore",
        "StandbyInstances": "Ignore",
        "SkipMatching": False,
        "AutoRollback": False,
    },
)
refused("InstanceRefreshInProgress", asg.start_instance_refresh, AutoScalingGroupName=GROUP)
refresh = asg.describe_instance_refreshes(AutoScalingGroupName=GROUP)["InstanceRefreshes"][0]
assert refresh["InstanceRefreshId"] == started["InstanceRefreshId"]
assert refresh["Preferences"]["MaxHealthyPercentage"] == 200
asg.cancel_instance_refresh(AutoScalingGroupName=GROUP)
eventually(
    "the refresh is cancelled",
    lambda: asg.describe_instance_refreshes(AutoScalingGroupName=GROUP)["InstanceRefreshes"][0][
        "Status"
    ]
    == "Cancelled",
)
refused("ActiveInstanceRefreshNotFound", asg.cancel_instance_refresh, AutoScalingGroupName=GROUP)
activities = asg.describe_scaling_activities(AutoScalingGroupName=GROUP)["Activities"]
assert activities and all(a["Cause"] and a["StartTime"] for a in activities)
eventually("three members again", in_service)
member = group()["Instances"][0]["InstanceId"]
detached = asg.detach_instances(
    AutoScalingGroupName=GROUP, InstanceIds=[member], ShouldDecrementDesiredCapacity=False
)
assert detached["Activities"][0]["StatusCode"] == "Successful"
stopped = ec2.stop_instances(InstanceIds=[member])["StoppingInstances"][0]
assert stopped["CurrentState"]["Name"] == "stopping", stopped
ended = ec2.terminate_instances(InstanceIds=[member])["TerminatingInstances"][0]
assert ended["PreviousState"]["Name"] in ("stopping", "stopped"), ended
asg.create_or_update_tags(
    Tags=[
        {
            "ResourceId": GROUP,
            "ResourceType": "auto-scaling-group",
            "Key": "remuda.dev/installation",
            "Value": "one",
            "PropagateAtLaunch": False,
        }
    ]
)
asg.delete_tags(
    Tags=[
        {"ResourceId": GROUP, "ResourceType": "auto-scaling-group", "Key": "remuda.dev/installation"}
    ]
)
asg.resume_processes(AutoScalingGroupName=GROUP, ScalingProcesses=["AZRebalance"])
refused("ResourceInUse", asg.delete_auto_scaling_group, AutoScalingGroupName=GROUP)
asg.update_auto_scaling_group(
    AutoScalingGroupName=GROUP, MinSize=0, MaxSize=0, DesiredCapacity=0
)
eventually("no members", lambda: not group()["Instances"])
asg.delete_auto_scaling_group(AutoScalingGroupName=GROUP)
eventually("no group", lambda: not asg.describe_auto_scaling_groups()["AutoScalingGroups"])

# Connections that break over a real socket: with and without the call being carried out.
for effect, left in (("disconnect", 1), ("lost-answer", 0)):
    control("faults", effect=effect, service="ec2", action="DeleteLaunchTemplate", times=1)
    try:
        ec2.delete_launch_template(LaunchTemplateName="pool-lt")
    except (HTTPClientError, ResponseParserError) as error:
        print(effect, "was seen as", type(error).__name__)
    else:
        raise AssertionError(f"{effect} was not seen")
    assert len(ec2.describe_launch_templates()["LaunchTemplates"]) == left, effect
print("all shapes accepted")
