"""What webhooks are asked, and what they answer: requests and scripts for `hooks.py`."""

W = "/apis/hooks.example.com/v1/namespaces/default/widgets"
def widget(name="a", version="v1", **spec):
    return {"apiVersion": f"hooks.example.com/{version}", "kind": "Widget", "metadata": {"name": name}, "spec": spec}
def hook(name, path, **more):
    return {"name": name, "clientConfig": {"url": f"@URL@{path}"}, **more}
def mutating(name, *webhooks):
    return {"phase": "mutating", "name": name, "webhooks": list(webhooks)}
def validating(name, *webhooks):
    return {"phase": "validating", "name": name, "webhooks": list(webhooks)}
def post(body, query="", path=W): return {"method": "POST", "path": path + query, "body": body}
def put(body, name="a", sub="", query=""): return {"method": "PUT", "path": f"{W}/{name}{sub}{query}", "body": body}
def merge(body, name="a", sub="", query=""): return {"method": "PATCH", "path": f"{W}/{name}{sub}{query}", "body": body, "type": "application/merge-patch+json"}
def apply(body, name="a", sub="", query="?fieldManager=me"): return {"method": "PATCH", "path": f"{W}/{name}{sub}{query}", "body": body, "type": "application/apply-patch+yaml"}
def delete(name="a", query="", body=None): return {"method": "DELETE", "path": f"{W}/{name}{query}", "body": body}
SEE_ALL = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["widgets", "widgets/*"]}]
ADMISSION = [
 {"name": "the requests of a mutating and a validating webhook", "whole": True,
  "configurations": [mutating("m", hook("m.example.com", "/m", rules=SEE_ALL)), validating("v", hook("v.example.com", "/v", rules=SEE_ALL))],
  "answers": {"/m": [{"patch": [{"op": "add", "path": "/metadata/labels", "value": {"by": "hook"}}, {"op": "add", "path": "/spec/note", "value": "x"}]}, {}]},
  "steps": [post(widget(size=1, replicas=1), "?fieldManager=me"), merge({"spec": {"size": 3}}), merge({"status": {"phase": "y"}, "spec": {"size": 9}}, sub="/status"), merge({"spec": {"replicas": 4}}, sub="/scale"),
    apply(widget(colour="blue"), query="?fieldManager=me&force=true"), apply(widget("b", colour="blue"), name="b"),
    delete("b", "?dryRun=All"), delete("b"), {"method": "DELETE", "path": W}]},
]
TEAM = [{"method": "PATCH", "path": "/api/v1/namespaces/default", "body": {"metadata": {"labels": {"team": "a"}}}, "type": "application/merge-patch+json"}]
def one(name, answer, steps=None, phase=mutating, before=None, **more):
    return {"before": before or [], "name": name, "configurations": [phase("c", hook("h.example.com", "/h", **more))],
            "answers": {"/h": answer if isinstance(answer, list) else [answer]},
            "steps": steps or [post(widget(size=1))]}
def denied(**result): return {"response": {"allowed": False, "status": result}}
PATCH = [{"op": "add", "path": "/spec/note", "value": "x"}]
ADMISSION += [
 one("denied with a message", denied(message="no", code=403, reason="Forbidden")),
 one("denied with a reason", denied(reason="NoWay")),
 one("denied without explanation", {"response": {"allowed": False}}),
 one("denied with code 200", denied(message="odd", code=200, status="Success")),
 one("denied with details", denied(message="taken", code=409, reason="AlreadyExists", details={"name": "a", "kind": "widgets", "retryAfterSeconds": 3, "causes": [{"reason": "X", "message": "m", "field": "spec"}]})),
 one("denied by a validating webhook", denied(message="no", code=422, reason="Invalid"), phase=validating),
 one("warnings of an admitted object", {"response": {"warnings": ["be careful", "really"]}}),
 one("warnings of a denied object", {"response": {"allowed": False, "warnings": ["told you"]}}, phase=validating),
 one("a wrong uid", {"response": {"uid": "other"}}),
 one("an empty uid", {"response": {"uid": ""}}),
 one("a wrong version of the review", {"review": {"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "response": {"uid": "@UID@", "allowed": True}}}),
 one("a wrong kind of the review", {"review": {"apiVersion": "admission.k8s.io/v1", "kind": "Review", "response": {"uid": "@UID@", "allowed": True}}}),
 one("another group", {"review": {"apiVersion": "example.com/v1", "kind": "AdmissionReview", "response": {"uid": "@UID@", "allowed": True}}}),
 one("no type", {"review": {"response": {"uid": "@UID@", "allowed": True}}}),
 one("no kind", {"review": {"apiVersion": "admission.k8s.io/v1", "response": {"uid": "@UID@", "allowed": True}}}),
 one("no response", {"review": {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}}),
 one("not JSON", {"text": "hello"}),
 one("an empty answer", {"text": ""}),
 one("JSON of another shape", {"text": "[1]"}),
 one("allowed of another type", {"review": {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": "@UID@", "allowed": "yes"}}}),
 one("status 500 with text", {"status": 500, "text": "boom", "type": "text/plain"}),
 one("status 500 with a Status", {"status": 500, "text": '{"kind":"Status","apiVersion":"v1","status":"Failure","message":"down","reason":"InternalError","code":500}'}),
 one("status 404", {"status": 404, "text": "404 page not found\n", "type": "text/plain"}),
 one("status 403", {"status": 403, "text": "no", "type": "text/plain"}),
 one("status 302", {"status": 302, "text": "", "type": "text/plain"}),
 one("status 400", {"status": 400, "text": "bad", "type": "text/plain"}),
 one("status 401", {"status": 401, "text": "", "type": "text/plain"}),
 one("status 503", {"status": 503, "text": "later", "type": "text/plain"}),
 one("status 418 empty", {"status": 418, "text": "", "type": "text/plain"}),
 one("status 201 with a review", {"status": 201}),
 one("a failure that is ignored", {"status": 500, "text": "boom"}, failurePolicy="Ignore"),
 one("a denial where failures are ignored", denied(message="no"), failurePolicy="Ignore"),
 one("a patch without its type", {"response": {"patch": "W10="}}),
 one("a patch type without a patch", {"response": {"patchType": "JSONPatch"}}),
 one("an unknown patch type", {"response": {"patch": "W3t9XQ==", "patchType": "Merge"}}),
 one("an empty patch", {"patch": []}),
 one("a patch that is no patch", {"response": {"patch": "e30=", "patchType": "JSONPatch"}}),
 one("a patch that is no base64", {"response": {"patch": "***", "patchType": "JSONPatch"}}),
 one("a patch of a missing field", {"patch": [{"op": "replace", "path": "/spec/nothing", "value": 1}]}),
 one("a patch that removes a missing field", {"patch": [{"op": "remove", "path": "/spec/nothing"}]}),
 one("a patch whose test fails", {"patch": [{"op": "test", "path": "/spec/size", "value": 7}]}),
 one("a patch with an unknown operation", {"patch": [{"op": "frob", "path": "/spec/size"}]}),
 one("a patch that adds below a missing field", {"patch": [{"op": "add", "path": "/metadata/labels/a", "value": "b"}]}),
 one("a patch that the schema refuses", {"patch": [{"op": "replace", "path": "/spec/size", "value": 1000}]}),
 one("a patch of the wrong type", {"patch": [{"op": "replace", "path": "/spec/size", "value": "big"}]}),
 one("a patch with an unknown field", {"patch": [{"op": "add", "path": "/spec/frob", "value": 1}]}, [post(widget(size=1), "?fieldValidation=Strict")]),
 one("a patch that removes a defaulted field", {"patch": [{"op": "remove", "path": "/spec/colour"}]}),
 one("a patch of the name", {"patch": [{"op": "replace", "path": "/metadata/name", "value": "z"}]}),
 one("a patch of the namespace", {"patch": [{"op": "replace", "path": "/metadata/namespace", "value": "kube-system"}]}),
 one("a patch of the kind", {"patch": [{"op": "replace", "path": "/kind", "value": "Other"}]}),
 one("a patch of the version", {"patch": [{"op": "replace", "path": "/apiVersion", "value": "hooks.example.com/v2"}]}),
 one("a patch that removes the kind", {"patch": [{"op": "remove", "path": "/kind"}]}),
 one("a patch of the uid", {"patch": [{"op": "add", "path": "/metadata/uid", "value": "mine"}]}),
 one("a patch of the status", {"patch": [{"op": "add", "path": "/status", "value": {"phase": "p"}}]}),
 one("a patch of the generation", {"patch": [{"op": "add", "path": "/metadata/generation", "value": 7}]}),
 one("a patch of a bad label", {"patch": [{"op": "add", "path": "/metadata/labels", "value": {"a b": "c"}}]}),
 one("a patch that drops managed fields", {"patch": [{"op": "remove", "path": "/metadata/managedFields"}]}),
 one("a patch that spoils managed fields", {"patch": [{"op": "replace", "path": "/metadata/managedFields/0/operation", "value": "Frob"}]}),
 one("a patch that adds a finalizer", {"patch": [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/f"]}]},
     [post(widget(size=1)), delete(), merge({"metadata": {"finalizers": None}})]),
 one("a patch of a delete", {"patch": PATCH}, [post(widget(size=1)), delete()], rules=[{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["DELETE"], "resources": ["widgets"]}]),
 one("a validating webhook that patches", {"patch": PATCH}, phase=validating),
 one("a validating webhook with a patch type", {"response": {"patchType": "JSONPatch"}}, phase=validating),
 one("a validating failure that is ignored", {"patch": PATCH}, phase=validating, failurePolicy="Ignore"),
 one("a dry run with side effects", {}, [post(widget(size=1), "?dryRun=All")], sideEffects="NoneOnDryRun"),
 one("old review versions", {"patch": PATCH}, admissionReviewVersions=["v1beta1", "v1"]),
 one("an unknown first review version", {"patch": PATCH}, admissionReviewVersions=["v7", "v1"]),
 one("a time limit", {"hang": True}, timeoutSeconds=1),
 one("a time limit that is ignored", {"hang": True}, timeoutSeconds=1, failurePolicy="Ignore"),
 one("another timeout", {}, timeoutSeconds=7),
 one("an address with a path and no script", {}, clientConfig={"url": "@URL@/h"}),
 one("nobody listens", {}, clientConfig={"url": "https://127.0.0.1:1/x"}),
 one("no such service", {}, clientConfig={"service": {"namespace": "default", "name": "nowhere", "path": "/x"}}),
 one("no such service with a port", {}, clientConfig={"service": {"namespace": "default", "name": "nowhere", "port": 8443}}),
 one("a certificate of nobody", {}, clientConfig={"url": "@URL@/h", "caBundle": ""}),
 one("a missing object is deleted", {}, [delete("nobody")], rules=SEE_ALL),
 one("a generated name", {}, [{"method": "POST", "path": W, "body": {"apiVersion": "hooks.example.com/v1", "kind": "Widget", "metadata": {"generateName": "g-"}, "spec": {"size": 1}}}], rules=SEE_ALL),
 one("an invalid object", {}, [post(widget(size=1000))], rules=SEE_ALL),
 one("an invalid object before a validating webhook", {}, [post(widget(size=1000))], rules=SEE_ALL, phase=validating),
 one("an object that exists", {}, [post(widget(size=1)), post(widget(size=1))], rules=SEE_ALL),
 one("an update that changes nothing", {}, [post(widget(size=1)), merge({"spec": {"size": 1}})], rules=SEE_ALL),
 one("a delete with options", {}, [post(widget(size=1)), delete(body={"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground", "gracePeriodSeconds": 5}), delete(), merge({"metadata": {"finalizers": None}})], rules=SEE_ALL),
 one("options of a create", {}, [post(widget(size=1), "?fieldManager=me&fieldValidation=Strict&dryRun=All")], rules=SEE_ALL),
 one("options of a patch", {}, [post(widget(size=1)), merge({"spec": {"size": 2}}, query="?fieldManager=me&fieldValidation=Strict&dryRun=All"), apply(widget(size=2), query="?fieldManager=me&force=true")], rules=SEE_ALL),
]
V2 = [{"apiGroups": ["hooks.example.com"], "apiVersions": ["v2"], "operations": ["*"], "resources": ["widgets"]}]
def rule(**more): return [{"apiGroups": ["hooks.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"], **more}]
ADMISSION += [
 one("another version, exact", {}, rules=V2, matchPolicy="Exact"),
 one("another version, equivalent", {"patch": PATCH}, rules=V2, matchPolicy="Equivalent"),
 one("another version, equivalent, subresources", {}, [post(widget(size=1)), merge({"status": {"phase": "x"}}, sub="/status"), merge({"spec": {"replicas": 2}}, sub="/scale")], rules=[{**V2[0], "resources": ["widgets/*"]}]),
 one("a rule of no resource", {}, rules=rule(resources=["gadgets"])),
 one("a rule of subresources only", {}, rules=rule(resources=["widgets/*"])),
 one("a rule of all resources", {}, rules=rule(resources=["*"])),
 one("a rule of everything", {}, rules=rule(resources=["*/*"])),
 one("a rule of every status", {}, [post(widget(size=1)), merge({"status": {"phase": "x"}}, sub="/status"), merge({"spec": {"size": 2}})], rules=rule(resources=["*/status"], operations=["*"])),
 one("a rule of other operations", {}, rules=rule(operations=["UPDATE"])),
 one("a rule of the cluster scope", {}, rules=rule(scope="Cluster")),
 one("a rule of the namespaced scope", {}, rules=rule(scope="Namespaced")),
 one("a selector of namespaces that selects", {}, namespaceSelector={"matchLabels": {"team": "a"}}, before=TEAM),
 one("a selector of namespaces that does not", {}, namespaceSelector={"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}, before=TEAM),
 one("a namespace that is not there", {}, [post(widget(size=1), path=W.replace("default", "nowhere"))], namespaceSelector={"matchLabels": {"a": "b"}}),
 one("a selector of objects", {}, [post({**widget(size=1), "metadata": {"name": "a", "labels": {"x": "y"}}}), post(widget("b")), merge({"metadata": {"labels": {"x": None}}}), merge({"spec": {"size": 5}}), delete("b")], objectSelector={"matchLabels": {"x": "y"}}),
 {"name": "order and reinvocation", "configurations": [
    mutating("b", hook("b1.example.com", "/b1"), hook("b2.example.com", "/b2", reinvocationPolicy="IfNeeded")),
    mutating("a", hook("a1.example.com", "/a1", reinvocationPolicy="IfNeeded"), hook("a2.example.com", "/a2"))],
  "answers": {"/b1": [{"patch": PATCH}], "/a1": [{}, {"patch": [{"op": "add", "path": "/spec/size", "value": 9}]}]},
  "steps": [post(widget(size=1))]},
 {"name": "no reinvocation without a change", "configurations": [
    mutating("a", hook("a1.example.com", "/a1", reinvocationPolicy="IfNeeded"), hook("a2.example.com", "/a2", reinvocationPolicy="IfNeeded"))],
  "answers": {"/a2": [{"patch": [{"op": "replace", "path": "/spec/size", "value": 1}]}]},
  "steps": [post(widget(size=1))]},
 {"name": "a change by the last webhook only reaches those before", "configurations": [
    mutating("a", hook("a1.example.com", "/a1", reinvocationPolicy="IfNeeded"), hook("a2.example.com", "/a2", reinvocationPolicy="IfNeeded"), hook("a3.example.com", "/a3", reinvocationPolicy="IfNeeded"))],
  "answers": {"/a2": [{"patch": PATCH}]},
  "steps": [post(widget(size=1))]},
 {"name": "the first denial ends the mutation", "configurations": [
    mutating("a", hook("a1.example.com", "/a1")), mutating("b", hook("b1.example.com", "/b1")), validating("c", hook("c1.example.com", "/c1"))],
  "answers": {"/a1": [denied(message="no")]},
  "steps": [post(widget(size=1))]},
 {"name": "a denial in the second round", "configurations": [
    mutating("a", hook("a1.example.com", "/a1", reinvocationPolicy="IfNeeded")), mutating("b", hook("b1.example.com", "/b1"))],
  "answers": {"/b1": [{"patch": PATCH}], "/a1": [{}, denied(message="changed")]},
  "steps": [post(widget(size=1))]},
 {"name": "equal names in two configurations", "configurations": [
    mutating("a", hook("same.example.com", "/a1", reinvocationPolicy="IfNeeded")), mutating("b", hook("same.example.com", "/b1", reinvocationPolicy="IfNeeded"))],
  "answers": {"/b1": [{"patch": PATCH}]},
  "steps": [post(widget(size=1))]},
]
C1 = "/apis/conv.example.com/v1/namespaces/default/widgets"
C2 = "/apis/conv.example.com/v2/namespaces/default/widgets"
def cw(name, version, **spec):
    return {"apiVersion": f"conv.example.com/{version}", "kind": "Widget", "metadata": {"name": name}, "spec": spec}
GET = lambda path: {"method": "GET", "path": path}
def conv(name, answers, steps, **more): return {"name": name, "answers": {"/c": answers if isinstance(answers, list) else [answers]}, "steps": steps, **more}
def meta(*path, **value): return {"edit": [{"path": ["metadata", *path], **value}]}
READ = [GET(C2 + "/a")]
CONVERSION = [
 conv("every verb at either version", {}, [
    {"method": "POST", "path": C1, "body": cw("b", "v1", size=1)}, {"method": "POST", "path": C2, "body": cw("c", "v2", dimension=2)},
    GET(C2 + "/b"), GET(C1 + "/c"), GET(C2), GET(C1), GET(C2 + "?limit=1"), GET(C2 + "/b/status"), GET(C2 + "/b/scale"),
    {"method": "PUT", "path": C2 + "/b/status", "body": {**cw("b", "v2"), "status": {"phase": "x"}}},
    {"method": "PATCH", "path": C2 + "/b", "body": {"spec": {"dimension": 5}}, "type": "application/merge-patch+json"},
    {"method": "PATCH", "path": C2 + "/b", "body": {"spec": {"dimension": 5}}, "type": "application/merge-patch+json"},
    {"method": "PATCH", "path": C2 + "/b?fieldManager=me", "body": cw("b", "v2", dimension=5, note="n"), "type": "application/apply-patch+yaml"},
    {"method": "PATCH", "path": C2 + "/b/scale", "body": {"spec": {"replicas": 3}}, "type": "application/merge-patch+json"},
    {"method": "POST", "path": C2 + "?dryRun=All", "body": cw("d", "v2", dimension=2)},
    {"method": "POST", "path": C2, "body": cw("d", "v2", dimension=2000)},
    {"method": "POST", "path": C2, "body": cw("b", "v2", dimension=2)},
    {"method": "DELETE", "path": C2 + "/b"}, {"method": "DELETE", "path": C2}]),
 conv("an unchanged object", {}, READ),
 conv("a changed name", meta("name", value="z"), READ),
 conv("a changed namespace", meta("namespace", value="z"), READ),
 conv("a changed uid", meta("uid", value="z"), READ),
 conv("a changed kind", {"edit": [{"path": ["kind"], "value": "Other"}]}, READ),
 conv("a changed version", {"edit": [{"path": ["apiVersion"], "value": "conv.example.com/v1"}]}, READ),
 conv("no version", {"edit": [{"path": ["apiVersion"]}]}, READ),
 conv("no kind", {"edit": [{"path": ["kind"]}]}, READ),
 conv("no metadata", {"edit": [{"path": ["metadata"]}]}, READ),
 conv("metadata of another type", {"edit": [{"path": ["metadata"], "value": "x"}]}, READ),
 conv("changed system fields", {"edit": [{"path": ["metadata", "resourceVersion"], "value": "1"}, {"path": ["metadata", "generation"], "value": 99}, {"path": ["metadata", "finalizers"], "value": ["x/y"]}]}, READ),
 conv("labels and annotations", {"edit": [{"path": ["metadata", "labels"], "value": {"a": "b"}}, {"path": ["metadata", "annotations"], "value": {"c": "d"}}]}, READ),
 conv("labels of another type", meta("labels", value="x"), READ),
 conv("a label of another type", meta("labels", value={"a": 1}), READ),
 conv("a bad label", meta("labels", value={"a b": "c"}), READ),
 conv("a bad annotation", meta("annotations", value={"a b": "c"}), READ),
 conv("unknown fields", {"edit": [{"path": ["spec", "frob"], "value": 1}]}, READ),
 conv("a value that the schema refuses", {"edit": [{"path": ["spec", "dimension"], "value": "big"}]}, READ),
 conv("too few objects", {"drop": True}, READ + [GET(C2)]),
 conv("too many objects", {"twice": True}, READ + [GET(C2)]),
 conv("another order", {"reverse": True}, [GET(C2)]),
 conv("a failure", {"response": {"result": {"status": "Failure", "message": "cannot"}}}, READ + [GET(C2), {"method": "POST", "path": C2, "body": cw("e", "v2", dimension=2)}, {"method": "DELETE", "path": C2 + "/a"}]),
 conv("a failure without a message", {"response": {"result": {"status": "Failure"}}}, READ),
 conv("no result", {"response": {"result": None}}, READ),
 conv("a wrong uid", {"response": {"uid": "other"}}, READ),
 conv("no response", {"review": {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}}, READ),
 conv("another kind of review", {"review": {"apiVersion": "apiextensions.k8s.io/v1", "kind": "Review"}}, READ),
 conv("another version of the review", {"review": {"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "ConversionReview", "response": {}}}, READ),
 conv("status 500", {"status": 500, "text": "boom", "type": "text/plain"}, READ + [GET(C2)]),
 conv("not JSON", {"text": "hello"}, READ),
 conv("objects that are none", {"response": {"convertedObjects": [1]}}, READ),
]


# ---- configurations: each list of webhooks is sent as a mutating and as a validating configuration
GOOD = {"name": "h.example.com", "clientConfig": {"url": "https://example.com/x"}, "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "rules": [{"apiGroups": ["a"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"]}]}
def webhooks(**more):
    out = {**GOOD, **more}
    return [{k: v for k, v in out.items() if v is not None}]
def with_rule(**more): return webhooks(rules=[{k: v for k, v in {**GOOD["rules"][0], **more}.items() if v is not None}])
def at_url(text): return webhooks(clientConfig={"url": text})
def at_service(**more): return webhooks(clientConfig={"service": {k: v for k, v in {"namespace": "ns", "name": "svc", **more}.items() if v is not None}})
CONFIGURATIONS = [webhooks(), None, [], webhooks(name=None), webhooks(name="short"), webhooks(name="a.b"), webhooks(name="A.b.c"), [GOOD, GOOD],
 webhooks(sideEffects=None), webhooks(sideEffects="Some"), webhooks(sideEffects="Unknown"), webhooks(sideEffects="NoneOnDryRun"),
 webhooks(admissionReviewVersions=None), webhooks(admissionReviewVersions=[]), webhooks(admissionReviewVersions=["v7"]), webhooks(admissionReviewVersions=["v1", "v1"]), webhooks(admissionReviewVersions=["V1"]), webhooks(admissionReviewVersions=["", "v1"]),
 webhooks(failurePolicy="Maybe"), webhooks(failurePolicy="Ignore", matchPolicy="Exact", timeoutSeconds=5), webhooks(matchPolicy="Fuzzy"), webhooks(timeoutSeconds=0), webhooks(timeoutSeconds=31), webhooks(timeoutSeconds=30), webhooks(timeoutSeconds="x"),
 webhooks(reinvocationPolicy="Often"), webhooks(reinvocationPolicy="IfNeeded"),
 webhooks(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Frob"}]}), webhooks(objectSelector={"matchLabels": {"a b": "c"}}), webhooks(objectSelector={"matchExpressions": [{"key": "a", "operator": "In"}]}),
 webhooks(objectSelector={"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}), webhooks(namespaceSelector={"matchExpressions": [{"key": "", "operator": "Exists"}]}), webhooks(namespaceSelector={"matchLabels": {"a": "c d"}}),
 webhooks(clientConfig=None), webhooks(clientConfig={}), webhooks(clientConfig={"url": "https://a/b", "service": {"namespace": "a", "name": "b"}}), at_url(""), at_url("http://example.com"), at_url("example.com"), at_url("https://"), at_url("https:///x"), at_url("https://u:p@example.com"), at_url("https://example.com?x=y"), at_url("https://example.com#x"), at_url("https://example.com/a b"), at_url("%zz"), at_url("ftp://a"), at_url("https://example.com:port/"), at_url("https://127.0.0.1:8443/a/b"),
 at_service(), at_service(name=None), at_service(namespace=None), at_service(path="x"), at_service(path="/"), at_service(path="/a/b/"), at_service(path="/a//b"), at_service(path="//"), at_service(path="/A_b"), at_service(path=""), at_service(port=0), at_service(port=70000), at_service(port=8443), at_service(name="A"), 
 webhooks(clientConfig={"url": "https://example.com", "caBundle": "bm9wZQ=="}), webhooks(clientConfig={"url": "https://example.com", "caBundle": "***"}),
 with_rule(apiGroups=None), with_rule(apiGroups=[]), with_rule(apiGroups=["*", "a"]), with_rule(apiGroups=["a", "*"]), with_rule(apiVersions=[]), with_rule(apiVersions=["*", "v1"]), with_rule(apiVersions=[""]), with_rule(operations=[]), with_rule(operations=["FROB"]), with_rule(operations=["*", "CREATE"]), with_rule(operations=["CONNECT"]), with_rule(resources=[]), with_rule(resources=[""]), with_rule(resources=["*", "a"]), with_rule(resources=["*/*", "a"]), with_rule(resources=["a/*", "a/b"]), with_rule(resources=["a/*", "a"]), with_rule(resources=["*/b", "a/b"]), with_rule(resources=["*", "a/b"]), with_rule(resources=["*", "*/b"]), with_rule(resources=["a/b/c"]), with_rule(resources=["a", "a"]), with_rule(resources=["/"]), with_rule(resources=["*/*", "*"]), with_rule(scope="Some"), with_rule(scope="Namespaced"), with_rule(scope=None),
 webhooks(rules=None), webhooks(rules=[]),
]
CONFIGURATIONS = [{"webhooks": webhooks} for webhooks in CONFIGURATIONS]


# ---- definitions
SCH={"openAPIV3Schema":{"type":"object"}}
def definition(): return {"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"rims.crd.example.com"},"spec":{"group":"crd.example.com","scope":"Namespaced","names":{"plural":"rims","singular":"rim","kind":"Rim","listKind":"RimList"},"versions":[{"name":"v1","served":True,"storage":True,"schema":SCH},{"name":"v2","served":True,"storage":False,"schema":SCH}]}}
def edited(path, value="@del"):
    b=definition(); at=b
    *w,l=path
    for x in w: at=at[x]
    if value=="@del": at.pop(l,None)
    else: at[l]=value
    return b
def converted(**c): return edited(["spec","conversion"],c)
URL={"url":"https://example.com/x"}
DEFINITIONS = [definition(), converted(strategy="None"), converted(strategy="Some"), converted(), converted(strategy="Webhook"), converted(strategy="Webhook",webhook={}), converted(strategy="Webhook",webhook={"conversionReviewVersions":["v1"]}),
 converted(strategy="Webhook",webhook={"clientConfig":{},"conversionReviewVersions":["v1"]}), converted(strategy="Webhook",webhook={"clientConfig":URL}), converted(strategy="Webhook",webhook={"clientConfig":URL,"conversionReviewVersions":[]}),
 converted(strategy="Webhook",webhook={"clientConfig":URL,"conversionReviewVersions":["v7"]}), converted(strategy="Webhook",webhook={"clientConfig":URL,"conversionReviewVersions":["v1","v1"]}), converted(strategy="Webhook",webhook={"clientConfig":URL,"conversionReviewVersions":["V1","v1"]}), converted(strategy="Webhook",webhook={"clientConfig":{"url":"http://x"},"conversionReviewVersions":["v1"]}),
 converted(strategy="Webhook",webhook={"clientConfig":{"service":{"name":"a"}},"conversionReviewVersions":["v1"]}), converted(strategy="Webhook",webhook={"clientConfig":{"service":{"name":"a","namespace":"b","path":"x","port":0}},"conversionReviewVersions":["v1"]}), converted(strategy="Webhook",webhook={"clientConfig":{"service":{"name":"a","namespace":"b"}},"conversionReviewVersions":["v1"]}), converted(strategy="Webhook",webhook={"clientConfig":{**URL,"service":{"name":"a","namespace":"b"}},"conversionReviewVersions":["v1"]}),
 converted(strategy="None",webhook={"clientConfig":URL,"conversionReviewVersions":["v1"]}), converted(strategy="None",webhook={"conversionReviewVersions":["v1"]}), converted(strategy="Webhook",webhook={"clientConfig":{**URL,"caBundle":"bm9wZQ=="},"conversionReviewVersions":["v1"]}), {**converted(strategy="Webhook",webhook={"clientConfig":URL,"conversionReviewVersions":["v1"]})},
 edited(["spec","versions"],[]), edited(["spec","versions"]), edited(["spec","versions",1,"name"],"v1"), edited(["spec","versions",1,"name"],"V_2"), edited(["spec","versions",1,"name"],""), edited(["spec","versions",1,"storage"],True), edited(["spec","versions",0,"storage"],False), edited(["spec","versions",0,"served"],False), edited(["spec","versions",1,"deprecationWarning"],"x"), edited(["spec","preserveUnknownFields"],True),
 edited(["spec","names","plural"],"Rims"), edited(["spec","names","shortNames"],["R"]), edited(["spec","names","kind"],"rim kind"), edited(["spec","names","categories"],["All"]), edited(["spec","group"],"Crd"), edited(["metadata","name"],"x"), edited(["spec","names","listKind"],"Rim"), edited(["spec","names","singular"],"Rim"),
]
