"""Cases of built-in kinds, played against kube-apiserver 1.20.2 by record.py."""


def container(name, **more):
    return {"name": name, "image": "x", **more}


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"labels": {"a": "1", "b": "2"}, "annotations": {"k": "v"}, "finalizers": ["x.example/a", "x.example/b"]},
    "spec": {
        "containers": [
            container("one", env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], ports=[{"containerPort": 80, "name": "http"}, {"containerPort": 80, "protocol": "UDP"}], args=["a", "b"], volumeMounts=[{"name": "v", "mountPath": "/v"}]),
            container("two"),
        ],
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}],
        "tolerations": [{"key": "t", "operator": "Exists"}],
        "nodeSelector": {"a": "b"},
        "imagePullSecrets": [{"name": "s"}],
        "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["h"]}],
    },
}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"labels": {"a": "1", "node-role.kubernetes.io/worker": ""}},
    "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "podCIDRs": ["10.0.0.0/24"], "podCIDR": "10.0.0.0/24"},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "False"}], "addresses": [{"type": "InternalIP", "address": "1.2.3.4"}, {"type": "Hostname", "address": "n"}], "capacity": {"cpu": "1"}},
}
SERVICE_ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {}, "secrets": [{"name": "a"}], "imagePullSecrets": [{"name": "p"}]}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"}]}, "data": {"a": "1", "b": "2"}}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {},
    "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "1"}}, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}, "template": {"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [container("one", resources={"limits": {"cpu": "1"}})]}}},
}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]}}
ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
WEBHOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {},
    "webhooks": [{"name": n, "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/"}, "rules": [{"apiGroups": ["x.example"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["a"]}]} for n in ("a.x.example", "b.x.example")],
}
PDB = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {}, "spec": {"holderIdentity": "x", "leaseDurationSeconds": 15}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {}, "type": "Opaque", "data": {"a": "aGk="}, "stringData": {"b": "x"}}

PATHS = {
    "Pod": "/api/v1/namespaces/default/pods",
    "Node": "/api/v1/nodes",
    "ServiceAccount": "/api/v1/namespaces/default/serviceaccounts",
    "ConfigMap": "/api/v1/namespaces/default/configmaps",
    "Secret": "/api/v1/namespaces/default/secrets",
    "Service": "/api/v1/namespaces/default/services",
    "Event": "/api/v1/namespaces/default/events",
    "Namespace": "/api/v1/namespaces",
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
    "ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "PodDisruptionBudget": "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets",
    "Lease": "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    "CertificateSigningRequest": "/apis/certificates.k8s.io/v1/certificatesigningrequests",
}

# (object, patches applied one after another; a pair is (subresource, patch))
STRATEGIC = [
    (POD, [
        {"metadata": {"labels": {"a": "9", "b": None, "c": "3"}}},
        {"metadata": {"finalizers": ["x.example/c"]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x.example/a"]}},
        {"metadata": {"$setElementOrder/finalizers": ["x.example/c", "x.example/b"]}},
        {"metadata": {"finalizers": ["x.example/d"], "$setElementOrder/finalizers": ["x.example/d", "x.example/b", "x.example/c"]}},
        {"metadata": {"labels": {"$patch": "replace", "z": "1"}}},
        {"metadata": {"annotations": {"$patch": "delete"}}},
        {"metadata": {"annotations": None}},
        {"spec": {"containers": [{"name": "two", "image": "y"}]}},
        {"spec": {"containers": [{"name": "one", "image": "y"}], "$setElementOrder/containers": [{"name": "one"}, {"name": "two"}]}},
        {"spec": {"containers": [{"image": "z"}]}},
        {"spec": {"containers": [{"name": "one", "$patch": "foo"}]}},
        {"metadata": {"$patch": "foo"}},
        {"spec": {"containers": "x"}},
        {"metadata": "x"},
        {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"}]}},
        {"metadata": {"ownerReferences": [{"uid": "u1", "name": "q"}, {"apiVersion": "v1", "kind": "Pod", "name": "r", "uid": "u2"}]}},
        {"metadata": {"ownerReferences": [{"uid": "u1", "$patch": "delete"}]}},
        {"metadata": {"ownerReferences": [{"$patch": "replace"}]}},
    ]),
    (NODE, [
        {"spec": {"taints": [{"key": "z", "effect": "NoSchedule"}]}},
        {"spec": {"unschedulable": True}},
        {"spec": {"unschedulable": None, "taints": None}},
        ("status", {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "x"}]}}),
        ("status", {"status": {"conditions": [{"type": "New", "status": "False"}], "addresses": [{"type": "InternalIP", "address": "5.6.7.8"}], "$setElementOrder/conditions": [{"type": "New"}, {"type": "Ready"}, {"type": "DiskPressure"}]}}),
        ("status", {"status": {"conditions": [{"type": "New", "$patch": "delete"}], "capacity": {"memory": "1Gi", "cpu": None}}}),
    ]),
    (SERVICE_ACCOUNT, [
        {"secrets": [{"name": "b"}]},
        {"imagePullSecrets": [{"name": "q"}]},
        {"secrets": [{"name": "a", "$patch": "delete"}]},
        {"secrets": [{"$patch": "replace"}, {"name": "c"}]},
        {"secrets": [{"name": "d"}], "$setElementOrder/secrets": [{"name": "d"}, {"name": "c"}]},
    ]),
    (CONFIG_MAP, [
        {"data": {"c": "3"}},
        {"data": {"$patch": "replace", "d": "4"}},
        {"data": None},
        {"data": {"x": "1", "y": None}},
        {"$patch": "replace", "apiVersion": "v1", "kind": "ConfigMap", "data": {"n": "1"}},
    ]),
    (DEPLOYMENT, [
        {"spec": {"template": {"spec": {"containers": [{"name": "one", "resources": {"limits": {"memory": "1Gi"}}, "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "one", "env": [{"name": "C", "value": "3"}, {"name": "A", "value": "9"}], "$setElementOrder/env": [{"name": "C"}, {"name": "A"}]}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "one", "env": [{"name": "B", "$patch": "delete"}]}, {"name": "side", "image": "s"}], "$setElementOrder/containers": [{"name": "side"}, {"name": "one"}]}}}},
        {"spec": {"template": {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}}},
        {"spec": {"template": {"spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "c"}}]}}}},
        {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "one", "ports": [{"containerPort": 80}, {"containerPort": 81}]}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "one", "ports": [{"containerPort": 80, "name": "x"}]}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "one", "args": ["x"], "command": ["y"]}], "tolerations": [{"key": "a", "operator": "Exists"}]}}}},
        {"spec": {"template": {"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"$patch": "replace"}, {"name": "only", "image": "o"}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "more", "image": "o"}, {"name": "again", "image": "o"}]}}}},
        {"spec": {"template": {"spec": {"$setElementOrder/containers": [{"name": "again"}, {"name": "only"}, {"name": "more"}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "n1", "image": "o"}], "$setElementOrder/containers": [{"name": "only"}, {"name": "n1"}]}}}},
    ]),
    (SERVICE, [
        {"spec": {"ports": [{"port": 82, "name": "c"}]}},
        {"spec": {"ports": [{"port": 80, "$patch": "delete"}], "selector": {"c": "d"}}},
        {"spec": {"ports": [{"port": 81, "targetPort": 8081}], "$setElementOrder/ports": [{"port": 82}, {"port": 81}]}},
    ]),
    (ROLE, [{"rules": [{"apiGroups": ["x"], "resources": ["y"], "verbs": ["z"]}]}]),
    (WEBHOOK, [
        {"webhooks": [{"name": "a.x.example", "timeoutSeconds": 5}]},
        {"webhooks": [{"name": "b.x.example", "$patch": "delete"}]},
    ]),
    (PDB, [{"spec": {"selector": {"matchLabels": {"c": "d"}}}}, {"spec": {"minAvailable": None, "maxUnavailable": 1}}, {"spec": {"selector": {"$patch": "replace", "matchLabels": {"e": "f"}}}}]),
    (LEASE, [{"spec": {"holderIdentity": "y"}}, {"spec": {"holderIdentity": None}}]),
]

ONE = "one"
# (object, writes); a write is (verb, manager, body, more)
APPLY = [
    ("create owns", POD, [("create", "c", POD)]),
    ("apply pod", POD, [("apply", "a", POD), ("apply", "a", POD), ("strategic", "k", {"metadata": {"labels": {"z": "1"}}}), ("strategic", "k", {"spec": {"containers": [{"name": "one", "image": "y"}]}}), ("apply", "a", POD)]),
    ("apply deployment", DEPLOYMENT, [("apply", "a", DEPLOYMENT), ("merge", "s", {"spec": {"replicas": 3}}), ("apply", "a", DEPLOYMENT), ("apply", "a", DEPLOYMENT, {"force": True}),
                                      ("apply", "b", {"spec": {"template": {"spec": {"containers": [{"name": "one", "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80}]}]}}}}),
                                      ("apply", "b", {"spec": {"template": {"spec": {"containers": [{"name": "one", "ports": [{"containerPort": 80, "protocol": "UDP"}]}]}}}}), ("apply", "b", {})]),
    ("create deployment", DEPLOYMENT, [("create", "c", DEPLOYMENT), ("strategic", "s", {"spec": {"template": {"metadata": {"annotations": {"x": "y"}}}}}), ("merge", "s", {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}})]),
    ("node", NODE, [("create", "kubelet", NODE), ("strategic", "cordon", {"spec": {"unschedulable": True}}), ("strategic", "kubelet", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, {"subresource": "status"}), ("apply", "r", {"metadata": {"labels": {"x": "y"}}, "spec": {"taints": [{"key": "z", "effect": "NoSchedule"}]}}), ("apply", "r", {"metadata": {"labels": {"x": "y"}}, "spec": {"taints": [{"key": "z", "effect": "NoSchedule"}]}}, {"force": True}), ("apply", "r", {"metadata": {}})]),
    ("config map", CONFIG_MAP, [("create", "c", CONFIG_MAP), ("apply", "a", {"data": {"a": "1", "c": "3"}}), ("apply", "a", {"data": {"a": "2"}}), ("apply", "a", {"data": {"b": "3"}}, {"force": True}), ("apply", "a", {}), ("merge", "m", {"data": None})]),
    ("secret", SECRET, [("create", "c", SECRET), ("apply", "a", {"data": {"z": "aGk="}}), ("apply", "a", {"stringData": {"z": "x"}}), ("apply", "a", {"immutable": True})]),
    ("service account", SERVICE_ACCOUNT, [("create", "c", SERVICE_ACCOUNT), ("apply", "a", {"secrets": [{"name": "z"}], "imagePullSecrets": [{"name": "p"}]}), ("apply", "a", {"secrets": [{"name": "a"}]}), ("apply", "a", {})]),
    ("service", SERVICE, [("create", "c", SERVICE), ("apply", "a", {"spec": {"ports": [{"port": 80, "protocol": "TCP", "name": "z"}]}}), ("apply", "a", {"spec": {"ports": [{"port": 90, "name": "n"}], "selector": {"a": "b"}}})]),
    ("role", ROLE, [("create", "c", ROLE), ("apply", "a", ROLE), ("apply", "a", {**ROLE, "rules": []})]),
    ("lease", LEASE, [("create", "c", LEASE), ("merge", "d", {"spec": {"holderIdentity": "y"}}), ("apply", "a", {"spec": {"holderIdentity": "z"}})]),
    ("pdb", PDB, [("create", "c", PDB), ("apply", "a", {"spec": {"minAvailable": 1}}), ("apply", "a", {"spec": {"selector": {"matchLabels": {"a": "b"}}}}), ("apply", "a", {"spec": {"minAvailable": "5%"}})]),
    ("webhooks", WEBHOOK, [("create", "c", WEBHOOK), ("apply", "a", {"webhooks": [{"name": "a.x.example", "timeoutSeconds": 3}]})]),
    ("undeclared", POD, [("create", "c", POD), ("apply", "a", {"spec": {"foo": 1}}), ("apply", "a", {"spec": {"containers": [{"name": "one", "bar": 1}]}}), ("apply", "a", {"spec": {"nodeName": 5}})]),
]

TIMES = {"firstTimestamp": "2020-01-01T00:00:00Z", "lastTimestamp": "2021-01-01T00:00:00Z"}
TABLES = [
    NODE,
    {**NODE, "metadata": {"labels": {"kubernetes.io/role": "x"}}, "spec": {"unschedulable": True}, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}], "nodeInfo": {"kubeletVersion": "v1.33.0", "osImage": "os", "kernelVersion": "k", "containerRuntimeVersion": "c", "machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": "", "operatingSystem": "", "architecture": ""}}},
    {**NODE, "metadata": {}, "spec": {}, "status": {}},
    POD,
    SERVICE_ACCOUNT, CONFIG_MAP, SECRET, SERVICE, DEPLOYMENT, ROLE, WEBHOOK, PDB, LEASE,
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {}},
    {"apiVersion": "v1", "kind": "Event", "metadata": {}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default", "fieldPath": "spec.x"}, "reason": "R", "message": "m\n", "type": "Normal", "source": {"component": "c", "host": "h"}, "count": 3, **TIMES},
    {"apiVersion": "v1", "kind": "Event", "metadata": {}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "R", "message": "m", "type": "Warning", "count": 1, "firstTimestamp": "2020-01-01T00:00:00Z"},
    {"apiVersion": "v1", "kind": "Event", "metadata": {}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "R", "action": "A", "type": "Normal", "eventTime": "2020-01-01T00:00:00.000000Z", "reportingComponent": "rc", "reportingInstance": "ri", "series": {"count": 5, "lastObservedTime": "2020-06-01T00:00:00.000000Z"}},
    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}, {"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}]},
]
