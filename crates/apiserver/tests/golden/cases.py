"""The cases that record.py plays against a genuine API server and the tests replay."""


def obj(properties, **more):
    return {"type": "object", "properties": properties, **more}


def spec(properties, **more):
    """A schema whose `spec` has these properties."""
    return obj({"spec": obj(properties, **more)})


def x(schema, *values, name=None, **more):
    """One field `spec.x`, tried with several values."""
    steps = [{"new": {"spec": {"x": value}}} for value in values]
    return {"name": name or str(schema)[:60], "schema": spec({"x": schema}), "steps": steps, **more}


def change(schema, *pairs, name=None, **more):
    """One field `spec.x`, changed from one value to another."""
    steps = [{"old": {"spec": {"x": old}}, "new": {"spec": {"x": new}}} for old, new in pairs]
    return {"name": name or str(schema)[:60], "schema": spec({"x": schema}), "steps": steps, **more}


STRING = {"type": "string"}
INT = {"type": "integer"}
ANY = {"x-kubernetes-preserve-unknown-fields": True}


def rules(schema, *given):
    return {**schema, "x-kubernetes-validations": [r if isinstance(r, dict) else {"rule": r} for r in given]}


PORTS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    "items": obj(
        {"port": INT, "protocol": {"type": "string", "default": "TCP"}, "name": STRING, "tags": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}},
        required=["port"],
    ),
}

FORMATS = {
    "date-time": ["2024-01-02T03:04:05Z", "2024-01-02T03:04:05.123+02:00", "2024-01-02 03:04:05Z", "2024-01-02", "x", "2024-01-02T03:04:05"],
    "date": ["2024-01-02", "2024-13-02", "x", "2024-02-30"],
    "duration": ["1h30m", "5s", "x", "1d", "3 days", "-5s", "1.5h", "5"],
    "byte": ["aGk=", "a", "!!", "aGk", ""],
    "ipv4": ["1.2.3.4", "1.2.3", "::1", "01.2.3.4"],
    "ipv6": ["::1", "1.2.3.4", "x", "fe80::1%eth0"],
    "cidr": ["10.0.0.0/8", "10.0.0.0", "10.0.0.1/33", "fd00::/8", "10.0.0.0/08"],
    "mac": ["aa:bb:cc:dd:ee:ff", "aa-bb-cc-dd-ee-ff", "aabb.ccdd.eeff", "aa:bb", "x"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000", "123", "123E4567-E89B-12D3-A456-426614174000"],
    "uuid3": ["123e4567-e89b-32d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"],
    "uuid4": ["123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-42d3-c456-426614174000"],
    "uuid5": ["123e4567-e89b-52d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"],
    "uri": ["http://a.example/b", "a", "/a/b", "a b", "http://", "mailto:x@y", ""],
    "email": ["a@b.example", "a", "Name <a@b.example>", "a@b"],
    "hostname": ["a.example.com", "a", "a_b", "-a", "a.", "A.example", "1.2", "a b"],
    "bsonobjectid": ["507f1f77bcf86cd799439011", "507f", "507f1f77bcf86cd79943901g"],
    "isbn10": ["0306406152", "0306406153", "0-306-40615-2"],
    "isbn13": ["9780306406157", "9780306406158", "978-0-306-40615-7"],
    "isbn": ["0306406152", "9780306406157", "1"],
    "creditcard": ["4111111111111111", "4111111111111112", "x"],
    "ssn": ["123-45-6789", "123456789", "1-2-3"],
    "hexcolor": ["#ff0000", "ff0000", "#ggg", "#abc"],
    "rgbcolor": ["rgb(1,2,3)", "rgb(256,2,3)", "rgb(1, 2, 3)"],
    "password": ["x"],
    "unknown-format": ["x"],
    "int32": ["x"],
    "k8s-short-name": ["a", "A", "a.b", ""],
    "k8s-long-name": ["a.b", "A", ""],
}

VALIDATION = [
    x(STRING, "a", 1, 1.5, True, None, [], {}),
    x(INT, 1, "a", 1.5, 2.0, True, None, [], {}, 9007199254740993),
    x({"type": "integer", "format": "int32"}, 1, "a", 1.5, True, 3000000000, -3000000000, []),
    x({"type": "integer", "format": "int64"}, 1, "a", 1.5, True, 3000000000, 9223372036854775807),
    x({"type": "number"}, 1, 1.5, "a", True, None),
    x({"type": "number", "format": "double"}, 1, 1.5, "a", True, []),
    x({"type": "number", "format": "float"}, 1, 1.5, "a", 1e300),
    x({"type": "boolean"}, True, "true", 1, None, []),
    x({"type": "array", "items": STRING}, ["a"], "a", {}, None, [1], [None], [["a"]], []),
    x(obj({"a": STRING}), {"a": "b"}, "a", [], None, {"a": 1}, {"a": None}, {"b": 1}, {}),
    x({"type": "object", "additionalProperties": INT}, {"a": 1}, {"a": "b", "b.c": "d"}, {"a": None}, "a"),
    x({**STRING, "nullable": True}, None, "a", 1),
    x({"x-kubernetes-int-or-string": True}, 1, "a", 1.5, None, True, [], {}),
    x({"x-kubernetes-int-or-string": True, "anyOf": [INT, STRING], "pattern": "^[0-9]+%$"}, 1, "5%", "a", True),
    x({**STRING, "minLength": 2, "maxLength": 4}, "a", "ab", "abcde", "äöü", "äöüäö", ""),
    x({**STRING, "pattern": "^[a-z]+$"}, "a", "A", ""),
    x({**STRING, "pattern": "^a'b\\d$"}, "a'b1", "x"),
    x({**STRING, "enum": ["a", "b"]}, "a", "c", "", 1, None),
    x({**INT, "enum": [1, 2]}, 1, 3, "a", 1.0),
    x({**INT, "minimum": 1, "maximum": 10}, 1, 0, 11, -5, 1000000),
    x({"type": "number", "minimum": 0.5, "maximum": 1.5, "exclusiveMinimum": True, "exclusiveMaximum": True}, 1, 0.5, 1.5, 0.25, 2),
    x({"type": "number", "maximum": 1e21}, 1e22, 1e20),
    x({"type": "number", "minimum": 0.00001}, 0.000001),
    x({**INT, "multipleOf": 5}, 10, 7, 0),
    x({"type": "number", "multipleOf": 0.1}, 0.3, 0.35),
    x({"type": "array", "items": INT, "minItems": 1, "maxItems": 2}, [], [1], [1, 2, 3], [1, 2, 3, 4]),
    x({"type": "array", "items": INT, "maxItems": 1}, [1, 2]),
    x({"type": "object", "additionalProperties": INT, "minProperties": 1, "maxProperties": 2}, {}, {"a": 1}, {"a": 1, "b": 2, "c": 3}),
    x(obj({"a": STRING, "b": STRING}, required=["a", "b"]), {}, {"a": "x"}, {"a": None, "b": "x"}, {"a": "x", "b": "y"}),
    x({"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}, ["a", "b"], ["a", "a"], ["a", "b", "a", "b", "a"]),
    x({"type": "array", "items": INT, "x-kubernetes-list-type": "set"}, [1, 1]),
    x({"type": "array", "items": {**obj({"a": INT}), "x-kubernetes-map-type": "atomic"}, "x-kubernetes-list-type": "set"}, [{"a": 1}, {"a": 1}]),
    x(PORTS, [{"port": 1}], [{"port": 1}, {"port": 1}], [{"port": 1}, {"port": 1, "protocol": "TCP"}], [{"port": 1, "protocol": "UDP"}, {"port": 1}], [{"name": "a"}], [{"port": 1, "tags": ["a", "a"]}], [{"port": 1}, {"port": 1}, {"port": 1}]),
    x({"type": "object", "additionalProperties": PORTS}, {"k": [{"port": 1}, {"port": 1}]}),
    x({**STRING, "oneOf": [{"pattern": "^a"}, {"pattern": "z$"}]}, "a", "z", "az", "b"),
    x({**STRING, "anyOf": [{"pattern": "^a"}, {"minLength": 5}]}, "a", "zzzzz", "b"),
    x({**STRING, "allOf": [{"pattern": "^a"}, {"minLength": 2}]}, "ab", "a", "bb", "b"),
    x({**STRING, "not": {"pattern": "^a"}}, "a", "b"),
    x({**obj({"a": STRING, "b": STRING}), "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": "x"}, {"b": "x"}, {"a": "x", "b": "y"}, {}),
    x({**obj({"a": STRING, "b": STRING}), "anyOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"b": {"pattern": "^x$"}}}]}, {}, {"b": "y"}, {"b": "x"}),
    x({**obj({"a": STRING, "b": INT}), "allOf": [{"required": ["a"]}, {"properties": {"b": {"minimum": 1}}}], "not": {"required": ["b"]}}, {}, {"a": "x", "b": 0}, {"a": "x"}),
    x({**obj({"a": INT}), "x-kubernetes-preserve-unknown-fields": True}, {"a": "x", "b": 1}, {"b": {"c": 1}}),
    x(ANY, {"a": 1}, "a", 1, None, [1]),
    x({"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
      {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}, {"kind": "Pod"}, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "A_", "foo": 1}}, {}),
    x({"type": "object", "additionalProperties": True}, {"a": 1}),
    {"name": "unknown fields are pruned", "schema": spec({"a": STRING, "l": {"type": "array", "items": obj({"a": STRING})}, "m": {"type": "object", "additionalProperties": obj({"a": STRING})}}),
     "steps": [{"new": {"spec": {"a": "x", "b": 1, "l": [{"a": "x", "b": 1}], "m": {"k": {"b": 1}}}, "foo": 1}}]},
    {"name": "defaults", "schema": spec({
        "a": {"type": "string", "default": "x"}, "n": {"type": "string", "default": "x", "nullable": True},
        "o": obj({"p": {"type": "integer", "default": 5}}, default={}), "q": obj({"p": {"type": "integer", "default": 5}}),
        "l": {"type": "array", "items": obj({"p": {"type": "integer", "default": 5}})},
        "m": {"type": "object", "additionalProperties": {"type": "string", "default": "d"}},
        "ln": {"type": "array", "items": {"type": "string", "default": "d"}}, "z": STRING, "zn": {"type": "string", "nullable": True}}),
     "steps": [{"new": {"spec": {}}}, {"new": {}}, {"new": {"spec": {"a": None, "n": None, "o": {}, "q": {}, "l": [{}, {"p": 1}], "m": {"k": None}, "ln": [None, "a"], "z": None, "zn": None}}},
               {"new": {"spec": {"a": "y", "o": {"p": 1}, "q": {"p": None}}}}, {"new": {"spec": {"o": None, "q": None, "l": None, "m": None}}}]},
    {"name": "root", "schema": obj({"spec": obj({"a": STRING})}, required=["spec"]), "steps": [{"new": {}}, {"new": {"spec": {}}}, {"new": {"spec": None}}, {"new": {"spec": "x"}}]},
    {"name": "name pattern", "schema": obj({"metadata": obj({"name": {"type": "string", "pattern": "^b", "maxLength": 1}}), "spec": ANY}), "steps": [{"new": {"spec": {}}}]},
    {"name": "several problems", "schema": spec({"a": {**INT, "minimum": 1}, "b": {**STRING, "enum": ["x"]}, "c": {"type": "boolean"}}, required=["d"]),
     "steps": [{"new": {"spec": {"a": 0, "b": "y", "c": "z"}}}]},
    {"name": "deep path", "schema": spec({"a": obj({"b": {"type": "array", "items": obj({"c": {"type": "object", "additionalProperties": obj({"d": {**INT, "minimum": 1}})}})}})}),
     "steps": [{"new": {"spec": {"a": {"b": [{"c": {"k": {"d": 1}}}, {"c": {"k.x/y": {"d": 0}}}]}}}}]},
    {"name": "bad metadata", "schema": spec({"a": STRING}), "steps": [
        {"new": {"metadata": {"labels": {"a b": "c", "ok": "-x"}}, "spec": {}}},
        {"new": {"metadata": {"annotations": {"a b": "c"}}, "spec": {}}},
        {"new": {"metadata": {"finalizers": ["a b"]}, "spec": {}}},
        {"new": {"metadata": {"finalizers": ["x"]}, "spec": {}}},
        {"new": {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "", "name": "", "uid": ""}]}, "spec": {}}},
        {"new": {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1", "controller": True}, {"apiVersion": "v1", "kind": "A", "name": "b", "uid": "2", "controller": True}]}, "spec": {}}},
        {"new": {"metadata": {"generateName": "A_"}, "spec": {}}},
        {"new": {"metadata": {"foo": 1, "labels": {"a": "b"}}, "spec": {}}},
        {"new": {"metadata": {"labels": {"a": 1}}, "spec": {}}},
        {"new": {"metadata": {"labels": "a"}, "spec": {}}},
    ]},
]
VALIDATION += [x({"type": "string", "format": name}, *values) for name, values in FORMATS.items()]

VALIDATION += [
    x(rules(INT, "self > 1"), 1, 2, "a"),
    x(rules(INT, {"rule": "self > 1", "message": "must be big"}), 1),
    x(rules(INT, {"rule": "self > 1", "message": "no", "messageExpression": "self == 1 ? 'got one' : 'other'"}), 1),
    x(rules(INT, {"rule": "self > 1", "message": "fallback", "messageExpression": "self / 0 == 1 ? 'a' : 'b'"}), 1),
    x(rules(INT, {"rule": "self > 1", "messageExpression": "''"}), 1),
    x(rules(INT, {"rule": "self > 1", "reason": "FieldValueForbidden", "message": "m"}), 1),
    x(rules(INT, {"rule": "self > 1", "reason": "FieldValueRequired", "message": "m"}), 1),
    x(rules(INT, {"rule": "self > 1", "reason": "FieldValueDuplicate", "message": "m"}), 1),
    x(rules(STRING, "self == 'a'"), "b"),
    x(rules({"type": "boolean"}, "self"), False),
    x(rules({"type": "number"}, "self > 1.5"), 1, 1.25, 2),
    x(rules({**STRING, "format": "date-time"}, "self > timestamp('2024-01-01T00:00:00Z')"), "2023-01-01T00:00:00Z", "2025-01-01T00:00:00Z"),
    x(rules({**STRING, "format": "duration"}, "self > duration('1m')"), "1s", "2m"),
    x(rules({**STRING, "format": "byte"}, "self.size() > 1"), "aGk=", "aA=="),
    x(rules({**STRING, "format": "date"}, "self > timestamp('2024-01-01T00:00:00Z')"), "2023-01-01", "2025-01-01"),
    x(rules({"type": "array", "items": INT, "maxItems": 5}, "self.size() > 1"), [1], [1, 2]),
    x(rules({"type": "object", "additionalProperties": INT, "maxProperties": 5}, "self.size() > 1"), {"a": 1}, {"a": 1, "b": 2}),
    x({"type": "array", "maxItems": 5, "items": rules(INT, "self > 1")}, [2, 1, 0]),
    x({"type": "object", "maxProperties": 5, "additionalProperties": rules(INT, "self > 1")}, {"a": 1, "b/c": 0, "d": 3}),
    x(rules(obj({"a": INT, "b": INT}), "self.a > self.b"), {"a": 1, "b": 2}, {"a": 2, "b": 1}, {"a": 1}, {}),
    x(rules(obj({"a": INT, "b": INT}), {"rule": "self.a > self.b", "message": "m", "fieldPath": ".a"}), {"a": 1, "b": 2}),
    x(rules(obj({"a": obj({"b-c": INT}), "b": INT}), {"rule": "self.b > 1", "message": "m", "fieldPath": ".a['b-c']"}), {"b": 1}),
    x(rules(obj({"a": INT}), "!has(self.a) || self.a > 1"), {}, {"a": 1}, {"a": 2}),
    x(rules(obj({"a_b": INT, "c-d": INT, "e__f": INT, "namespace": INT, "g.h": INT, "i/j": INT}), "self.a_b + self.c__dash__d + self.e__underscores__f + self.__namespace__ + self.g__dot__h + self.i__slash__j == 6"),
      {"a_b": 1, "c-d": 1, "e__f": 1, "namespace": 1, "g.h": 1, "i/j": 1}, {"a_b": 2, "c-d": 1, "e__f": 1, "namespace": 1, "g.h": 1, "i/j": 1}),
    x(rules({"x-kubernetes-int-or-string": True}, "type(self) == int ? self > 1 : self == 'a'"), 1, 2, "a", "b"),
    x(rules(obj({"a": STRING, "b": {"type": "array", "items": STRING, "maxItems": 3}}), {"rule": "false", "message": "m"}), {"a": "x", "b": ["y"]}),
    x(rules({"type": "array", "items": STRING, "maxItems": 3}, {"rule": "false", "message": "m"}), ["y"]),
    x(rules({"type": "object", "maxProperties": 3, "additionalProperties": INT}, {"rule": "false", "message": "m"}), {"a": 1}),
    x(rules({**STRING, "maxLength": 100}, "self.matches('^[a-z]+$') && self.startsWith('a') && self.size() < 4"), "abc", "Abc", "abcd"),
    x(rules({**STRING, "maxLength": 100}, "isURL(self) && url(self).getScheme() == 'https'"), "https://a/b", "http://a", "a"),
    x(rules({**STRING, "maxLength": 100}, "quantity(self).isGreaterThan(quantity('1Gi'))"), "2Gi", "1Mi", "x"),
    x(rules({**STRING, "maxLength": 100}, "self.lowerAscii() == self && self.split(',').all(e, e.trim() == e)"), "a,b", "a, b", "A"),
    x(rules({**STRING, "maxLength": 100}, "ip(self).family() == 4"), "1.2.3.4", "::1"),
    x(rules({**STRING, "maxLength": 100}, "cidr(self).containsIP('10.0.0.1')"), "10.0.0.0/8", "11.0.0.0/8"),
    x(rules({**STRING, "maxLength": 100}, "!format.dns1123Label().validate(self).hasValue()"), "a", "A"),
    x(rules({"type": "array", "items": INT, "maxItems": 10}, "self.isSorted() && self.sum() < 10 && self.exists_one(e, e == 1)"), [1, 2], [2, 1], [1, 1]),
    x(rules({"type": "array", "items": INT, "maxItems": 10}, "self.map(e, e * 2).filter(e, e > 2).size() == 1"), [1, 2], [2, 3]),
    x(rules(obj({"a": {"type": "array", "items": INT, "maxItems": 10, "x-kubernetes-list-type": "set"}, "b": {"type": "array", "items": INT, "maxItems": 10, "x-kubernetes-list-type": "set"}}), "self.a == self.b"), {"a": [1, 2], "b": [1, 2]}, {"a": [1], "b": [2]}),
    x(rules(obj({"a": ANY}), "has(self.a)"), {"a": 1}, {}),
    x(rules({**STRING, "nullable": True}, "self == 'a'"), None, "a", "b"),
    {"name": "root rules", "schema": rules(obj({"spec": obj({"a": INT}), "status": obj({"b": INT})}), "self.metadata.name.startsWith('a')", "self.kind != ''", "self.apiVersion == 'golden.example.com/v1'", "self.metadata.name == 'zzz'", {"rule": "self.spec.a > 1", "message": "m", "fieldPath": ".spec.a"}),
     "steps": [{"new": {"spec": {"a": 1}}}]},
    {"name": "rules are left out after other problems", "schema": spec({"a": rules({**INT, "maximum": 3}, "self > 1"), "b": {**STRING, "enum": ["x"]}}), "steps": [{"new": {"spec": {"a": 1, "b": "y"}}}, {"new": {"spec": {"a": 0, "b": "x"}}}, {"new": {"spec": {"a": 5, "b": "x"}}}]},
    {"name": "rules with two failures", "schema": rules(spec({"a": rules(INT, "self > 1", "self > 2")}), "self.spec.a > 5"), "steps": [{"new": {"spec": {"a": 1}}}]},
    change(rules(INT, {"rule": "self == oldSelf", "message": "immutable"}), (1, 1), (1, 2), name="immutable"),
    change(rules(STRING, {"rule": "oldSelf == 'a' || self == oldSelf", "message": "m"}), ("a", "b"), ("b", "c"), name="transition"),
    change(rules({**STRING, "maxLength": 5}, {"rule": "oldSelf.hasValue() ? self == oldSelf.value() : self == 'a'", "message": "m", "optionalOldSelf": True}), ("a", "a"), ("a", "b"), name="optional old self"),
    x(rules({**STRING, "maxLength": 5}, {"rule": "oldSelf.hasValue() ? self == oldSelf.value() : self == 'a'", "message": "m", "optionalOldSelf": True}), "a", "b", name="optional old self on create"),
    change({"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": obj({"k": STRING, "v": rules(INT, {"rule": "self >= oldSelf", "message": "grows"})}, required=["k"])},
           ([{"k": "a", "v": 1}, {"k": "b", "v": 2}], [{"k": "b", "v": 1}, {"k": "a", "v": 1}]), ([{"k": "a", "v": 1}], [{"k": "c", "v": 0}]), name="transition in map list"),
    change({"type": "object", "maxProperties": 5, "additionalProperties": rules(INT, {"rule": "self >= oldSelf", "message": "grows"})}, ({"a": 1}, {"a": 0, "b": 0}), name="transition in map"),
    change(obj({"a": {**STRING, "maxLength": 3}, "b": INT}), ({"a": "abcdef"}, {"a": "abcdef", "b": 1}), ({"a": "abcdef"}, {"a": "abcdeg"}), name="ratcheting max length", old_schema=spec({"x": obj({"a": STRING, "b": INT})})),
    change(obj({"a": rules({**STRING, "maxLength": 30}, "self == 'x'"), "b": INT}), ({"a": "abc"}, {"a": "abc", "b": 1}), ({"a": "abc"}, {"a": "abd"}), name="ratcheting rules", old_schema=spec({"x": obj({"a": STRING, "b": INT})})),
    change(obj({"a": STRING, "b": INT, "c": STRING}, required=["c"]), ({"a": "x"}, {"a": "x", "b": 1}), name="ratcheting required", old_schema=spec({"x": obj({"a": STRING, "b": INT, "c": STRING})})),
    change({"type": "array", "x-kubernetes-list-type": "set", "items": STRING}, (["a", "a"], ["a", "a"]), (["a", "a"], ["a", "a", "b"]), name="ratcheting set", old_schema=spec({"x": {"type": "array", "items": STRING}})),
    change({"type": "array", "items": {**STRING, "maxLength": 1}}, (["aa"], ["aa"]), (["aa"], ["aa", "b"]), name="ratcheting atomic list", old_schema=spec({"x": {"type": "array", "items": STRING}})),
    change({**obj({"a": STRING, "b": INT}), "oneOf": [{"required": ["b"]}]}, ({"a": "x"}, {"a": "x"}), ({"a": "x"}, {"a": "y"}), name="ratcheting one of", old_schema=spec({"x": obj({"a": STRING, "b": INT})})),
    change({**STRING, "enum": ["a"]}, ("b", "b"), ("b", "c"), name="ratcheting enum", old_schema=spec({"x": STRING})),
    change(INT, ("b", "b"), ("b", "c"), name="ratcheting type", old_schema=spec({"x": STRING})),
    {"name": "ratcheting elsewhere", "schema": spec({"x": {**STRING, "maxLength": 1}, "y": STRING}), "old_schema": spec({"x": STRING, "y": STRING}),
     "steps": [{"old": {"spec": {"x": "aa"}}, "new": {"spec": {"x": "aa", "y": "b"}}}]},
]

DEFINITION = [
    {"name": "no type at root", "schema": {}},
    {"name": "string at root", "schema": {"type": "string"}},
    {"name": "field without type", "schema": spec({"a": {"description": "x"}})},
    {"name": "unknown type", "schema": spec({"a": {"type": "text"}})},
    {"name": "array without items", "schema": spec({"a": {"type": "array"}})},
    {"name": "items without type", "schema": spec({"a": {"type": "array", "items": {}}})},
    {"name": "map list without keys", "schema": spec({"a": {"type": "array", "items": obj({"k": STRING}), "x-kubernetes-list-type": "map"}})},
    {"name": "map list with a foreign key", "schema": spec({"a": {"type": "array", "items": obj({"k": STRING}), "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["z"]}})},
    {"name": "map list key not required", "schema": spec({"a": {"type": "array", "items": obj({"k": STRING}), "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}})},
    {"name": "map list of scalars", "schema": spec({"a": {"type": "array", "items": STRING, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}})},
    {"name": "list type on object", "schema": spec({"a": {"type": "object", "x-kubernetes-list-type": "set"}})},
    {"name": "unknown list type", "schema": spec({"a": {"type": "array", "items": STRING, "x-kubernetes-list-type": "bag"}})},
    {"name": "keys without map", "schema": spec({"a": {"type": "array", "items": obj({"k": STRING}), "x-kubernetes-list-map-keys": ["k"]}})},
    {"name": "set of maps", "schema": spec({"a": {"type": "array", "items": obj({"k": STRING}), "x-kubernetes-list-type": "set"}})},
    {"name": "set of lists", "schema": spec({"a": {"type": "array", "items": {"type": "array", "items": STRING}, "x-kubernetes-list-type": "set"}})},
    {"name": "unknown map type", "schema": spec({"a": {"type": "object", "x-kubernetes-map-type": "bag"}})},
    {"name": "map type on string", "schema": spec({"a": {"type": "string", "x-kubernetes-map-type": "atomic"}})},
    {"name": "properties and additional", "schema": spec({"a": {**obj({"k": STRING}), "additionalProperties": STRING}})},
    {"name": "additional false", "schema": spec({"a": {"type": "object", "additionalProperties": False}})},
    {"name": "additional at root", "schema": {"type": "object", "additionalProperties": STRING}},
    {"name": "unique items", "schema": spec({"a": {"type": "array", "items": STRING, "uniqueItems": True}})},
    {"name": "bad pattern", "schema": spec({"a": {"type": "string", "pattern": "("}})},
    {"name": "default of the wrong type", "schema": spec({"a": {"type": "string", "default": 5}})},
    {"name": "default out of bounds", "schema": spec({"a": {"type": "integer", "default": 5, "maximum": 3}})},
    {"name": "default with unknown field", "schema": spec({"a": {**obj({"k": STRING}), "default": {"z": 1}}})},
    {"name": "int or string with type", "schema": spec({"a": {"type": "string", "x-kubernetes-int-or-string": True}})},
    {"name": "embedded without preserve", "schema": spec({"a": {"type": "object", "x-kubernetes-embedded-resource": True}})},
    {"name": "embedded string", "schema": spec({"a": {"type": "string", "x-kubernetes-embedded-resource": True}})},
    {"name": "preserve false", "schema": spec({"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": False}})},
    {"name": "type in junctor", "schema": spec({"a": {"type": "string", "anyOf": [{"type": "string"}]}})},
    {"name": "description in junctor", "schema": spec({"a": {"type": "string", "anyOf": [{"description": "x"}]}})},
    {"name": "default in junctor", "schema": spec({"a": {"type": "string", "anyOf": [{"default": "x"}]}})},
    {"name": "property only in junctor", "schema": spec({"a": {**obj({"b": STRING}), "anyOf": [{"properties": {"c": {"minLength": 1}}}]}})},
    {"name": "metadata restricted", "schema": obj({"metadata": obj({"labels": {"type": "object"}})})},
    {"name": "metadata name", "schema": obj({"metadata": obj({"name": {"type": "string", "maxLength": 5}})})},
    {"name": "apiVersion typed wrong", "schema": obj({"apiVersion": INT, "kind": STRING})},
    {"name": "ref", "schema": spec({"a": {"$ref": "#/x"}})},
    {"name": "rule without rule", "schema": spec({"a": rules(STRING, {"rule": ""})})},
    {"name": "rule with syntax error", "schema": spec({"a": rules(STRING, "self ==")})},
    {"name": "rule with unknown variable", "schema": spec({"a": rules(STRING, "foo == 'x'")})},
    {"name": "rule with unknown field", "schema": spec({"a": rules(obj({"b": STRING}), "self.c == 'x'")})},
    {"name": "rule of wrong type", "schema": spec({"a": rules(STRING, "self == 1")})},
    {"name": "rule not boolean", "schema": spec({"a": rules(STRING, "self")})},
    {"name": "rule with unknown function", "schema": spec({"a": rules(STRING, "self.foo()")})},
    {"name": "message expression not a string", "schema": spec({"a": rules(STRING, {"rule": "self == 'a'", "messageExpression": "1"})})},
    {"name": "message with line break", "schema": spec({"a": rules(STRING, {"rule": "self == 'a'", "message": "a\nb"})})},
    {"name": "empty message", "schema": spec({"a": rules(STRING, {"rule": "self == 'a'", "message": " "})})},
    {"name": "rule with line break needs a message", "schema": spec({"a": rules(STRING, "self\n== 'a'")})},
    {"name": "unknown reason", "schema": spec({"a": rules(STRING, {"rule": "self == 'a'", "reason": "Foo"})})},
    {"name": "field path unknown", "schema": spec({"a": rules(obj({"b": STRING}), {"rule": "self.b == 'a'", "fieldPath": ".z"})})},
    {"name": "old self in atomic list", "schema": spec({"a": {"type": "array", "maxItems": 3, "items": rules(STRING, "self == oldSelf")}})},
    {"name": "optional old self without use", "schema": spec({"a": rules(STRING, {"rule": "self == 'a'", "optionalOldSelf": True})})},
    {"name": "too costly", "schema": spec({"a": rules({"type": "array", "items": {"type": "array", "items": STRING}}, "self.all(e, e.all(f, self.exists(g, g.exists(h, h == f))))")})},
    {"name": "costly but bounded", "schema": spec({"a": rules({"type": "array", "maxItems": 5, "items": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 10}}}, "self.all(e, e.all(f, self.exists(g, g.exists(h, h == f))))")})},
    {"name": "nullable default null", "schema": spec({"a": {"type": "string", "nullable": True, "default": None}})},
    {"name": "enum of wrong type", "schema": spec({"a": {"type": "string", "enum": [1]}})},
    {"name": "format on integer", "schema": spec({"a": {"type": "integer", "format": "int32"}})},
    {"name": "fine", "schema": spec({"a": STRING})},
]


def ap(body, manager="one", **more):
    return {"verb": "apply", "manager": manager, "body": {"spec": body} if "spec" not in body and "metadata" not in body and "status" not in body else body, **more}


def up(body, manager="two", verb="update", **more):
    return {"verb": verb, "manager": manager, "body": {"spec": body} if isinstance(body, dict) and "spec" not in body and "metadata" not in body and "status" not in body else body, **more}


WIDE = spec({
    "s": STRING, "i": INT, "o": obj({"a": STRING, "b": STRING, "p": obj({"q": STRING})}),
    "m": {"type": "object", "additionalProperties": STRING}, "mm": {"type": "object", "additionalProperties": obj({"a": STRING, "b": STRING})},
    "am": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": STRING},
    "ao": {**obj({"a": STRING, "b": STRING}), "x-kubernetes-map-type": "atomic"},
    "al": {"type": "array", "items": STRING}, "set": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
    "iset": {"type": "array", "items": INT, "x-kubernetes-list-type": "set"},
    "ports": PORTS,
    "kl": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": obj({"k": STRING, "v": STRING, "w": STRING, "o": obj({"a": STRING, "b": STRING})}, required=["k"])},
    "any": ANY, "io": {"x-kubernetes-int-or-string": True}, "d": {"type": "string", "default": "dd"}, "n": {"type": "string", "nullable": True},
})
WIDE["properties"]["status"] = obj({"a": STRING, "conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": obj({"type": STRING, "status": STRING}, required=["type"])}})
EVERYTHING = {"s": "x", "i": 1, "o": {"a": "1", "p": {"q": "2"}}, "m": {"k": "v"}, "mm": {"k": {"a": "1"}}, "am": {"k": "v"}, "ao": {"a": "1"}, "al": ["a", "b"], "set": ["a", "b"], "iset": [2, 1], "ports": [{"port": 80, "name": "http", "tags": ["t"]}, {"port": 80, "protocol": "UDP"}],
              "kl": [{"k": "a", "v": "1", "o": {"a": "1"}}], "any": {"x": [1, {"y": 2}], "z": {"w": "v"}}, "io": "5%", "n": None}


def case(name, *steps, schema=None, **more):
    return {"name": name, "schema": schema or WIDE, "steps": list(steps), **more}


APPLY = [
    case("apply creates everything", ap(EVERYTHING), ap(EVERYTHING), ap({"s": "x"})),
    case("create then apply the same", up(EVERYTHING, "two", "create"), ap(EVERYTHING), ap({})),
    case("update owns changes", up({"s": "x", "o": {"a": "1"}}, "two", "create"), up({"s": "y", "o": {"a": "1", "b": "2"}}, "three"), up({"o": {"a": "1", "b": "2"}}, "four"), up({"s": "z", "al": [], "m": {}, "o": {}}, "three")),
    case("conflict and force", ap({"s": "x", "i": 1}), ap({"s": "y", "i": 2}, "two"), ap({"s": "y"}, "two"), ap({"s": "y", "i": 2}, "two", force=True), ap({"s": "x", "i": 1})),
    case("conflict with update", ap({"s": "x"}), up({"spec": {"s": "y"}}, "kubectl-edit", "merge"), ap({"s": "z"}), ap({"s": "y"}), ap({"s": "z"}), ap({"s": "z"}, force=True)),
    case("conflicts with several", ap({"s": "x", "o": {"a": "1"}}, "one"), ap({"i": 1}, "two"), up({"spec": {"al": ["x"]}}, "three", "merge"), ap({"s": "y", "i": 2, "al": ["y"], "o": {"a": "2"}}, "four")),
    case("shared ownership", ap({"s": "x"}, "one"), ap({"s": "x"}, "two"), ap({"s": "y"}, "one"), ap({}, "one"), ap({}, "two")),
    case("removal of leaf", ap({"s": "x", "i": 1}), ap({"i": 1})),
    case("removal of object", ap({"o": {"a": "1", "b": "2"}}), ap({"o": {"a": "1"}}), ap({"o": {}}), ap({})),
    case("removal of nested object", ap({"o": {"a": "1", "p": {"q": "1"}}}), ap({"o": {"a": "1"}}), ap({})),
    case("removal keeps others in object", ap({"o": {"a": "1"}}, "one"), ap({"o": {"b": "1"}}, "two"), ap({}, "one"), ap({}, "two")),
    case("removal keeps update in object", ap({"o": {"a": "1"}}, "one"), up({"spec": {"o": {"b": "1"}}}, "two", "merge"), ap({}, "one")),
    case("map entries", ap({"m": {"a": "1", "b": "2"}}, "one"), ap({"m": {"c": "3"}}, "two"), ap({"m": {"a": "1"}}, "one"), ap({}, "one"), ap({}, "two")),
    case("map of objects", ap({"mm": {"k": {"a": "1"}}}, "one"), ap({"mm": {"k": {"b": "1"}}}, "two"), ap({}, "one"), ap({"mm": {}}, "two"), ap({}, "two")),
    case("atomic map", ap({"am": {"a": "1"}}, "one"), ap({"am": {"b": "1"}}, "two"), ap({"am": {"b": "1"}}, "two", force=True), ap({}, "one"), ap({}, "two")),
    case("atomic object", ap({"ao": {"a": "1"}}, "one"), ap({"ao": {"b": "1"}}, "two"), ap({"ao": {"b": "1"}}, "one")),
    case("atomic list", ap({"al": ["a"]}, "one"), ap({"al": ["a", "b"]}, "two"), ap({"al": ["a", "b"]}, "one"), ap({}, "one")),
    case("set", ap({"set": ["a", "b"]}, "one"), ap({"set": ["c", "b"]}, "two"), ap({"set": ["a"]}, "one"), ap({}, "one"), ap({}, "two")),
    case("set order", ap({"set": ["a", "b", "c"]}, "one"), ap({"set": ["d", "c", "a"]}, "two"), ap({"set": ["z", "b", "y"]}, "three")),
    case("numbers in sets", ap({"iset": [1, 2]}, "one"), ap({"iset": [2, 3]}, "two"), ap({"iset": [1]}, "one")),
    case("map list", ap({"kl": [{"k": "a", "v": "1"}, {"k": "b", "v": "2"}]}, "one"), ap({"kl": [{"k": "c", "v": "3"}, {"k": "a", "w": "4"}]}, "two"), ap({"kl": [{"k": "a"}]}, "one"), ap({}, "one"), ap({}, "two")),
    case("map list conflict", ap({"kl": [{"k": "a", "v": "1"}]}, "one"), ap({"kl": [{"k": "a", "v": "2", "o": {"a": "1"}}]}, "two"), ap({"kl": [{"k": "a", "v": "2"}]}, "two", force=True)),
    case("map list order", ap({"kl": [{"k": "a"}, {"k": "b"}, {"k": "c"}, {"k": "d"}]}, "one"), ap({"kl": [{"k": "x"}, {"k": "d"}, {"k": "y"}, {"k": "b"}]}, "two"), ap({"kl": [{"k": "d"}, {"k": "a"}]}, "three")),
    case("map list nested", ap({"kl": [{"k": "a", "o": {"a": "1", "b": "2"}}]}, "one"), ap({"kl": [{"k": "a", "o": {"a": "1"}}]}, "one"), up({"spec": {"kl": [{"k": "a", "v": "9", "o": {"a": "1"}}]}}, "two", "merge"), ap({"kl": []}, "one"), ap({}, "one")),
    case("keys with defaults", ap({"ports": [{"port": 80, "name": "a"}]}, "one"), ap({"ports": [{"port": 80, "protocol": "TCP", "name": "b"}]}, "two"), ap({"ports": [{"port": 80, "protocol": "UDP", "name": "b"}]}, "two"), ap({"ports": []}, "one")),
    case("set in map list", ap({"ports": [{"port": 1, "tags": ["a"]}]}, "one"), ap({"ports": [{"port": 1, "tags": ["b"]}]}, "two"), ap({"ports": [{"port": 1}]}, "one")),
    case("untyped", ap({"any": {"a": 1, "b": {"c": [1]}}}, "one"), ap({"any": {"b": {"d": 1}}}, "two"), ap({"any": {"b": {"c": [2]}}}, "two"), ap({"any": {"a": 1}}, "one"), ap({}, "one")),
    case("change of shape", ap({"any": {"a": 1}}, "one"), ap({"any": "x"}, "two"), ap({"any": "x"}, "two", force=True), ap({"any": [1]}, "two"), ap({"any": {"b": 1}}, "one", force=True)),
    case("empty and null", ap({"o": {}, "m": {}, "al": [], "set": [], "kl": [], "n": None, "any": {}}, "one"), ap({"o": {"a": "1"}, "m": {"a": "1"}, "al": ["1"], "set": ["1"], "kl": [{"k": "1"}], "n": "1", "any": {"a": 1}}, "two"), ap({"o": {"a": "1"}, "m": {"a": "1"}, "al": ["1"], "set": ["1"], "kl": [{"k": "1"}], "n": "1", "any": {"a": 1}}, "two", force=True)),
    case("nulls", ap({"s": None, "o": None, "al": None}, "one"), ap({"o": {"a": None}}, "one")),
    case("metadata", ap({"metadata": {"labels": {"a": "1"}, "annotations": {"b": "2"}, "finalizers": ["x.example/y"], "ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1"}]}}, "one"),
         ap({"metadata": {"labels": {"a": "2"}}}, "two"), ap({"metadata": {"labels": {"c": "2"}, "finalizers": ["x.example/z"], "ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "b", "uid": "2"}]}}, "two"), ap({"metadata": {}}, "one"), ap({"metadata": {}}, "two")),
    case("update of metadata", up({"metadata": {"labels": {"a": "1"}, "annotations": {"b": "2"}}}, "one", "create"), up({"metadata": {"labels": {"a": "2", "b": "3"}}}, "two", "merge"), up({"metadata": {"labels": None}}, "three", "merge")),
    case("status", up({"spec": {"s": "x"}, "status": {"a": "ignored"}}, "one", "create"), ap({"status": {"a": "1", "conditions": [{"type": "Ready", "status": "True"}]}}, "two", subresource="status"), up({"status": {"a": "2"}}, "three", "merge", subresource="status"), ap({"status": {"a": "3"}}, "two", subresource="status"), ap({"s": "y"}, "two"), ap({"status": {"conditions": []}}, "two", subresource="status"), status=True),
    case("removal by update", ap({"s": "x", "kl": [{"k": "a", "v": "1"}]}, "one"), up({}, "two"), ap({"s": "x"}, "one")),
    case("managed fields cleared", ap({"s": "x"}, "one"), up({"metadata": {"managedFields": [{}]}}, "two", "merge"), up({"spec": {"s": "y"}}, "three", "merge"), ap({"i": 1}, "one")),
    case("managed fields cleared conflict", ap({"s": "x"}, "one"), up({"metadata": {"managedFields": [{}]}}, "two", "merge"), ap({"s": "y"}, "one")),
    case("managed fields edited", ap({"s": "x"}, "one"), up([{"op": "replace", "path": "/metadata/managedFields/0/manager", "value": "renamed"}], "two", "json"), ap({"s": "y"}, "one")),
    case("managed fields emptied", ap({"s": "x"}, "one"), up({"metadata": {"managedFields": []}}, "two", "merge"), up({"metadata": {"managedFields": None}}, "two", "merge")),
    case("managed fields broken", ap({"s": "x"}, "one"), up({"metadata": {"managedFields": [{"manager": "x", "operation": "Foo"}]}}, "two", "merge")),
    case("managed fields in configuration", ap({"metadata": {"managedFields": []}}), ap({"metadata": {"managedFields": [{"manager": "x"}]}})),
    case("undeclared field", ap({"foo": 1, "kl": [{"k": "a", "bar": 1}], "mm": {"k": {"bar": 1}}}), ap({"foo": 1}), ap({"kl": [{"k": "a", "bar": 1}]}), ap({"ports": [{"port": 1, "bar": 1}]})),
    case("wrong types", ap({"s": 1}), ap({"o": "x"}), ap({"kl": {}}), ap({"al": "x"}), ap({"i": "x", "s": "x"}), ap({"io": True}), ap({"m": {"a": 1}})),
    case("repeated keys", ap({"kl": [{"k": "a"}, {"k": "a"}]}), ap({"set": ["a", "a"]}), ap({"kl": [{"v": "a"}]}), ap({"ports": [{"name": "x"}]}), ap({"kl": ["x"]}), ap({"set": [{}]})),
    case("repeated keys in live", up({"s": "x"}, "two", "create"), ap({"kl": [{"k": "a", "v": "1"}]})),
    case("defaults are owned", up({"s": "x"}, "two", "create"), ap({"d": "ee"}), ap({"d": "dd"}), ap({}), ap({"d": "ee"}, force=True), ap({})),
    case("default on apply", ap({"s": "x"}), ap({"d": "ee"}, "two"), ap({}, "two")),
    case("kubectl migration", up({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"apiVersion\":\"golden.example.com/v1\",\"kind\":\"@KIND@\",\"metadata\":{\"annotations\":{},\"name\":\"a\"},\"spec\":{\"s\":\"x\"}}\n"}}, "spec": {"s": "x", "i": 1}}, "kubectl-client-side-apply", "create"),
         ap({"s": "y"}, "kubectl"), ap({"s": "y", "i": 2}, "kubectl"), ap({"s": "z"}, "other")),
    case("kubectl migration with drift", up({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"apiVersion\":\"golden.example.com/v1\",\"kind\":\"@KIND@\",\"metadata\":{\"annotations\":{},\"name\":\"a\"},\"spec\":{\"s\":\"x\"}}\n"}}, "spec": {"s": "x", "i": 1}}, "kubectl-client-side-apply", "create"),
         up({"spec": {"s": "drift"}}, "someone", "merge"), ap({"s": "y"}, "kubectl")),
    case("many updates", up({"m": {"k0": "0"}}, "m0", "create"), *[up({"spec": {"m": {f"k{i}": str(i)}}}, f"m{i}", "merge") for i in range(1, 14)]),
    case("same manager updates", up({"s": "x"}, "two", "create"), up({"spec": {"i": 1}}, "two", "merge"), up({"spec": {"i": 1}}, "two", "merge"), up({"spec": {"s": None}}, "two", "merge")),
    case("update of list entries", up({"kl": [{"k": "a", "v": "1"}, {"k": "b", "v": "1"}], "set": ["a", "b"], "al": ["a"]}, "one", "create"), up({"spec": {"kl": [{"k": "b", "v": "2", "o": {"a": "1"}}], "set": ["b", "c"], "al": ["a", "b"]}}, "two", "merge")),
    case("update takes from applier", ap({"kl": [{"k": "a", "v": "1"}], "o": {"a": "1"}, "m": {"a": "1"}}, "one"), up({"spec": {"kl": [{"k": "a", "v": "2"}], "o": None, "m": {"a": "2"}}}, "two", "merge")),
    case("apply over update takes both", up({"o": {"a": "1", "b": "2"}}, "two", "create"), ap({"o": {"a": "1"}}, "one"), ap({}, "one")),
    case("reordered map list", ap({"kl": [{"k": "a"}, {"k": "b"}]}, "one"), ap({"kl": [{"k": "b"}, {"k": "a"}]}, "one"), up({"spec": {"kl": [{"k": "a"}, {"k": "b"}]}}, "two", "merge")),
    case("reordered set", ap({"set": ["a", "b"]}, "one"), ap({"set": ["b", "a"]}, "one")),
    case("different name", {"verb": "apply", "manager": "one", "body": {"spec": {"s": "x"}}}, {"verb": "merge", "manager": "one", "body": {"spec": {"s": {"a": 1}}}}),
    case("json patch", up(EVERYTHING, "one", "create"), up([{"op": "remove", "path": "/spec/zzz"}], "two", "json"), up([{"op": "test", "path": "/spec/s", "value": "no"}], "two", "json"), up([{"op": "replace", "path": "/spec/zzz/y", "value": 1}], "two", "json"), up([{"op": "add", "path": "/spec/al/-", "value": "c"}], "two", "json"), up([{"op": "add", "path": "/spec/al/9", "value": "c"}], "two", "json"), up([{"op": "copy", "from": "/spec/zz", "path": "/spec/s"}], "two", "json"), up([{"op": "move", "from": "/spec/m/k", "path": "/spec/m/l"}], "two", "json"), up([{"op": "foo", "path": "/x"}], "two", "json"), up([{"op": "add"}], "two", "json"), up({"a": 1}, "two", "json"), up([{"op": "remove", "path": "/spec/al/7"}], "two", "json"), up([{"op": "test", "path": "/spec/zzz", "value": None}], "two", "json"), up([{"op": "replace", "path": "/metadata/labels/a", "value": "b"}], "two", "json"), up([{"op": "add", "path": "/metadata/labels/a", "value": "b"}], "two", "json")),
]

TABLE = [
    {"name": "no columns", "columns": [], "object": {}},
    {"name": "types", "columns": [
        {"name": "S", "type": "string", "jsonPath": ".spec.s"}, {"name": "I", "type": "integer", "jsonPath": ".spec.i"}, {"name": "F", "type": "number", "jsonPath": ".spec.f"}, {"name": "B", "type": "boolean", "jsonPath": ".spec.b"}, {"name": "D", "type": "date", "jsonPath": ".spec.d"},
        {"name": "SI", "type": "string", "jsonPath": ".spec.i"}, {"name": "SF", "type": "string", "jsonPath": ".spec.f"}, {"name": "SB", "type": "string", "jsonPath": ".spec.b"}, {"name": "SO", "type": "string", "jsonPath": ".spec.o"}, {"name": "SL", "type": "string", "jsonPath": ".spec.l"}, {"name": "SN", "type": "string", "jsonPath": ".spec.n"},
        {"name": "IS", "type": "integer", "jsonPath": ".spec.s"}, {"name": "IF", "type": "integer", "jsonPath": ".spec.f"}, {"name": "BS", "type": "boolean", "jsonPath": ".spec.s"}, {"name": "DS", "type": "date", "jsonPath": ".spec.s"}, {"name": "DI", "type": "date", "jsonPath": ".spec.i"}, {"name": "NI", "type": "number", "jsonPath": ".spec.i"}, {"name": "NS", "type": "number", "jsonPath": ".spec.s"},
        {"name": "missing", "type": "string", "jsonPath": ".spec.zzz"}, {"name": "p", "type": "string", "jsonPath": ".spec.s", "priority": 1, "description": "desc", "format": "byte"}],
     "object": {"spec": {"s": "x", "i": 5, "f": 1.5, "b": True, "d": "2020-01-01T00:00:00Z", "o": {"b": 1, "a": "x"}, "l": [1, "a", None, {"c": 2}], "n": None}}},
    {"name": "paths", "columns": [
        {"name": "A", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}, {"name": "B", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].status"}, {"name": "C", "type": "string", "jsonPath": ".metadata.labels.a\\.b/c"}, {"name": "D", "type": "string", "jsonPath": ".metadata.labels['a\\.b/c']"},
        {"name": "E", "type": "string", "jsonPath": ".spec.l[0]"}, {"name": "F", "type": "string", "jsonPath": ".spec.l[-1]"}, {"name": "G", "type": "string", "jsonPath": ".spec.l[*]"}, {"name": "H", "type": "string", "jsonPath": ".spec.l[0:2]"}, {"name": "J", "type": "string", "jsonPath": "..type"},
        {"name": "K", "type": "string", "jsonPath": ".status.conditions[*].type"}, {"name": "L", "type": "string", "jsonPath": ".status.conditions[?(@.n>1)].type"}, {"name": "M", "type": "string", "jsonPath": ".status.conditions[?(@.zz)].type"}, {"name": "N", "type": "string", "jsonPath": ".spec.l[9]"}, {"name": "O", "type": "string", "jsonPath": ".spec.l[0,2]"}, {"name": "P", "type": "integer", "jsonPath": ".spec.nums[*]"},
        {"name": "Q", "type": "string", "jsonPath": ".status.conditions[?(@.type!=\"Ready\")].status"}, {"name": "R", "type": "string", "jsonPath": ".spec['o']['a']"}, {"name": "S", "type": "string", "jsonPath": ".spec['o','l']"}, {"name": "T", "type": "string", "jsonPath": ".spec.l.a"}, {"name": "U", "type": "string", "jsonPath": ".spec.s.a"}, {"name": "V", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "W", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"None\")].status"}, {"name": "X", "type": "string", "jsonPath": ".status.none[?(@.type==\"None\")].status"}],
     "object": {"metadata": {"labels": {"a.b/c": "label"}}, "spec": {"s": "x", "l": ["a", "b", "c"], "o": {"a": "1", "b": "2"}, "nums": [3, 4]}, "status": {"conditions": [{"type": "Ready", "status": "True", "n": 1}, {"type": "Other", "status": "False", "n": 2, "zz": True}]}}},
]

OPENAPI = rules(
    obj({
        "spec": obj({"s": {**STRING, "description": "a text", "pattern": "^a"}, "i": {**INT, "default": 1, "minimum": 0}, "d": {"type": "string", "default": "x"}, "n": {**STRING, "nullable": True}, "io": {"x-kubernetes-int-or-string": True, "anyOf": [INT, STRING]},
                     "any": ANY, "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "emb": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
                     "l": PORTS, "m": {"type": "object", "additionalProperties": INT}, "one": {**obj({"a": STRING, "b": STRING}), "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, "e": {**STRING, "enum": ["a", "b"]}}, required=["s"], description="what is wanted"),
        "status": obj({"n": INT}),
    }, description="a thing", required=["spec"]),
    {"rule": "self.metadata.name != ''", "message": "m"},
)


def random_pair(r):
    return {k: r.choice("xy") for k in "ab" if r.random() < 0.5}


def random_list(r, names, make):
    chosen = [n for n in names if r.random() < 0.5]
    r.shuffle(chosen)
    return [make(n) for n in chosen]


def random_entry(r, name):
    entry = {"k": name}
    if r.random() < 0.5:
        entry["v"] = r.choice("xy")
    if r.random() < 0.4:
        entry["o"] = random_pair(r)
    return entry


def random_port(r, number):
    port = {"port": number}
    if r.random() < 0.5:
        port["protocol"] = r.choice(["TCP", "UDP"])
    if r.random() < 0.5:
        port["name"] = r.choice("xy")
    if r.random() < 0.4:
        port["tags"] = random_list(r, "ab", str)
    return port


def random_any(r):
    return r.choice([1, "x", {"a": 1}, {"a": {"b": [1]}}, {"a": {"c": "x"}, "b": 2}, [1, 2]])


def random_spec(r):
    makers = {
        "s": lambda: r.choice("xy"), "i": lambda: r.randrange(2), "d": lambda: r.choice(["dd", "ee"]),
        "o": lambda: {**random_pair(r), **({"p": {"q": r.choice("xy")}} if r.random() < 0.4 else {})},
        "m": lambda: {k: r.choice("xy") for k in "abc" if r.random() < 0.5},
        "mm": lambda: {k: random_pair(r) for k in "ab" if r.random() < 0.5},
        "am": lambda: {k: r.choice("xy") for k in "ab" if r.random() < 0.5},
        "ao": lambda: random_pair(r), "al": lambda: random_list(r, "abc", str), "set": lambda: random_list(r, "abcd", str),
        "kl": lambda: random_list(r, "abc", lambda n: random_entry(r, n)), "ports": lambda: random_list(r, [80, 81], lambda n: random_port(r, n)),
        "any": lambda: random_any(r),
    }
    return {name: make() for name, make in makers.items() if r.random() < 0.3}


def random_step(r):
    manager = r.choice(["one", "two", "three", "kubectl"])
    verb = r.choice(["apply", "apply", "apply", "merge", "update"])
    spec = random_spec(r)
    if verb == "apply":
        return ap({"spec": spec}, manager, force=r.random() < 0.4)
    if verb == "merge":
        for name in [n for n in ("s", "o", "m", "kl", "any") if n not in spec and r.random() < 0.2]:
            spec[name] = None
        return up({"spec": spec}, manager, "merge")
    return up({"spec": spec}, manager)


def random_case(seed):
    r = __import__("random").Random(seed)
    first = up({"spec": random_spec(r)}, "creator", "create") if r.random() < 0.3 else ap({"spec": random_spec(r)})
    return case(f"seed {seed}", first, *[random_step(r) for _ in range(r.randrange(3, 8))])


RANDOM = [random_case(seed) for seed in range(80)]


# Expressions with `self` = OBJECT; recorded is whether each holds, fails to evaluate, or is refused.
EXPRESSIONS = r"""
1 + 2 == 3
7 / 2 == 3
-7 / 2 == -3
7 % 3 == 1
-7 % 3 == -1
2 * 3 - 4 == 2
1.5 + 1.5 == 3.0
1 == 1.0
1 < 1.5
2u > 1u
1u == 1
0x10 == 16
1e3 == 1000.0
-1 < 0
- 1 == -1
1--1 == 2
!!true
!(!true)
9223372036854775807 + 1 > 0
1 / 0 == 1
1 % 0 == 1
'a' < 'b'
'a' + 'b' == 'ab'
"a\tb".size() == 3
r'a\tb'.size() == 4
'äöü'.size() == 3
size('abc') == 3
'abc'.contains('b')
'abc'.startsWith('ab') && 'abc'.endsWith('bc')
'abc'.matches('^a.c$')
'abc'.matches('b')
'abc'.charAt(1) == 'b'
'abcabc'.indexOf('c') == 2
'abcabc'.indexOf('c', 3) == 5
'abcabc'.lastIndexOf('a') == 3
'abc'.replace('b', 'x') == 'axc'
'aaa'.replace('a', 'b', 2) == 'bba'
'a,b,c'.split(',') == ['a', 'b', 'c']
'a,b,c'.split(',', 2) == ['a', 'b,c']
['a', 'b'].join('-') == 'a-b'
['a', 'b'].join() == 'ab'
'abcd'.substring(1, 3) == 'bc'
'abcd'.substring(2) == 'cd'
' a '.trim() == 'a'
'Ab'.lowerAscii() == 'ab' && 'Ab'.upperAscii() == 'AB'
'abc'.reverse() == 'cba'
strings.quote('a') == '"a"'
'%s has %d'.format(['a', 3]) == 'a has 3'
'%.2f'.format([1.234]) == '1.23'
'%x %o %b'.format([255, 8, 5]) == 'ff 10 101'
'abc 123'.find('[0-9]+') == '123'
'abc 123 45'.findAll('[0-9]+') == ['123', '45']
'abc 123 45'.findAll('[0-9]+', 1) == ['123']
[1, 2, 3].size() == 3
[1, 2] + [3] == [1, 2, 3]
2 in [1, 2, 3]
!(5 in [1, 2, 3])
[1, 2, 3][1] == 2
[1, 2, 3][5] == 2
[1, 2, 3].all(x, x > 0)
[1, 2, 3].exists(x, x == 2)
[1, 2, 2].exists_one(x, x == 2)
[1, 2, 3].map(x, x * 2) == [2, 4, 6]
[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]
[1, 2, 3].filter(x, x > 1) == [2, 3]
[3, 1, 2].min() == 1 && [3, 1, 2].max() == 3
[1, 2, 3].sum() == 6
[1, 2, 3].isSorted() && !['b', 'a'].isSorted()
[1, 2, 3].indexOf(2) == 1
[1, 2, 2].lastIndexOf(2) == 2
[[1, 2], [3]].flatten() == [1, 2, 3]
[1, 2, 2].distinct() == [1, 2]
[3, 1, 2].sort() == [1, 2, 3]
[1, 2, 3].slice(1, 3) == [2, 3]
[1, 2, 3].reverse() == [3, 2, 1]
['b', 'a'].sortBy(x, x) == ['a', 'b']
lists.range(3) == [0, 1, 2]
[1, 2].first().value() == 1
{'a': 1}.a == 1
{'a': 1}['a'] == 1
{'a': 1, 'b': 2}.size() == 2
'a' in {'a': 1}
{'a': 1}.all(k, k == 'a')
{'a': 1}.exists(k, k == 'b')
{'a': 1}.map(k, k) == ['a']
{'a': 1} == {'a': 1}
{'a': 1}['b'] == 1
has({'a': 1}.a) && !has({'a': 1}.b)
[1, 2].all(i, v, v == i + 1)
[1, 2].transformList(i, v, v * 2) == [2, 4]
{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}
cel.bind(x, 5, x * x == 25)
true ? true : false
(1 > 2 ? 'a' : 'b') == 'b'
false && 1 / 0 == 1
true || 1 / 0 == 1
1 / 0 == 1 || true
1 / 0 == 1 && false
[1, 0].exists(x, 1 / x == 1)
null == null
type(1) == int && type('a') == string && type(1.0) == double && type(true) == bool
type([1]) == list && type({'a': 1}) == map && type(null) == null_type
type(1u) == uint && type(b'a') == bytes && type(type(1)) == type
int('5') == 5 && int(5.9) == 5 && int(5u) == 5
int('x') == 5
uint('5') == 5u && double('1.5') == 1.5 && double(1) == 1.0
string(5) == '5' && string(1.5) == '1.5' && string(true) == 'true'
bool('true') && bool('1')
bytes('a') == b'a' && string(b'a') == 'a'
dyn(1) == 1
dyn('a') == dyn(1)
timestamp('2024-01-01T00:00:00Z') < timestamp('2024-01-02T00:00:00Z')
timestamp('2024-01-01T00:00:00Z') + duration('24h') == timestamp('2024-01-02T00:00:00Z')
timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z') == duration('86400s')
timestamp('2024-03-05T06:07:08Z').getFullYear() == 2024
timestamp('2024-03-05T06:07:08Z').getMonth() == 2
timestamp('2024-03-05T06:07:08Z').getDate() == 5 && timestamp('2024-03-05T06:07:08Z').getDayOfMonth() == 4
timestamp('2024-03-05T06:07:08Z').getDayOfWeek() == 2 && timestamp('2024-03-05T06:07:08Z').getDayOfYear() == 64
timestamp('2024-03-05T06:07:08Z').getHours() == 6 && timestamp('2024-03-05T06:07:08Z').getMinutes() == 7
timestamp('2024-03-05T06:07:08Z').getHours('+02:00') == 8
duration('1h30m').getMinutes() == 90 && duration('90s').getSeconds() == 90
duration('1.5s') == duration('1500ms')
string(duration('90m')) == '5400s'
string(timestamp('2024-01-01T00:00:00Z')) == '2024-01-01T00:00:00Z'
int(timestamp('1970-01-01T00:01:00Z')) == 60
duration('x') == duration('1s')
optional.of(1).hasValue() && optional.of(1).value() == 1
!optional.none().hasValue()
optional.none().orValue(5) == 5
optional.of(1).or(optional.of(2)).value() == 1
optional.ofNonZeroValue('').hasValue() == false
optional.of(2).optMap(x, x * 2).value() == 4
{'a': 1}[?'a'].value() == 1
{'a': 1}[?'b'].orValue(7) == 7
[1, 2][?0].value() == 1
{'a': {'b': 1}}.?a.b.orValue(2) == 1
sets.contains([1, 2, 3], [2, 1])
sets.equivalent([1, 2, 1], [2, 1])
sets.intersects([1, 2], [2, 3])
quantity('1Gi') == quantity('1024Mi')
quantity('1').isLessThan(quantity('1500m'))
quantity('1k').compareTo(quantity('1000')) == 0
quantity('100m').add(quantity('900m')) == quantity('1')
quantity('2').sub(1).asInteger() == 1
quantity('1.5').isInteger() == false && quantity('1').sign() == 1
quantity('50').asApproximateFloat() == 50.0
isQuantity('1Gi') && !isQuantity('1X')
ip('1.2.3.4').family() == 4 && ip('::1').isLoopback()
isIP('1.2.3.4') && !isIP('1.2.3')
ip.isCanonical('::1') && !ip.isCanonical('0:0::1')
ip('10.0.0.1') == ip('10.0.0.1')
string(ip('1.2.3.4')) == '1.2.3.4'
cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')
cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.0/8').prefixLength() == 8
cidr('10.0.0.0/8').ip() == ip('10.0.0.0')
isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0')
url('https://a.example:80/b?c=d').getHost() == 'a.example:80'
url('https://a.example:80/b?c=d').getHostname() == 'a.example' && url('https://a.example:80/b?c=d').getPort() == '80'
url('https://a.example:80/b?c=d').getEscapedPath() == '/b' && url('https://a.example:80/b?c=d').getQuery() == {'c': ['d']}
isURL('https://a') && !isURL('a b')
semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.2.3').minor() == 2
isSemver('1.2.3') && !isSemver('v1.2')
semver('v1.2', true).major() == 1
math.greatest(1, 2, 3) == 3 && math.least(1, 2) == 1
math.ceil(1.2) == 2.0 && math.floor(1.8) == 1.0 && math.round(1.5) == 2.0
math.abs(-1) == 1 && math.sign(-5) == -1
base64.encode(b'hello') == 'aGVsbG8=' && base64.decode('aGVsbG8=') == b'hello'
format.named('dns1123Label').hasValue()
format.dns1123Label().validate('A').hasValue()
!format.dns1123Label().validate('a').hasValue()
!format.date().validate('2024-01-01').hasValue()
!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()
!format.qualifiedName().validate('a/b').hasValue()
jsonpatch.escapeKey('a/b~c') == 'a~1b~0c'
self.s == 'text'
self.i == 3 && self.d == 1.5
self.l == ['a', 'b']
self.l.all(x, self.m[x] == x)
self.m.a == 'a'
has(self.none)
!has(self.none)
self.none == 'x'
self.o.a_b == 1 && self.o.c__dash__d == 2
self.kl.filter(e, e.k == 'b')[0].v == 2
self.kl.map(e, e.k).exists(k, k == 'a')
self.t > timestamp('2024-01-01T00:00:00Z')
self.io == 5
string(self.io) == '5'
self.l.size() + self.m.size() == 4
self.l.exists(x, x.matches('^[ab]$')) ? self.i > 2 : false
self.kl.all(a, self.kl.exists_one(b, a.k == b.k))
self == oldSelf
""".strip().splitlines()

EXPRESSION_SCHEMA = {
    "s": {**STRING, "maxLength": 20}, "i": INT, "d": {"type": "number"}, "l": {"type": "array", "maxItems": 5, "items": {**STRING, "maxLength": 5}},
    "m": {"type": "object", "maxProperties": 5, "additionalProperties": {**STRING, "maxLength": 5}}, "none": {**STRING, "maxLength": 5},
    "o": obj({"a_b": INT, "c-d": INT}), "t": {**STRING, "format": "date-time"}, "io": {"x-kubernetes-int-or-string": True},
    "kl": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": obj({"k": {**STRING, "maxLength": 5}, "v": INT}, required=["k"])},
}
OBJECT = {"s": "text", "i": 3, "d": 1.5, "l": ["a", "b"], "m": {"a": "a", "b": "b"}, "o": {"a_b": 1, "c-d": 2}, "t": "2025-01-01T00:00:00Z", "io": 5, "kl": [{"k": "a", "v": 1}, {"k": "b", "v": 2}]}
