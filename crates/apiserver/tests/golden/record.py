#!/usr/bin/env python3
"""Records what a genuine Kubernetes API server answers, as golden files for the tests beside this.

usage: KUBECONFIG=... record.py [TOPIC ...]

Each case makes a CustomResourceDefinition of its own, so the server needs nothing but those.
Recorded from the CRD handlers of Kubernetes 1.36.4 and, for built-in kinds, kube-apiserver 1.20.2. Times, uids and resource versions are left out.
"""
import base64, http.client, json, os, re, ssl, sys, tempfile, time

import cases
import core_cases

HERE = os.path.dirname(os.path.abspath(__file__))


class Server:
    def __init__(self, kubeconfig):
        text = open(kubeconfig).read()
        field = lambda name: re.search(name + r": *(\S+)", text).group(1)
        address = field("server").removeprefix("https://")
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with tempfile.TemporaryDirectory() as folder:
            names = []
            for name in ("client-certificate-data", "client-key-data"):
                names.append(os.path.join(folder, name))
                open(names[-1], "wb").write(base64.b64decode(field(name)))
            context.load_cert_chain(*names)
        self.connection = http.client.HTTPSConnection(address, context=context)

    def call(self, method, path, body=None, kind="application/json", accept="application/json"):
        headers = {"Content-Type": kind, "Accept": accept}
        for _ in range(50):
            text = None if body is None else json.dumps(body)
            self.connection.request(method, path, text, headers)
            response = self.connection.getresponse()
            data = response.read()
            if response.status not in (429,):
                break
            time.sleep(0.2)
        warnings = response.headers.get_all("Warning") or []
        try:
            answer = json.loads(data) if data else {}
        except ValueError:
            answer = {"message": data.decode()}
        return response.status, answer, warnings


def definition(index, schema, columns=None, extra=None):
    name = f"t{index}"
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if columns is not None:
        version["additionalPrinterColumns"] = columns
    version.update(extra or {})
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}s.golden.example.com"},
        "spec": {
            "group": "golden.example.com",
            "names": {"plural": f"{name}s", "singular": name, "kind": f"T{index}", "listKind": f"T{index}List"},
            "scope": "Cluster",
            "versions": [version],
        },
    }


CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "/apis/golden.example.com/v1"


def establish(server, crd):
    name = crd["metadata"]["name"]
    server.call("DELETE", f"{CRDS}/{name}")
    for _ in range(100):
        if server.call("GET", f"{CRDS}/{name}")[0] == 404:
            break
        time.sleep(0.05)
    status, answer, _ = server.call("POST", CRDS, crd)
    if status >= 300:
        return answer
    plural = crd["spec"]["names"]["plural"]
    for _ in range(200):
        if server.call("GET", f"{GROUP}/{plural}")[0] == 200:
            return None
        time.sleep(0.05)
    raise SystemExit(f"{name} does not come up")


def drop(server, crd):
    server.call("DELETE", f"{CRDS}/{crd['metadata']['name']}")


def clean(value):
    """An object without what differs from run to run."""
    value = json.loads(json.dumps(value))
    metadata = value.get("metadata", {})
    for name in ("uid", "resourceVersion", "creationTimestamp", "generation"):
        metadata.pop(name, None)
    for entry in metadata.get("managedFields", []):
        entry.pop("time", None)
    entries = metadata.get("managedFields")
    if entries:
        entries.sort(key=lambda e: (e["operation"], e["manager"], e["apiVersion"], e.get("subresource", "")))
    return value


def outcome(status, answer, warnings):
    if status >= 300:
        out = {"code": status, "message": answer.get("message", ""), "reason": answer.get("reason", "")}
        causes = (answer.get("details") or {}).get("causes")
        if causes:
            out["causes"] = sorted(causes, key=lambda c: json.dumps(c, sort_keys=True))
        return out
    out = {"object": clean(answer)}
    if warnings:
        out["warnings"] = warnings
    return out


def record_validation(server):
    out = []
    for index, case in enumerate(cases.VALIDATION):
        schema = case["schema"]
        crd = definition(index, schema)
        refused = establish(server, crd)
        if refused:
            print(f"left out: {case['name']}: {refused['message']}")
            continue
        plural = f"t{index}s"
        steps = []
        for number, step in enumerate(case["steps"]):
            base = {"apiVersion": "golden.example.com/v1", "kind": f"T{index}"}
            name = f"a{number}"
            new = {**base, **step["new"]}
            new["metadata"] = {**new.get("metadata", {}), "name": name}
            if "old" in step:
                old = {**base, **step["old"]}
                old["metadata"] = {**old.get("metadata", {}), "name": name}
                if "old_schema" in case:
                    change(server, crd, case["old_schema"])
                status, stored, _ = server.call("POST", f"{GROUP}/{plural}", old)
                if status >= 300:
                    print(f"left out: {case['name']}: old: {stored['message']}")
                    continue
                if "old_schema" in case:
                    change(server, crd, schema)
                new["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
                answer = server.call("PUT", f"{GROUP}/{plural}/{name}?fieldValidation=Warn", new)
            else:
                answer = server.call("POST", f"{GROUP}/{plural}?fieldValidation=Warn", new)
            done = outcome(*answer)
            if "object" in done:
                done["object"]["metadata"].pop("managedFields", None)
            steps.append({**step, "outcome": done})
        out.append({**case, "kind": f"T{index}", "steps": steps})
        drop(server, crd)
    return out


def change(server, crd, schema):
    name = crd["metadata"]["name"]
    _, live, _ = server.call("GET", f"{CRDS}/{name}")
    live["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    status, answer, _ = server.call("PUT", f"{CRDS}/{name}", live)
    if status >= 300:
        raise SystemExit(f"{name}: {answer['message']}")
    plural = crd["spec"]["names"]["plural"]
    time.sleep(1.5)
    for _ in range(100):
        if server.call("GET", f"{GROUP}/{plural}")[0] == 200:
            break
        time.sleep(0.05)


def record_definition(server):
    out = []
    for index, case in enumerate(cases.DEFINITION):
        crd = definition(1000 + index, case["schema"])
        refused = establish(server, crd)
        done = {"accepted": True}
        if refused:
            done = {"message": refused["message"], "causes": (refused.get("details") or {}).get("causes", [])}
        else:
            drop(server, crd)
        out.append({**case, "outcome": done})
    return out


def record_random(server):
    return play(server, cases.RANDOM, shared=True)


def record_apply(server):
    return play(server, cases.APPLY)


def play(server, given, shared=False):
    """Plays cases one after another; shared ones have one schema, which the first case holds."""
    out = []
    for index, case in enumerate(given):
        first, index = index == 0, 0 if shared else index
        extra = {"subresources": {"status": {}}} if case.get("status") else None
        crd = definition(2000 + index, case["schema"], extra=extra)
        path = f"{GROUP}/t{2000 + index}s"
        if first or not shared:
            refused = establish(server, crd)
            if refused:
                raise SystemExit(f"{case['name']}: {refused['message']}")
        else:
            case = {**case}
            del case["schema"]
            server.call("DELETE", f"{path}/a")
        steps = []
        kind = f"T{2000 + index}"
        case = json.loads(json.dumps(case).replace("@KIND@", kind))
        for step in case["steps"]:
            body = step["body"]
            if isinstance(body, dict):
                base = {"apiVersion": "golden.example.com/v1", "kind": f"T{2000 + index}"}
                if step["verb"] not in ("merge",):
                    body = {**base, **body}
                    body["metadata"] = {**body.get("metadata", {}), "name": "a"}
            manager = step.get("manager", "test")
            query = f"?fieldManager={manager}"
            sub = step.get("subresource", "")
            target = f"{path}/a" + (f"/{sub}" if sub else "")
            if step["verb"] == "apply":
                query += "&force=true" if step.get("force") else "&force=false"
                answer = server.call("PATCH", target + query, body, "application/apply-patch+yaml")
            elif step["verb"] == "create":
                answer = server.call("POST", path + query, body)
            elif step["verb"] == "update":
                _, live, _ = server.call("GET", f"{path}/a")
                body["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
                answer = server.call("PUT", target + query, body)
            elif step["verb"] == "merge":
                answer = server.call("PATCH", target + query, body, "application/merge-patch+json")
            elif step["verb"] == "json":
                answer = server.call("PATCH", target + query, body, "application/json-patch+json")
            else:
                raise SystemExit(step["verb"])
            steps.append({**step, "outcome": outcome(*answer)})
        out.append({**case, "kind": f"T{2000 + index}", "steps": steps})
        if not shared:
            drop(server, crd)
    return out


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def record_table(server):
    out = []
    for index, case in enumerate(cases.TABLE):
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        crd = definition(3000 + index, schema, columns=case["columns"])
        refused = establish(server, crd)
        if refused:
            raise SystemExit(f"{case['name']}: {refused['message']}")
        path = f"{GROUP}/t{3000 + index}s"
        body = {"apiVersion": "golden.example.com/v1", "kind": f"T{3000 + index}", **case["object"]}
        body["metadata"] = {**body.get("metadata", {}), "name": "a"}
        status, answer, _ = server.call("POST", path, body)
        if status >= 300:
            raise SystemExit(f"{case['name']}: {answer['message']}")
        tables = {}
        for include in ("None", "Metadata", "Object"):
            _, table, _ = server.call("GET", f"{path}/a?includeObject={include}", accept=TABLE)
            table["metadata"].pop("resourceVersion", None)
            for row in table["rows"]:
                if row.get("object"):
                    row["object"] = clean(row["object"])
                    row["object"]["metadata"].pop("managedFields", None)
            tables[include] = table
        out.append({**case, "kind": f"T{3000 + index}", "tables": tables})
        drop(server, crd)
    return out


def settle(server, path, body):
    """Makes an object afresh."""
    server.call("PATCH", f"{path}/a", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    server.call("DELETE", f"{path}/a?gracePeriodSeconds=0")
    for _ in range(50):
        if server.call("GET", f"{path}/a")[0] == 404:
            break
        time.sleep(0.1)
    return server.call("POST", path, body)


def named(body):
    body = json.loads(json.dumps(body))
    body.setdefault("metadata", {})["name"] = "a"
    if body["kind"] not in ("Node", "Namespace", "ValidatingWebhookConfiguration"):
        body["metadata"]["namespace"] = "default"
    return body


def record_strategic(server):
    out = []
    for body, patches in core_cases.STRATEGIC:
        path = core_cases.PATHS[body["kind"]]
        status, answer, _ = settle(server, path, named(body))
        if status >= 300:
            raise SystemExit(f"{body['kind']}: {answer['message']}")
        for patch in patches:
            sub, patch = patch if isinstance(patch, tuple) else ("", patch)
            _, live, _ = server.call("GET", f"{path}/a")
            target = f"{path}/a" + (f"/{sub}" if sub else "")
            done = server.call("PATCH", target, patch, "application/strategic-merge-patch+json")
            out.append({"live": bare(live), "patch": patch, "outcome": bare_outcome(done)})
        settle(server, path, named(body))
    return out


def bare(value):
    value = clean(value)
    value["metadata"].pop("managedFields", None)
    value["metadata"].pop("selfLink", None)
    return value


def bare_outcome(done):
    out = outcome(*done)
    if "object" in out:
        out["object"] = bare(out["object"])
    return out


def record_core(server):
    out = []
    for name, body, writes in core_cases.APPLY:
        path = core_cases.PATHS[body["kind"]]
        settle(server, path, named(body))
        server.call("PATCH", f"{path}/a", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
        server.call("DELETE", f"{path}/a?gracePeriodSeconds=0")
        steps = []
        for write in writes:
            verb, manager, sent = write[:3]
            more = write[3] if len(write) > 3 else {}
            status, live, _ = server.call("GET", f"{path}/a")
            live = clean(live) if status == 200 else None
            query = f"?fieldManager={manager}"
            target = f"{path}/a" + (f"/{more['subresource']}" if "subresource" in more else "")
            if verb == "create":
                sent = named(sent)
                done = server.call("POST", path + query, sent)
            elif verb == "apply":
                sent = named({"apiVersion": body["apiVersion"], "kind": body["kind"], **sent})
                query += "&force=true" if more.get("force") else ""
                done = server.call("PATCH", target + query, sent, "application/apply-patch+yaml")
            else:
                kind = {"strategic": "strategic-merge-patch", "merge": "merge-patch"}[verb]
                done = server.call("PATCH", target + query, sent, f"application/{kind}+json")
            step = {"verb": verb, "manager": manager, "body": sent, "live": live, **more}
            steps.append({**step, "outcome": outcome(*done)})
        out.append({"name": name, "steps": steps})
    return out


def record_core_table(server):
    out = []
    for body in core_cases.TABLES:
        path = core_cases.PATHS[body["kind"]]
        status, answer, _ = settle(server, path, named(body))
        if status >= 300:
            raise SystemExit(f"{body['kind']}: {answer['message']}")
        if "status" in body and body["kind"] == "Node":
            server.call("PATCH", f"{path}/a/status", {"status": body["status"]}, "application/merge-patch+json")
        _, live, _ = server.call("GET", f"{path}/a")
        _, table, _ = server.call("GET", f"{path}/a?includeObject=None", accept=TABLE)
        created = live["metadata"]["creationTimestamp"]
        live = bare(live)
        live["metadata"]["creationTimestamp"] = created
        out.append({"object": live, "columns": table["columnDefinitions"], "cells": table["rows"][0]["cells"]})
    return out


def record_expressions(server):
    """One definition with every expression: those that it is refused for are left out, then one object."""
    outcomes = {}
    fields = lambda: {f"x{i}": cases.rules(cases.obj(cases.EXPRESSION_SCHEMA), {"rule": e, "message": "m"}) for i, e in enumerate(cases.EXPRESSIONS) if e not in outcomes}
    while True:
        crd = definition(5000, cases.spec(fields()))
        refused = establish(server, crd)
        if not refused:
            break
        for cause in refused["details"]["causes"]:
            found = re.search(r"properties\[x(\d+)\]", cause["field"])
            if found:
                outcomes[cases.EXPRESSIONS[int(found.group(1))]] = {"refused": cause["message"]}
    body = {"apiVersion": "golden.example.com/v1", "kind": "T5000", "metadata": {"name": "a"}, "spec": {name: cases.OBJECT for name in fields()}}
    _, answer, _ = server.call("POST", f"{GROUP}/t5000s", body)
    for cause in (answer.get("details") or {}).get("causes", []):
        expression = cases.EXPRESSIONS[int(re.search(r"x(\d+)", cause["field"]).group(1))]
        outcomes[expression] = {"holds": False} if cause["message"].endswith("m") and "evaluating" not in cause["message"] else {"fails": cause["message"]}
    drop(server, crd)
    return [{"rule": e, "outcome": outcomes.get(e, {"holds": True})} for e in cases.EXPRESSIONS] + [{"properties": cases.EXPRESSION_SCHEMA, "object": cases.OBJECT}]


def record_openapi(server):
    crd = definition(4000, cases.OPENAPI, extra={"subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.i", "statusReplicasPath": ".status.n"}}})
    crd["spec"]["scope"] = "Namespaced"
    refused = establish(server, crd)
    if refused:
        raise SystemExit(refused["message"])
    for _ in range(100):
        status, document, _ = server.call("GET", "/openapi/v3/apis/golden.example.com/v1")
        if status == 200 and any("T4000" in name for name in document["components"]["schemas"]):
            break
        time.sleep(0.1)
    drop(server, crd)
    return [{"schema": cases.OPENAPI, "document": document}]


# The first seven need the CRD server, the others a core API, too.
TOPICS = ["validation", "definition", "apply", "random", "table", "expressions", "openapi", "strategic", "core", "core_table"]


def main():
    server = Server(os.environ["KUBECONFIG"])
    for topic in sys.argv[1:] or TOPICS:
        recorded = globals()[f"record_{topic}"](server)
        with open(os.path.join(HERE, f"{topic}.json"), "w") as file:
            lines = [json.dumps(case, sort_keys=True) for case in recorded]
            file.write("[\n" + ",\n".join(lines) + "\n]\n")
        print(topic, len(recorded), "cases")


if __name__ == "__main__":
    main()
