//! The roles as YAML, with the reason of each rule above it.

use std::fmt::Write as _;

use super::{Duties, Reach, Rule};

/// Name of the manager's ServiceAccount and of its roles.
pub const SERVICE_ACCOUNT: &str = "remuda-manager";
/// Name of the role that gathers the rights on kinds of other providers.
const PROVIDERS: &str = "remuda-manager-providers";
/// Name of the role that gives upstream's core its rights on Remuda's kinds.
const FOR_CORE: &str = "remuda-kinds";
/// The label by which providers tell the core's manager what it may do with their kinds.
const AGGREGATE: &str = "cluster.x-k8s.io/aggregate-to-manager";

/// For whom the roles are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roles<'a> {
    /// Namespace of the manager.
    pub namespace: &'a str,
    /// The one namespace that it watches; `None`: all.
    pub watched: Option<&'a str>,
    /// What it does.
    pub duties: Duties,
    /// Upstream's core may run here and gets its rights on Remuda's kinds.
    pub beside_core: bool,
}

impl Roles<'_> {
    /// ServiceAccount, roles and bindings, as a stream of YAML documents.
    pub fn yaml(&self) -> String {
        let mut documents = vec![self.service_account()];
        documents.extend(self.role("ClusterRole", None, &self.held_everywhere()));
        if let Some(watched) = self.watched {
            documents.extend(self.role("Role", Some(watched), &[Reach::Watched]));
        }
        documents.extend(self.role("Role", Some(self.namespace), &[Reach::Own]));
        if self.duties.core {
            documents.push(providers());
            documents.push(self.binding("ClusterRole", PROVIDERS, self.watched));
        }
        if self.beside_core {
            documents.push(for_core());
        }
        documents.join("---\n")
    }

    fn held_everywhere(&self) -> Vec<Reach> {
        let mut reaches = vec![Reach::Cluster];
        reaches.extend(self.watched.is_none().then_some(Reach::Watched));
        reaches
    }

    fn service_account(&self) -> String {
        format!(
            "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {SERVICE_ACCOUNT}\n  \
             namespace: {}\n",
            self.namespace
        )
    }

    /// A role and its binding.
    fn role(&self, kind: &str, namespace: Option<&str>, reaches: &[Reach]) -> [String; 2] {
        let name = match (namespace, reaches) {
            // Both are in one namespace where the manager watches its own.
            (Some(_), [Reach::Own]) => "remuda-manager-own",
            _ => SERVICE_ACCOUNT,
        };
        let mut role = header(kind, name, namespace);
        role.push_str("rules:\n");
        let rules = self.duties.rules();
        for rule in rules.filter(|rule| reaches.contains(&rule.reach)) {
            role.push_str(&written(rule));
        }
        [role, self.binding(kind, name, namespace)]
    }

    fn binding(&self, kind: &str, role: &str, namespace: Option<&str>) -> String {
        let binding = match namespace {
            Some(_) => "RoleBinding",
            None => "ClusterRoleBinding",
        };
        let mut text = header(binding, role, namespace);
        let _ = write!(
            text,
            "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: {role}\n\
             subjects:\n  - kind: ServiceAccount\n    name: {SERVICE_ACCOUNT}\n    namespace: {}\n",
            self.namespace
        );
        text
    }
}

fn header(kind: &str, name: &str, namespace: Option<&str>) -> String {
    let mut text = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n  name: {name}\n"
    );
    if let Some(namespace) = namespace {
        let _ = writeln!(text, "  namespace: {namespace}");
    }
    text
}

fn written(rule: &Rule) -> String {
    let group = if rule.group.is_empty() {
        "\"\""
    } else {
        rule.group
    };
    let mut text = format!(
        "  # {}\n  - apiGroups: [{group}]\n    resources: [{}]\n",
        rule.because, rule.resource
    );
    if !rule.names.is_empty() {
        let _ = writeln!(text, "    resourceNames: [{}]", rule.names.join(", "));
    }
    let _ = writeln!(text, "    verbs: [{}]", rule.verbs.join(", "));
    text
}

/// What other providers give the core's manager: bootstrap and infrastructure kinds by reference.
fn providers() -> String {
    format!(
        "# Kinds of other providers that objects refer to: each brings its rules in a ClusterRole\n\
         # with this label. The control plane writes the rules here.\n{}aggregationRule:\n  clusterRoleSelectors:\n    - matchLabels:\n        \
         {AGGREGATE}: \"true\"\n",
        header("ClusterRole", PROVIDERS, None)
    )
}

/// What upstream's core may do with Remuda's kinds.
fn for_core() -> String {
    const KINDS: [&str; 7] = [
        "terraformmachinepools",
        "terraformmachinepools/status",
        "terraformmachinepoolmachines",
        "terraformmachinepoolmachines/status",
        "terraformmachinepooltemplates",
        "terraformclusters",
        "terraformclusters/status",
    ];
    let kinds = KINDS.iter().fold(String::new(), |text, kind| {
        format!("{text}      - {kind}\n")
    });
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  \
         name: {FOR_CORE}\n  labels:\n    {AGGREGATE}: \"true\"\nrules:\n  \
         # where upstream's core runs: it reads, owns and deletes what its objects refer to\n  \
         - apiGroups: [infrastructure.cluster.x-k8s.io]\n    resources:\n{kinds}    \
         verbs: [get, list, watch, create, update, patch, delete]\n"
    )
}
