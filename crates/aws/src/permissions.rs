//! What an identity needs on AWS, derived from the calls that are made, and scoped as far as AWS
//! lets it be: what a pool made carries its tags, and nothing else may be changed.

use remuda_cloud::permissions::{Grant, grants};
use serde_json::{Value, json};

use crate::calls;

/// Actions that are allowed alike.
struct Scope {
    /// Name of its statement.
    sid: &'static str,
    actions: &'static [&'static str],
    resources: &'static [&'static str],
    /// Operator, key, values: all must hold.
    conditions: &'static [(&'static str, &'static str, &'static [&'static str])],
}

/// Carried by everything a pool made (AWS document 3.2).
const IS_OURS: (&str, &str, &[&str]) = (
    "StringEquals",
    "aws:ResourceTag/captf.io/managed-by",
    &["captf"],
);
/// Given to everything a pool makes.
const BECOMES_OURS: (&str, &str, &[&str]) = (
    "StringEquals",
    "aws:RequestTag/captf.io/managed-by",
    &["captf"],
);

const GROUPS: &[&str] = &["arn:aws:autoscaling:*:*:autoScalingGroup:*:autoScalingGroupName/*"];
const TEMPLATES: &[&str] = &["arn:aws:ec2:*:*:launch-template/*"];
const LAUNCHED: &[&str] = &[
    "arn:aws:ec2:*:*:instance/*",
    "arn:aws:ec2:*:*:network-interface/*",
    "arn:aws:ec2:*:*:volume/*",
];

/// An action may be in several: each allows it where it holds.
const SCOPES: &[Scope] = &[
    // AWS scopes no read of EC2 and Auto Scaling by resource.
    Scope {
        sid: "Read",
        actions: &[
            "autoscaling:DescribeAccountLimits",
            "autoscaling:DescribeAutoScalingGroups",
            "autoscaling:DescribeInstanceRefreshes",
            "autoscaling:DescribeLifecycleHooks",
            "autoscaling:DescribePolicies",
            "autoscaling:DescribeScalingActivities",
            "ec2:DescribeImages",
            "ec2:DescribeInstances",
            "ec2:DescribeLaunchTemplateVersions",
            "ec2:DescribeLaunchTemplates",
            "ec2:DescribeSubnets",
        ],
        resources: &["*"],
        conditions: &[],
    },
    Scope {
        sid: "MakeGroups",
        actions: &[
            "autoscaling:CreateAutoScalingGroup",
            "autoscaling:CreateOrUpdateTags",
        ],
        resources: GROUPS,
        conditions: &[BECOMES_OURS],
    },
    Scope {
        sid: "ChangeOwnGroups",
        actions: &[
            "autoscaling:CancelInstanceRefresh",
            "autoscaling:CompleteLifecycleAction",
            "autoscaling:CreateOrUpdateTags",
            "autoscaling:DeleteAutoScalingGroup",
            "autoscaling:DeleteLifecycleHook",
            "autoscaling:DeletePolicy",
            "autoscaling:DeleteTags",
            "autoscaling:PutLifecycleHook",
            "autoscaling:PutScalingPolicy",
            "autoscaling:RecordLifecycleActionHeartbeat",
            "autoscaling:ResumeProcesses",
            "autoscaling:SetInstanceProtection",
            "autoscaling:StartInstanceRefresh",
            "autoscaling:SuspendProcesses",
            "autoscaling:TerminateInstanceInAutoScalingGroup",
            "autoscaling:UpdateAutoScalingGroup",
        ],
        resources: GROUPS,
        conditions: &[IS_OURS],
    },
    Scope {
        sid: "MakeTemplates",
        actions: &["ec2:CreateLaunchTemplate", "ec2:CreateTags"],
        resources: TEMPLATES,
        conditions: &[BECOMES_OURS],
    },
    Scope {
        sid: "ChangeOwnTemplates",
        actions: &[
            "ec2:CreateLaunchTemplateVersion",
            "ec2:CreateTags",
            "ec2:DeleteLaunchTemplate",
            "ec2:DeleteTags",
            "ec2:ModifyLaunchTemplate",
        ],
        resources: TEMPLATES,
        conditions: &[IS_OURS],
    },
    Scope {
        sid: "LaunchFromTemplates",
        actions: &["ec2:RunInstances"],
        resources: &["*"],
        conditions: &[("ArnLike", "ec2:LaunchTemplate", TEMPLATES)],
    },
    Scope {
        sid: "TagWhatIsLaunched",
        actions: &["ec2:CreateTags"],
        resources: LAUNCHED,
        conditions: &[("StringEquals", "ec2:CreateAction", &["RunInstances"])],
    },
    Scope {
        sid: "PassWorkerRoles",
        actions: &["iam:PassRole"],
        resources: &["arn:aws:iam::*:role/captf-*"],
        conditions: &[(
            "StringEquals",
            "iam:PassedToService",
            &["ec2.amazonaws.com"],
        )],
    },
    Scope {
        sid: "MakeServiceRolesOnce",
        actions: &["iam:CreateServiceLinkedRole"],
        resources: &["arn:aws:iam::*:role/aws-service-role/*"],
        conditions: &[(
            "StringEquals",
            "iam:AWSServiceName",
            &["autoscaling.amazonaws.com", "spot.amazonaws.com"],
        )],
    },
    Scope {
        sid: "StagePayloads",
        actions: &[
            "s3:DeleteObject",
            "s3:GetObject",
            "s3:GetObjectTagging",
            "s3:PutObject",
            "s3:PutObjectTagging",
        ],
        resources: &["arn:aws:s3:::captf-bootstrap-*/pool/*"],
        conditions: &[],
    },
    Scope {
        sid: "AssumeIdentityRoles",
        actions: &["sts:AssumeRole"],
        resources: &["arn:aws:iam::*:role/captf-*"],
        conditions: &[],
    },
];

/// Every permission that a pool's identity needs, with what for.
pub fn permissions() -> Vec<Grant> {
    grants(calls::ALL)
}

/// An IAM policy with exactly these permissions. Names of roles and buckets are the usual ones of
/// the cluster modules, to be narrowed to one's own.
pub fn policy() -> Value {
    let statements: Vec<Value> = SCOPES.iter().map(statement).collect();
    json!({ "Version": "2012-10-17", "Statement": statements })
}

fn statement(scope: &Scope) -> Value {
    let mut statement = json!({
        "Sid": scope.sid,
        "Effect": "Allow",
        "Action": scope.actions,
        "Resource": scope.resources,
    });
    for (operator, key, values) in scope.conditions {
        let values = match values {
            [value] => json!(value),
            values => json!(values),
        };
        statement["Condition"][operator][key] = values;
    }
    statement
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_policy_allows_what_the_calls_need_and_nothing_else() {
        let needed: BTreeSet<&str> = permissions().iter().map(|grant| grant.action).collect();
        let allowed: BTreeSet<&str> = SCOPES
            .iter()
            .flat_map(|scope| scope.actions)
            .copied()
            .collect();
        assert_eq!(allowed, needed);
    }

    #[test]
    fn nothing_that_somebody_else_made_may_be_changed() {
        let reads = |action: &str| action.contains(":Describe") || action.contains(":Get");
        for scope in SCOPES {
            let is_scoped = scope.resources != ["*"] || !scope.conditions.is_empty();
            let changes = scope.actions.iter().any(|action| !reads(action));
            assert!(is_scoped || !changes, "{}", scope.sid);
        }
    }
}
