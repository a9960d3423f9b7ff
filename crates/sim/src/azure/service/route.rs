//! From method and path to an action.

use std::collections::BTreeMap;

use http::Method;

use super::dispatch::{Handler, Read, Write};
use crate::azure::{compute, insights, network, resources};

/// Versions of a provider's API that are taken.
const COMPUTE: &[&str] = &["2024-11-01", "2025-04-01", "2024-07-01", "2023-09-01"];
const GALLERY: &[&str] = &["2024-03-03", "2023-07-03", "2022-08-03"];
const NETWORK: &[&str] = &["2018-10-01", "2023-09-01", "2024-05-01"];
const INSIGHTS: &[&str] = &["2022-10-01", "2015-04-01"];
const AUTHORIZATION: &[&str] = &["2022-04-01", "2018-07-01"];
const RESOURCES: &[&str] = &["2020-06-01", "2021-04-01", "2022-09-01"];

/// What a request is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Target {
    pub(crate) subscription: String,
    pub(crate) group: String,
    /// A scale set, a setting, an operation.
    pub(crate) name: String,
    pub(crate) instance: String,
    /// The verb of an action, lowercase.
    pub(crate) verb: String,
}

/// An action of a service.
#[derive(Clone, Copy)]
pub(crate) struct Action {
    /// `compute`, `gallery`, `network`, `insights` or `resources`.
    pub(crate) service: &'static str,
    /// The operation's id in the published API description.
    pub(crate) name: &'static str,
    pub(crate) handler: Handler,
    /// Throttling policy it counts against, if it is Compute's.
    pub(crate) policy: Option<Policy>,
    /// Deletes, as locks see it.
    pub(crate) deletes: bool,
}

/// A throttling policy of Compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Policy {
    PutSet,
    PatchSet,
    DeleteSet,
    GetSet,
    InstanceView,
    List,
    GetInstance,
    ChangeInstance,
    GetOperation,
}

impl Action {
    /// The versions of the API it is offered in.
    pub(crate) fn versions(&self) -> &'static [&'static str] {
        match self.service {
            "compute" => COMPUTE,
            "gallery" => GALLERY,
            "network" => NETWORK,
            "insights" => INSIGHTS,
            "authorization" => AUTHORIZATION,
            _ => RESOURCES,
        }
    }

    /// The namespace of its resource provider.
    pub(crate) fn provider(&self) -> &'static str {
        match self.service {
            "compute" | "gallery" => "Microsoft.Compute",
            "network" => "Microsoft.Network",
            "insights" => "Microsoft.Insights",
            "authorization" => "Microsoft.Authorization",
            _ => "Microsoft.Resources",
        }
    }

    fn deleting(self) -> Self {
        Self {
            deletes: true,
            ..self
        }
    }

    /// It changes something.
    pub(crate) fn writes(&self) -> bool {
        matches!(self.handler, Handler::Write(_))
    }
}

/// The action of a request; `None` when nothing is served there.
pub(crate) fn route(method: &Method, path: &str) -> Option<(Action, Target)> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let lower: Vec<String> = parts.iter().map(|part| part.to_ascii_lowercase()).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    let ["subscriptions", _, rest @ ..] = lower.as_slice() else {
        return None;
    };
    let given = |index: usize| -> String {
        let part = parts.get(index + 2).copied().unwrap_or_default();
        percent_encoding::percent_decode_str(part)
            .decode_utf8_lossy()
            .into_owned()
    };
    let mut target = Target {
        subscription: parts.get(1)?.to_string(),
        verb: rest.last().map_or_else(String::new, ToString::to_string),
        ..Target::default()
    };
    if let ["resourcegroups", _, ..] = rest {
        target.group = given(1);
        target.name = given(5);
        target.instance = given(7);
    }
    let method = method.as_str();
    let action = match (method, rest) {
        ("GET", ["operationresults", _]) => {
            target.name = given(1);
            "monitor".clone_into(&mut target.verb);
            plain_read("resources", "Operations_Get", compute::get_operation)
        }
        (
            "GET",
            [
                "providers",
                "microsoft.compute",
                "locations",
                _,
                "operations",
                _,
            ],
        ) => {
            target.name = given(5);
            operation()
        }
        (
            "GET",
            [
                "providers",
                "microsoft.compute",
                "locations",
                _,
                "communitygalleries" | "sharedgalleries",
                _,
                "images",
                _,
                ..,
            ],
        ) => {
            let id: Vec<String> = (4..rest.len()).map(given).collect();
            target.name = format!("/{}", id.join("/"));
            plain_read("gallery", "GalleryImages_Get", compute::get_image)
        }
        (
            "GET",
            [
                "resourcegroups",
                _,
                "providers",
                "microsoft.compute",
                kind @ ("galleries" | "images"),
                _,
                ..,
            ],
        ) => {
            path.trim_end_matches('/').clone_into(&mut target.name);
            let service = if *kind == "galleries" {
                "gallery"
            } else {
                "compute"
            };
            plain_read(service, "Images_Get", compute::get_image)
        }
        (
            "GET",
            [
                "resourcegroups",
                _,
                "providers",
                "microsoft.authorization",
                "permissions",
            ],
        ) => plain_read(
            "authorization",
            "Permissions_ListForResourceGroup",
            resources::permissions,
        ),
        (
            "GET",
            [
                "resourcegroups",
                _,
                "providers",
                "microsoft.network",
                "virtualnetworks",
                _,
                "usages",
            ],
        ) => plain_read("network", "VirtualNetworks_ListUsage", network::usages),
        ("GET", ["providers", "microsoft.compute", "locations", _, "usages"]) => {
            target.name = given(3);
            read("Usage_List", Policy::List, compute::usages)
        }
        (_, ["resourcegroups", _, "providers", provider, kind, rest @ ..]) => {
            match (*provider, *kind) {
                ("microsoft.insights", "autoscalesettings") => of_settings(method, rest)?,
                ("microsoft.compute", "virtualmachinescalesets") => of_sets(method, rest)?,
                _ => return None,
            }
        }
        (_, rest) => of_subscription(method, rest)?,
    };
    Some((action, target))
}

fn operation() -> Action {
    read(
        "Operations_Get",
        Policy::GetOperation,
        compute::get_operation,
    )
}

/// Actions on groups and on whole subscriptions.
fn of_subscription(method: &str, rest: &[&str]) -> Option<Action> {
    let action = match (method, rest) {
        ("GET", ["resources"]) => {
            plain_read("resources", "Resources_List", resources::list_resources)
        }
        ("GET", ["resourcegroups", _]) => {
            plain_read("resources", "ResourceGroups_Get", resources::get_group)
        }
        ("PUT", ["resourcegroups", _]) => plain_write(
            "resources",
            "ResourceGroups_CreateOrUpdate",
            resources::put_group,
        ),
        ("DELETE", ["resourcegroups", _]) => plain_write(
            "resources",
            "ResourceGroups_Delete",
            resources::delete_group,
        )
        .deleting(),
        ("GET", ["providers", "microsoft.compute", "virtualmachinescalesets"]) => read(
            "VirtualMachineScaleSets_ListAll",
            Policy::List,
            compute::list_sets,
        ),
        ("GET", ["providers", "microsoft.insights", "autoscalesettings"]) => plain_read(
            "insights",
            "AutoscaleSettings_ListBySubscription",
            insights::list_settings,
        ),
        _ => return None,
    };
    Some(action)
}

/// Actions on scale sets; `rest` follows `virtualMachineScaleSets`.
fn of_sets(method: &str, rest: &[&str]) -> Option<Action> {
    let action = match (method, rest) {
        ("GET", []) => read(
            "VirtualMachineScaleSets_List",
            Policy::List,
            compute::list_sets_of_group,
        ),
        ("PUT", [_]) => write(
            "VirtualMachineScaleSets_CreateOrUpdate",
            Policy::PutSet,
            compute::put_set,
        ),
        ("PATCH", [_]) => write(
            "VirtualMachineScaleSets_Update",
            Policy::PatchSet,
            compute::patch_set,
        ),
        ("GET", [_]) => read(
            "VirtualMachineScaleSets_Get",
            Policy::GetSet,
            compute::get_set,
        ),
        ("DELETE", [_]) => write(
            "VirtualMachineScaleSets_Delete",
            Policy::DeleteSet,
            compute::delete_set,
        )
        .deleting(),
        ("GET", [_, "instanceview"]) => read(
            "VirtualMachineScaleSets_GetInstanceView",
            Policy::InstanceView,
            compute::set_view,
        ),
        ("GET", [_, "networkinterfaces"]) => plain_read(
            "network",
            "NetworkInterfaces_ListVirtualMachineScaleSetNetworkInterfaces",
            network::list_of_set,
        ),
        ("POST", [_, verb]) => set_verb(verb)?,
        (_, [_, "virtualmachines", rest @ ..]) => of_instances(method, rest)?,
        _ => return None,
    };
    Some(action)
}

fn set_verb(verb: &str) -> Option<Action> {
    let name = match verb {
        "delete" => "VirtualMachineScaleSets_DeleteInstances",
        "manualupgrade" => "VirtualMachineScaleSets_UpdateInstances",
        "reimage" => "VirtualMachineScaleSets_Reimage",
        "restart" => "VirtualMachineScaleSets_Restart",
        "start" => "VirtualMachineScaleSets_Start",
        "poweroff" => "VirtualMachineScaleSets_PowerOff",
        "deallocate" => "VirtualMachineScaleSets_Deallocate",
        _ => return None,
    };
    let action = write(name, Policy::ChangeInstance, compute::set_action);
    Some(if verb == "delete" {
        action.deleting()
    } else {
        action
    })
}

/// Actions on instances; `rest` follows `virtualMachines`.
fn of_instances(method: &str, rest: &[&str]) -> Option<Action> {
    let action = match (method, rest) {
        ("GET", []) => read(
            "VirtualMachineScaleSetVMs_List",
            Policy::List,
            compute::list_instances,
        ),
        ("GET", [_]) => read(
            "VirtualMachineScaleSetVMs_Get",
            Policy::GetInstance,
            compute::get_instance,
        ),
        ("DELETE", [_]) => write(
            "VirtualMachineScaleSetVMs_Delete",
            Policy::ChangeInstance,
            compute::delete_instance,
        )
        .deleting(),
        ("GET", [_, "instanceview"]) => read(
            "VirtualMachineScaleSetVMs_GetInstanceView",
            Policy::InstanceView,
            compute::instance_view,
        ),
        ("GET", [_, "networkinterfaces"]) => plain_read(
            "network",
            "NetworkInterfaces_ListVirtualMachineScaleSetVMNetworkInterfaces",
            network::list_of_instance,
        ),
        ("POST", [_, "simulateeviction"]) => write(
            "VirtualMachineScaleSetVMs_SimulateEviction",
            Policy::ChangeInstance,
            compute::evict,
        ),
        ("POST", [_, verb]) => {
            let name = match *verb {
                "reimage" => "VirtualMachineScaleSetVMs_Reimage",
                "restart" => "VirtualMachineScaleSetVMs_Restart",
                "start" => "VirtualMachineScaleSetVMs_Start",
                "poweroff" => "VirtualMachineScaleSetVMs_PowerOff",
                "deallocate" => "VirtualMachineScaleSetVMs_Deallocate",
                _ => return None,
            };
            write(name, Policy::ChangeInstance, compute::vm_action)
        }
        _ => return None,
    };
    Some(action)
}

/// Actions on autoscale settings; `rest` follows `autoscalesettings`.
fn of_settings(method: &str, rest: &[&str]) -> Option<Action> {
    let reads = |name, handler| plain_read("insights", name, handler);
    let writes = |name, handler| plain_write("insights", name, handler);
    let action = match (method, rest) {
        ("GET", []) => reads(
            "AutoscaleSettings_ListByResourceGroup",
            insights::list_settings_of_group as Read,
        ),
        ("GET", [_]) => reads("AutoscaleSettings_Get", insights::get_setting),
        ("PUT", [_]) => writes(
            "AutoscaleSettings_CreateOrUpdate",
            insights::put_setting as Write,
        ),
        ("PATCH", [_]) => writes("AutoscaleSettings_Update", insights::patch_setting),
        ("DELETE", [_]) => writes("AutoscaleSettings_Delete", insights::delete_setting).deleting(),
        _ => return None,
    };
    Some(action)
}

fn read(name: &'static str, policy: Policy, handler: Read) -> Action {
    Action {
        policy: Some(policy),
        ..plain_read("compute", name, handler)
    }
}

fn write(name: &'static str, policy: Policy, handler: Write) -> Action {
    Action {
        policy: Some(policy),
        ..plain_write("compute", name, handler)
    }
}

/// A read outside Compute's policies.
fn plain_read(service: &'static str, name: &'static str, handler: Read) -> Action {
    Action {
        service,
        name,
        handler: Handler::Read(handler),
        policy: None,
        deletes: false,
    }
}

/// A write outside Compute's policies.
fn plain_write(service: &'static str, name: &'static str, handler: Write) -> Action {
    Action {
        service,
        name,
        handler: Handler::Write(handler),
        policy: None,
        deletes: false,
    }
}

/// A query string by name; names are compared without case.
pub(crate) fn query(text: &str) -> BTreeMap<String, String> {
    form_urlencoded::parse(text.as_bytes())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.into_owned()))
        .collect()
}
