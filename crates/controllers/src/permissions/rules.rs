//! The rules. A verb stands here when a controller asks for it, and only then.

use super::{
    Needed::{self, Always, Core, OwnCertificates},
    Reach::{self, Cluster, Own, Watched},
    Rule,
};
use crate::admission::{CERTIFICATES, MUTATING, VALIDATING};

const CAPI: &str = "cluster.x-k8s.io";
const INFRA: &str = "infrastructure.cluster.x-k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";
const READ: &[&str] = &["get", "list", "watch"];

/// What it is about, in which group.
type What = (&'static str, &'static str);

const fn rule(
    reach: Reach,
    needed: Needed,
    (group, resource): What,
    verbs: &'static [&'static str],
    because: &'static str,
) -> Rule {
    Rule {
        reach,
        needed,
        group,
        resource,
        verbs,
        names: &[],
        because,
    }
}

const fn named(rule: Rule, names: &'static [&'static str]) -> Rule {
    Rule { names, ..rule }
}

/// The rules, by what they are about.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule(Watched, Always, (INFRA, "terraformmachinepools"), &["get", "list", "watch", "patch"],
        "the pools themselves: finalizer, annotations and provider ids are written to them"),
    rule(Watched, Always, (INFRA, "terraformmachinepools/status"), &["patch"],
        "what became of a pool"),
    rule(Watched, Core, (INFRA, "terraformmachinepools"), &["delete"],
        "goes when its MachinePool goes"),
    rule(Watched, Always, (INFRA, "terraformmachinepoolmachines"), &["list", "watch", "create", "patch", "delete"],
        "one a machine of a pool, made and taken away with it"),
    rule(Watched, Core, (INFRA, "terraformmachinepoolmachines"), &["get"],
        "a Machine reads its infrastructure"),
    rule(Watched, Always, (INFRA, "terraformmachinepoolmachines/status"), &["patch"],
        "addresses, zone and state of the instance"),
    rule(Watched, Always, (INFRA, "terraformclusters"), READ,
        "region, subnets and defaults of a pool's cluster"),
    rule(Watched, Core, (INFRA, "terraformclusters"), &["patch", "delete"],
        "gets its Cluster as owner, and goes with it"),
    rule(Cluster, Always, (INFRA, "terraformclusteridentities"), READ,
        "which credential a pool may use"),
    rule(Cluster, Always, (INFRA, "terraformclusteridentities/status"), &["patch"],
        "which namespaces use an identity, and whether its Secret is complete"),
    rule(Watched, Always, (CAPI, "machinepools"), &["get", "list", "watch", "patch"],
        "the size that is wanted; written where the cloud's autoscaler decides it"),
    rule(Watched, Core, (CAPI, "machinepools"), &["delete"],
        "goes when its Cluster goes"),
    rule(Watched, Core, (CAPI, "machinepools/status"), &["patch"],
        "how many machines there are and how they stand"),
    rule(Watched, Always, (CAPI, "machines"), &["list", "watch", "delete"],
        "machines of a pool are removed through their Machine, so that they are drained"),
    rule(Watched, Core, (CAPI, "machines"), &["get", "create", "patch"],
        "one a machine of a pool: made, labelled, its finalizer kept"),
    rule(Watched, Core, (CAPI, "machines/status"), &["patch"],
        "node, addresses and conditions of a Machine"),
    rule(Watched, Core, (CAPI, "machinedrainrules"), &["list"],
        "how pods are drained"),
    rule(Watched, Core, (CAPI, "machinehealthchecks"), &["get", "list", "watch", "patch"],
        "which Machines are to be replaced; owner and labels are written to them"),
    rule(Watched, Core, (CAPI, "machinehealthchecks/status"), &["patch"],
        "how many Machines are healthy"),
    rule(Watched, Always, (CAPI, "clusters"), READ,
        "whether a cluster is paused, ready or being deleted"),
    rule(Watched, Core, (CAPI, "clusters"), &["patch"],
        "its finalizer, and its endpoint from the infrastructure"),
    rule(Watched, Core, (CAPI, "clusters/status"), &["patch"],
        "what became of a cluster"),
    rule(Watched, Always, ("", "secrets"), &["get", "list", "watch", "create", "update", "patch", "delete"],
        "reads bootstrap data, credentials and kubeconfigs; keeps each pool's record"),
    rule(Watched, Always, ("", "configmaps"), READ,
        "variables of pools may come from ConfigMaps"),
    rule(Cluster, Always, ("", "namespaces"), &["get"],
        "an identity says by labels which namespaces may use it; the manager's own names the installation"),
    rule(Cluster, Always, ("events.k8s.io", "events"), &["create"],
        "tells what was done and what failed; about cluster-scoped objects in the namespace default"),
    rule(Cluster, Always, ("authorization.k8s.io", "subjectaccessreviews"), &["create"],
        "whoever names a Secret in an object must be able to read it"),
    rule(Cluster, Core, ("apiextensions.k8s.io", "customresourcedefinitions"), &["get"],
        "contract labels say which version of a referenced kind to read"),
    named(rule(Cluster, Always, (ADMISSION, "mutatingwebhookconfigurations"), &["get", "patch"],
        "renews whom API servers trust when certificates are renewed"), &[MUTATING]),
    named(rule(Cluster, Always, (ADMISSION, "validatingwebhookconfigurations"), &["get", "patch"],
        "renews whom API servers trust when certificates are renewed"), &[VALIDATING]),
    rule(Own, Always, ("coordination.k8s.io", "leases"), &["get", "list", "watch", "create", "update"],
        "of several managers one leads; who waits sees each renewal, and who leads another share"),
    named(rule(Own, OwnCertificates, ("", "secrets"), &["get", "update"],
        "certificates of the webhooks, shared by replicas"), &[CERTIFICATES]),
    rule(Own, OwnCertificates, ("", "secrets"), &["create"],
        "certificates of the webhooks, once"),
];
