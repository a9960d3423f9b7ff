#!/usr/bin/env python3
"""Records what a genuine server asks of webhooks and makes of their answers.

usage: PKI=DIR KUBECONFIG=... hooks.py [TOPIC ...]

PKI holds server.crt, server.key (for 127.0.0.1) and ca.crt, as `real-apiserver` makes them. Each case installs its
webhook configurations, plays its steps, and keeps the answers and the reviews that were sent. Times, uids and
resource versions are left out.
"""
import base64, http.server, json, os, ssl, sys, threading, time

import hooks_cases
import record

HERE = os.path.dirname(os.path.abspath(__file__))
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
KINDS = {"mutating": "MutatingWebhookConfiguration", "validating": "ValidatingWebhookConfiguration"}


class Hooks:
    """An HTTPS server that answers by script: a list of answers a path, the last one repeats."""

    def __init__(self, pki):
        self.answers, self.calls, self.lock = {}, [], threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                path, _, query = self.path.partition("?")
                with outer.lock:
                    outer.calls.append({"path": path, "query": query, "review": body})
                    script = outer.answers.get(path, [{}])
                    answer = script.pop(0) if len(script) > 1 else script[0]
                status, data = render(answer, body)
                if status == 0:
                    time.sleep(3)
                    return
                self.send_response(status)
                self.send_header("Content-Type", answer.get("type", "application/json"))
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(pki, "server.crt"), os.path.join(pki, "server.key"))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        self.ca = base64.b64encode(open(os.path.join(pki, "ca.crt"), "rb").read()).decode()


def render(answer, body):
    """Status and bytes of a scripted answer. Status 0: no answer."""
    if answer.get("hang"):
        return 0, b""
    if "text" in answer:
        return answer.get("status", 200), answer["text"].encode()
    uid = body["request"]["uid"]
    if "review" in answer:
        review = json.loads(json.dumps(answer["review"]).replace("@UID@", uid))
    elif body["kind"] == "ConversionReview":
        review = convert(answer, body)
    else:
        response = {"uid": uid, "allowed": True, **answer.get("response", {})}
        if "patch" in answer:
            response["patchType"] = "JSONPatch"
            response["patch"] = base64.b64encode(json.dumps(answer["patch"]).encode()).decode()
        review = {"apiVersion": body["apiVersion"], "kind": "AdmissionReview", "response": response}
    return answer.get("status", 200), json.dumps(review).encode()


def convert(answer, body):
    """Moves `spec.size` (v1) to `spec.dimension` (v2) and back, then edits the objects as scripted."""
    wanted = body["request"]["desiredAPIVersion"]
    objects = json.loads(json.dumps(body["request"]["objects"]))
    for it in objects:
        it["apiVersion"] = wanted
        spec = it.get("spec") or {}
        old, new = ("size", "dimension") if wanted.endswith("v2") else ("dimension", "size")
        if old in spec:
            spec[new] = spec.pop(old)
        for edit in answer.get("edit", []):
            *way, last = edit["path"]
            at = it
            for step in way:
                at = at.setdefault(step, {})
            if "value" in edit:
                at[last] = edit["value"]
            else:
                at.pop(last, None)
    if answer.get("drop"):
        objects = objects[1:]
    if answer.get("twice"):
        objects = objects + objects
    if answer.get("reverse"):
        objects = objects[::-1]
    response = {"uid": body["request"]["uid"], "result": {"status": "Success"}, "convertedObjects": objects, **answer.get("response", {})}
    return {"apiVersion": body["apiVersion"], "kind": "ConversionReview", "response": response}


def clean(value, hooks):
    """Without what differs from run to run."""
    text = json.dumps(value).replace(hooks.url, "@URL@").replace(hooks.url.removeprefix("https://"), "@HOST@")
    value = json.loads(text)

    def walk(it, key=""):
        if isinstance(it, dict):
            for name in list(it):
                if name in ("uid", "resourceVersion", "creationTimestamp", "time", "lastTransitionTime", "deletionTimestamp"):
                    if isinstance(it[name], str) and it[name]:
                        it[name] = f"@{name}@"
                else:
                    walk(it[name], name)
            if "managedFields" in it and isinstance(it["managedFields"], list):
                it["managedFields"].sort(key=lambda e: (e.get("operation", ""), e.get("manager", ""), e.get("apiVersion", ""), e.get("subresource", "")))
        elif isinstance(it, list):
            for entry in it:
                walk(entry)

    walk(value)
    return value


def widget_definition(group, conversion=None, storage="v1"):
    spec = {"type": "object", "properties": {
        "size": {"type": "integer", "maximum": 100}, "colour": {"type": "string", "default": "red"},
        "dimension": {"type": "integer"},
        "note": {"type": "string"}, "replicas": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": {"type": "object", "properties": {
        "phase": {"type": "string"}, "replicas": {"type": "integer"}}}}}
    version = lambda name: {"name": name, "served": True, "storage": name == storage, "schema": {"openAPIV3Schema": schema},
                            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}}
    out = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
           "metadata": {"name": f"widgets.{group}"},
           "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                    "versions": [version("v1"), version("v2")]}}
    if conversion:
        out["spec"]["conversion"] = conversion
    return out


def establish(server, crd, probe):
    name = crd["metadata"]["name"]
    server.call("DELETE", f"{record.CRDS}/{name}")
    while server.call("GET", f"{record.CRDS}/{name}")[0] != 404:
        time.sleep(0.05)
    status, answer, _ = server.call("POST", record.CRDS, crd)
    if status >= 300:
        raise SystemExit(answer["message"])
    for _ in range(200):
        if server.call("GET", probe)[0] == 200:
            return
        time.sleep(0.05)
    raise SystemExit(f"{name} does not come up")


def install(server, hooks, configurations):
    for at, entry in enumerate(configurations):
        entry = json.loads(json.dumps(entry))
        for webhook in entry["webhooks"]:
            webhook.setdefault("admissionReviewVersions", ["v1"])
            webhook.setdefault("sideEffects", "None")
            config = webhook.setdefault("clientConfig", {})
            if "url" in config:
                config["url"] = config["url"].replace("@URL@", hooks.url)
                config.setdefault("caBundle", hooks.ca)
            webhook.setdefault("rules", [{"apiGroups": ["hooks.example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["widgets"]}])
        body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": KINDS[entry["phase"]],
                "metadata": {"name": entry["name"]}, "webhooks": entry["webhooks"]}
        status, answer, _ = server.call("POST", f"{ADMISSION}/{entry['phase']}webhookconfigurations", body)
        if status >= 300:
            raise SystemExit(f"{entry['name']}: {answer['message']}")
    time.sleep(0.7)


def uninstall(server):
    for phase in KINDS:
        server.call("DELETE", f"{ADMISSION}/{phase}webhookconfigurations")
    time.sleep(0.3)


def play(server, hooks, steps):
    out = []
    for step in steps:
        with hooks.lock:
            hooks.calls.clear()
        status, answer, warnings = server.call(step["method"], step["path"], step.get("body"), step.get("type", "application/json"))
        with hooks.lock:
            calls = clean(list(hooks.calls), hooks)
        calls.sort(key=lambda call: call["path"]) if step.get("unordered") else None
        out.append({**step, "code": status, "answer": clean(answer, hooks), "warnings": warnings, "calls": calls})
    return out


def brief(call):
    """A call without its objects."""
    request = call["review"]["request"]
    return {"path": call["path"], "query": call["query"], "apiVersion": call["review"]["apiVersion"],
            "request": {name: request.get(name) for name in ("operation", "name", "subResource", "resource", "kind", "requestKind", "options")}}


def sweep(server, path):
    """Removes all objects, whatever holds them."""
    for item in server.call("GET", path)[1].get("items", []):
        name = item["metadata"]["name"]
        server.call("PATCH", f"{path}/{name}", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    server.call("DELETE", path)


def record_admission(server, hooks):
    uninstall(server)
    establish(server, widget_definition("hooks.example.com"), "/apis/hooks.example.com/v1/widgets")
    out = []
    for case in hooks_cases.ADMISSION:
        sweep(server, "/apis/hooks.example.com/v1/namespaces/default/widgets")
        play(server, hooks, case.get("before", []))
        hooks.answers = json.loads(json.dumps(case.get("answers", {})))
        install(server, hooks, case["configurations"])
        steps = play(server, hooks, case["steps"])
        uninstall(server)
        for step in steps if not case.get("whole") else []:
            step["calls"] = [brief(call) for call in step["calls"]]
        out.append({**case, "steps": steps})
    return out


def record_conversion(server, hooks):
    """Object `a` lies at v1, the storage version; the conversion answers well until a case begins."""
    conversion = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": hooks.url + "/c", "caBundle": hooks.ca}}}
    path = "/apis/conv.example.com/v1/namespaces/default/widgets"
    hooks.answers = {}
    establish(server, widget_definition("conv.example.com", conversion), path)
    out = []
    for case in hooks_cases.CONVERSION:
        hooks.answers = {}
        server.call("DELETE", path)
        for name in ("a", "a2"):
            server.call("POST", path, {"apiVersion": "conv.example.com/v1", "kind": "Widget", "metadata": {"name": name, "labels": {"old": "label"}}, "spec": {"size": 1}})
        hooks.answers = json.loads(json.dumps(case["answers"]))
        time.sleep(0.2)
        steps = play(server, hooks, case["steps"])
        for step in steps:
            # How often a genuine server asks depends on its caches.
            step["calls"] = step["calls"][:1]
        out.append({**case, "steps": steps})
    return out


def record_configurations(server, _):
    """Recorded from kube-apiserver 1.20.2, which has them as 1.36 does but for match conditions."""
    out = []
    for case in hooks_cases.CONFIGURATIONS:
        case = json.loads(json.dumps(case))
        for phase, kind in KINDS.items():
            path = f"{ADMISSION}/{phase}webhookconfigurations"
            body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "c"}}
            if case["webhooks"] is not None:
                body["webhooks"] = case["webhooks"]
            code, answer, _ = server.call("POST", path, body)
            case[phase] = {"webhooks": answer.get("webhooks")}
            if code >= 300:
                case[phase] = {"code": code, "message": answer["message"], "causes": (answer.get("details") or {}).get("causes")}
            server.call("DELETE", f"{path}/c")
        out.append(case)
    return out


def record_definitions(server, _):
    out = []
    for body in hooks_cases.DEFINITIONS:
        code, answer, _ = server.call("POST", record.CRDS, body)
        outcome = {"conversion": answer.get("spec", {}).get("conversion")}
        if code >= 300:
            outcome = {"code": code, "message": answer["message"], "causes": (answer.get("details") or {}).get("causes")}
        name = body["metadata"]["name"]
        server.call("DELETE", f"{record.CRDS}/{name}")
        while server.call("GET", f"{record.CRDS}/{name}")[0] != 404:
            time.sleep(0.05)
        out.append({"definition": body, "outcome": outcome})
    return out


def main():
    server = record.Server(os.environ["KUBECONFIG"])
    hooks = Hooks(os.environ["PKI"])
    topics = {"admission": record_admission, "conversion": record_conversion, "configurations": record_configurations, "definitions": record_definitions}
    for topic in sys.argv[1:] or topics:
        path = os.path.join(HERE, f"hooks_{topic}.json")
        result = topics[topic](server, hooks)
        with open(path, "w") as file:
            lines = [json.dumps(case, sort_keys=True) for case in result]
            file.write("[\n" + ",\n".join(lines) + "\n]\n")
        print(f"{topic}: {len(result)} cases")


if __name__ == "__main__":
    main()
