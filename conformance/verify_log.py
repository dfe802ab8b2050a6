#!/usr/bin/env python3
"""Checks session logs of the agentsessions.v1 format. Knows the published format only; needs Python 3.8 and nothing else.

    verify_log.py PATH...      exported logs (.jsonl), folders of them, or SQLite files of schema version 2
    verify_log.py --golden     recomputes the published hashes

One line per log. Exit code 0: all sound. 1: a log was changed; its line names the record. 2: something cannot be read.

A log is sound when its records are numbered from 1 without a gap, each names the hash of the one before it, each content
hash is that of its event, everything is in its one canonical encoding, and incarnations (fences) never go back.
Not covered by the hashes, so that a change to another plausible value is not seen: a record's fence, the sign of a zero,
and how many records were cut off the end.
"""
import base64
import binascii
import hashlib
import json
import math
import os
import re
import sqlite3
import struct
import sys
from decimal import Decimal
from urllib.parse import unquote

# ---- The messages a log holds: number, name, type. '*' repeated, '?' explicit presence, '|x' member of oneof x. ----

MESSAGES = {
    "Event": [
        (2, "execution_id", "string"), (3, "ts", "Timestamp"), (4, "schema_version", "int32"), (7, "kind", "EventKind"),
        (8, "message", "Message|body"), (9, "model", "ModelCall|body"), (10, "tool", "ToolCall|body"),
        (11, "result", "ToolResult|body"), (12, "approval", "ApprovalRequest|body"),
        (13, "approval_result", "ApprovalResult|body"), (14, "usage", "Usage|body"), (15, "lifecycle", "Lifecycle|body"),
        (16, "end", "HarnessEnd|body"), (17, "error", "Error|body"), (18, "actor", "IdentityRef"),
        (19, "execution_start", "ExecutionStart|body"), (20, "parked", "ApprovalRef|body"),
    ],
    "Part": [
        (1, "text", "TextPart|part"), (2, "file", "FilePart|part"), (3, "data", "DataPart|part"),
        (4, "reasoning", "ReasoningPart|part"), (5, "tool_call", "ToolCall|part"), (6, "tool_result", "ToolResult|part"),
    ],
    "TextPart": [(1, "text", "string")],
    "FilePart": [
        (1, "mime", "string"), (2, "bytes", "bytes|source"), (3, "uri", "string|source"), (4, "name", "string"),
        (5, "digest", "string"),
    ],
    "DataPart": [(1, "data", "Struct")],
    "ReasoningPart": [
        (1, "provider", "string"), (2, "model_id", "string"), (3, "opaque_bytes", "bytes|opaque"),
        (4, "opaque_uri", "string|opaque"), (5, "summary", "Part*"), (6, "item_id", "string"), (7, "ordinal", "int32"),
        (8, "validity_scope", "string"), (9, "opaque_digest", "string"),
    ],
    "Message": [(1, "role", "string"), (2, "parts", "Part*")],
    "IdentityRef": [(1, "principal", "string"), (2, "issuer", "string"), (3, "subject", "string")],
    "ModelCall": [
        (1, "model", "string"), (2, "params", "map"), (3, "input_hash", "string"), (4, "id", "string"),
        (5, "messages", "Message*"), (6, "tools", "ToolDefinition*"), (7, "tool_choice", "ToolChoice"),
    ],
    "ToolDefinition": [(1, "name", "string"), (2, "description", "string"), (3, "input_schema", "Struct")],
    "ToolChoice": [(1, "mode", "Mode"), (2, "name", "string")],
    "Usage": [
        (1, "model", "string"), (2, "input_tokens", "int64"), (3, "output_tokens", "int64"), (4, "reasoning_tokens", "int64"),
    ],
    "ToolCall": [
        (1, "id", "string"), (2, "tool", "string"), (3, "args", "Struct"), (4, "mediation", "Mediation"),
        (5, "idempotency_key", "string"),
    ],
    "ToolResult": [
        (1, "id", "string"), (2, "output", "Struct"), (3, "output_uri", "string"), (4, "is_error", "bool"),
        (5, "error", "string"), (6, "output_digest", "string"), (7, "content", "Part*"), (8, "code", "Code"),
        (9, "approval_request_seq", "int64"), (10, "approval_decision_seq", "int64"),
    ],
    "ApprovalRequest": [(1, "tool_call_id", "string"), (2, "reason", "string")],
    "ApprovalResult": [(1, "tool_call_id", "string"), (2, "approved", "bool"), (3, "reason", "string"), (4, "request_seq", "int64")],
    "ApprovalRef": [(1, "execution_id", "string"), (2, "tool_call_id", "string"), (3, "request_seq", "int64")],
    "Error": [(1, "code", "int32"), (2, "description", "string")],
    "HarnessEnd": [(1, "state", "string"), (2, "error", "Error")],
    "Lifecycle": [
        (1, "kind", "LifecycleKind"), (2, "detail", "string"), (3, "snapshot_local", "string"),
        (4, "snapshot_external_uri", "string"), (5, "snapshot_memory", "bool"), (6, "snapshot_sealed", "bool"),
    ],
    "ExecutionStart": [
        (1, "config", "bytes"), (2, "resume_from_seq", "int64"), (3, "input_count", "int64?"), (4, "harness", "string"),
        (5, "harness_version", "string"),
    ],
}

ENUMS = {
    "EventKind": [
        "EVENT_KIND_UNSPECIFIED", "EVENT_INPUT", "EVENT_MODEL_CALL", "EVENT_OUTPUT", "EVENT_TOOL_CALL", "EVENT_TOOL_RESULT",
        "EVENT_APPROVAL_REQUEST", "EVENT_APPROVAL_RESULT", "EVENT_USAGE", "EVENT_LIFECYCLE", "EVENT_END", "EVENT_ERROR",
        "EVENT_EXECUTION_START", "EVENT_PARKED",
    ],
    "Mediation": [
        "MEDIATION_UNSPECIFIED", "MEDIATION_IN_HARNESS_REPORTED", "MEDIATION_CONTROLLER_MEDIATED", "MEDIATION_REQUIRES_APPROVAL",
    ],
    "Mode": ["MODE_UNSPECIFIED", "MODE_AUTO", "MODE_NONE", "MODE_REQUIRED"],
    "Code": ["CODE_UNSPECIFIED", "APPROVAL_DENIED", "EXECUTOR_ERROR"],
    "LifecycleKind": [
        "LIFECYCLE_UNSPECIFIED", "LIFECYCLE_SUSPEND", "LIFECYCLE_RESUME", "LIFECYCLE_FORK", "LIFECYCLE_BASELINE",
        "LIFECYCLE_CANCEL",
    ],
}


class Field:
    def __init__(self, number, name, spec):
        self.number, self.name = number, name
        spec, _, oneof = spec.partition("|")
        self.oneof = oneof or None
        self.repeated = spec.endswith("*")
        self.explicit = spec.endswith("?") or bool(oneof)
        self.type = spec.rstrip("*?")


FIELDS = {name: [Field(*field) for field in fields] for name, fields in MESSAGES.items()}


class Tampered(Exception):
    """What is wrong with a record."""


class Unreadable(Exception):
    """Why a file cannot be judged."""


# ---- Canonical JSON (RFC 8785) ----

ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
NEEDS_ESCAPE = re.compile('["\\\\\x00-\x1f]')


def quoted(text):
    return '"' + NEEDS_ESCAPE.sub(lambda match: ESCAPES.get(match[0], "\\u%04x" % ord(match[0])), text) + '"'


def number(value):
    """As ECMAScript writes it."""
    if not math.isfinite(value):
        raise Tampered("it holds a number that JSON does not have")
    if value == 0:
        return "0"
    _, digits, exponent = Decimal(repr(abs(float(value)))).normalize().as_tuple()
    text, point = "".join(map(str, digits)), len(digits) + exponent
    sign = "-" if value < 0 else ""
    if len(text) <= point <= 21:
        return sign + text + "0" * (point - len(text))
    if 0 < point <= 21:
        return sign + text[:point] + "." + text[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + text
    mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
    return "%s%se%s%d" % (sign, mantissa, "-" if point < 1 else "+", abs(point - 1))


def canonical(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(quoted(key) + ":" + canonical(member) for key, member in members) + "}"


def utf8(text):
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Tampered("it holds half a character") from None


def content_hash(event, prev_hash, seq):
    return hashlib.sha256(utf8(canonical({"event": event, "prev_hash": prev_hash, "seq": str(seq)}))).hexdigest()


# ---- The chain ----

HASH = re.compile(r"[0-9a-f]{64}\Z")


class Chain:
    def __init__(self):
        self.seq, self.hash, self.fence = 0, "", 0

    def add(self, seq, prev_hash, hash_, fence, event):
        if seq != self.seq + 1:
            raise Tampered("it is missing; record %d follows" % seq)
        if prev_hash != self.hash:
            raise Tampered("it does not continue the record before it")
        if not HASH.match(hash_) or content_hash(event, prev_hash, seq) != hash_:
            raise Tampered("its content does not match its hash")
        if fence < self.fence:
            raise Tampered("its incarnation %d is older than %d" % (fence, self.fence))
        self.seq, self.hash, self.fence = seq, hash_, fence


# ---- Protobuf: a decoder that accepts the one encoding that a writer of the format produces ----


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if self.at + count > len(self.data):
            raise Tampered("its event ends too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        if value >= 1 << 64 or (byte == 0 and shift > 0):
            raise Tampered("a number in its event is not encoded as it should be")
        return value

    def signed(self, bits):
        value = self.varint()
        value -= 1 << 64 if value >> 63 else 0
        if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise Tampered("a number in its event is out of range")
        return value

    def text(self):
        try:
            return self.chunk().decode("utf-8")
        except UnicodeDecodeError:
            raise Tampered("a text in its event is not UTF-8") from None

    def chunk(self):
        return self.take(self.varint())

    def fields(self):
        """Field numbers and wire types, in ascending order."""
        last = 0
        while self.at < len(self.data):
            tag = self.varint()
            if tag >> 3 < max(last, 1):
                raise Tampered("the fields of its event are out of order")
            last = tag >> 3
            yield last, tag & 7


VARINT, FIXED64, CHUNK = 0, 1, 2


def wire_type(type_):
    return VARINT if type_ in ("int32", "int64", "bool") or type_ in ENUMS else CHUNK


def decode(data, name):
    """The proto3 JSON of an encoded message."""
    reader, known = Reader(data), {field.number: field for field in FIELDS[name]}
    found, oneofs = {}, set()
    for tag, wire in reader.fields():
        field = known.get(tag)
        if field is None or wire != wire_type(field.type):
            raise Tampered("its event has a field that the format does not have")
        if field.type == "map":
            key, value = map_entry(reader.chunk())
            put_new(found.setdefault(field.name, {}), key, value)
        elif field.repeated:
            found.setdefault(field.name, []).append(decode(reader.chunk(), field.type))
        else:
            if field.oneof in oneofs:
                raise Tampered("its event has two values where there is one")
            put_new(found, field.name, decode_value(reader, field))
        if field.oneof:
            oneofs.add(field.oneof)
    return found


def put_new(members, key, value):
    if key in members:
        raise Tampered("its event says something twice")
    members[key] = value


def decode_value(reader, field):
    type_ = field.type
    if type_ in FIELDS:
        return decode(reader.chunk(), type_)
    if type_ == "Struct":
        return decode_struct(reader.chunk())
    if type_ == "Timestamp":
        return decode_timestamp(reader.chunk())
    if type_ == "string":
        value = shown = reader.text()
    elif type_ == "bytes":
        value = reader.chunk()
        shown = base64.b64encode(value).decode("ascii")
    elif type_ == "int64":
        value = reader.signed(64)
        shown = str(value)
    elif type_ == "int32":
        value = shown = reader.signed(32)
    elif type_ == "bool":
        value = shown = bool_of(reader)
    else:
        value, names = reader.signed(32), ENUMS[type_]
        shown = names[value] if 0 <= value < len(names) else value
    if not value and not field.explicit:
        raise Tampered("its event says what goes without saying")
    return shown


def bool_of(reader):
    value = reader.varint()
    if value > 1:
        raise Tampered("a yes or no in its event is neither")
    return value == 1


def map_entry(data, value_of=Reader.text):
    reader = Reader(data)
    parts = [(tag, wire, reader.text() if tag == 1 else value_of(reader)) for tag, wire in reader.fields() if tag <= 2]
    if [part[:2] for part in parts] != [(1, CHUNK), (2, CHUNK)] or reader.at != len(data):
        raise Tampered("a map in its event is not encoded as it should be")
    return parts[0][2], parts[1][2]


def decode_struct(data):
    reader, members = Reader(data), {}
    for tag, wire in reader.fields():
        if (tag, wire) != (1, CHUNK):
            raise Tampered("its event has a field that the format does not have")
        key, value = map_entry(reader.chunk(), lambda inner: decode_json(inner.chunk()))
        put_new(members, key, value)
    return members


def decode_json(data):
    reader, values = Reader(data), []
    for tag, wire in reader.fields():
        if (tag, wire) == (1, VARINT):
            if reader.varint() != 0:
                raise Tampered("a null in its event is not encoded as it should be")
            values.append(None)
        elif (tag, wire) == (2, FIXED64):
            values.append(struct.unpack("<d", reader.take(8))[0])
        elif (tag, wire) == (3, CHUNK):
            values.append(reader.text())
        elif (tag, wire) == (4, VARINT):
            values.append(bool_of(reader))
        elif (tag, wire) == (5, CHUNK):
            values.append(decode_struct(reader.chunk()))
        elif (tag, wire) == (6, CHUNK):
            values.append(decode_list(reader.chunk()))
        else:
            raise Tampered("its event has a field that the format does not have")
    if len(values) != 1:
        raise Tampered("a value in its event is not one value")
    return values[0]


def decode_list(data):
    reader, items = Reader(data), []
    for tag, wire in reader.fields():
        if (tag, wire) != (1, CHUNK):
            raise Tampered("its event has a field that the format does not have")
        items.append(decode_json(reader.chunk()))
    return items


FIRST_SECOND, LAST_SECOND = -62135596800, 253402300799


def decode_timestamp(data):
    reader, values = Reader(data), {1: 0, 2: 0}
    seen = set()
    for tag, wire in reader.fields():
        if tag not in values or wire != VARINT or tag in seen:
            raise Tampered("a time in its event is not encoded as it should be")
        seen.add(tag)
        values[tag] = reader.signed(64 if tag == 1 else 32)
        if values[tag] == 0:
            raise Tampered("a time in its event says what goes without saying")
    seconds, nanos = values[1], values[2]
    if not FIRST_SECOND <= seconds <= LAST_SECOND or not 0 <= nanos < 10**9:
        raise Tampered("a time in its event is out of range")
    return timestamp(seconds, nanos)


def timestamp(seconds, nanos):
    """RFC 3339 with 0, 3, 6 or 9 digits of a second. Days are turned into a date by the proleptic Gregorian calendar."""
    days, rest = divmod(seconds, 86400)
    era, of_era = divmod(days + 719468, 146097)
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    day, month = of_year - (153 * shifted + 2) // 5 + 1, shifted + 3 if shifted < 10 else shifted - 9
    date = "%04d-%02d-%02d" % (year + era * 400 + (month <= 2), month, day)
    fraction = "%09d" % nanos
    while fraction.endswith("000"):
        fraction = fraction[:-3]
    clock = "T%02d:%02d:%02d" % (rest // 3600, rest // 60 % 60, rest % 60)
    return date + clock + ("." + fraction if fraction else "") + "Z"


# ---- Proto3 JSON: the shape that an exported event must have ----

INTEGER = re.compile(r"(0|-?[1-9][0-9]*)\Z")
TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.((?:\d{3}){1,3}))?Z\Z", re.ASCII)


def check_message(value, name):
    known = {field.name: field for field in FIELDS[name]}
    if not isinstance(value, dict):
        raise Tampered("its event is not built like one")
    oneofs = set()
    for key, member in value.items():
        field = known.get(key)
        if field is None or (field.oneof and field.oneof in oneofs):
            raise Tampered("its event has a member that the format does not have: %s" % key)
        if field.oneof:
            oneofs.add(field.oneof)
        if field.type == "map":
            good = isinstance(member, dict) and member and all(isinstance(each, str) for each in member.values())
        elif field.repeated:
            good = isinstance(member, list) and len(member) > 0
            for each in member if good else []:
                check_message(each, field.type)
        else:
            good = check_value(member, field)
        if not good:
            raise Tampered("its event has a member that is not as the format has it: %s" % key)


def check_value(value, field):
    type_, may_be_zero = field.type, field.explicit
    if type_ in FIELDS:
        check_message(value, type_)
        return True
    if type_ == "Struct":
        return isinstance(value, dict)
    if type_ == "bool":
        return value is True or (value is False and may_be_zero)
    if type_ in ENUMS or type_ == "int32":
        if isinstance(value, str):
            return type_ in ENUMS and value in ENUMS[type_] and (may_be_zero or value != ENUMS[type_][0])
        whole = isinstance(value, float) and value == int(value) and -(2**31) <= value < 2**31
        return whole and (value != 0 or may_be_zero) and not (type_ in ENUMS and 0 <= value < len(ENUMS[type_]))
    if not isinstance(value, str):
        return False
    if type_ == "string":
        return value != "" or may_be_zero
    if type_ == "int64":
        return bool(INTEGER.match(value)) and -(2**63) <= int(value) < 2**63 and (value != "0" or may_be_zero)
    if type_ == "bytes":
        return is_base64(value) and (value != "" or may_be_zero)
    return is_time(value)


def is_base64(text):
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode("ascii") == text
    except (binascii.Error, ValueError):
        return False


def is_time(text):
    match = TIME.match(text)
    if not match:
        return False
    year, month, day, hour, minute, second = (int(match[n]) for n in range(1, 7))
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    fraction = match[7]
    short = fraction is None or not fraction.endswith("000")
    return year > 0 and 1 <= month <= 12 and 1 <= day <= days[month - 1] and hour < 24 and minute < 60 and second < 60 and short


# ---- Exported logs ----

COUNT = re.compile(r"[1-9][0-9]{0,18}\Z")


def members_once(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Tampered("it says something twice")
    return members


def no_constant(name):
    raise Tampered("it holds a number that JSON does not have")


def check_line(chain, line):
    try:
        text = line.decode("utf-8")
        record = json.loads(
            text, object_pairs_hook=members_once, parse_int=float, parse_float=float, parse_constant=no_constant
        )
    except (ValueError, RecursionError):
        raise Tampered("it is not JSON") from None
    if not isinstance(record, dict) or set(record) - {"fence", "prev_hash"} != {"content_hash", "event", "seq"}:
        raise Tampered("it is not a record of this format")
    words = [record.get(key, "") for key in ("seq", "prev_hash", "content_hash")] + [record.get("fence", "0")]
    if not all(isinstance(word, str) for word in words) or "" in words[2:] or record.get("prev_hash") == "":
        raise Tampered("it is not a record of this format")
    seq, prev_hash, hash_, fence = words
    if not COUNT.match(seq) or not COUNT.match(record.get("fence", "1")):
        raise Tampered("its number or its incarnation is none")
    if utf8(canonical(record)) != line:
        raise Tampered("it is not in canonical form")
    check_message(record["event"], "Event")
    chain.add(int(seq), prev_hash, hash_, int(fence), record["event"])


def check_export(path):
    chain = Chain()
    with open(path, "rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                raise At(chain.seq + 1, "it has no end")
            try:
                check_line(chain, line[:-1])
            except (Tampered, RecursionError) as error:
                raise At(chain.seq + 1, error) from None
    return chain.seq


class At(Exception):
    def __init__(self, seq, what):
        super().__init__("record %d: %s" % (seq, what))


# ---- SQLite files ----

SCHEMA_VERSION = 2


def check_database(path):
    """Yields session, records, and what is wrong (None: nothing)."""
    address = "file:%s?mode=ro" % path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        db = sqlite3.connect(address, uri=True)
        db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version != SCHEMA_VERSION:
            raise Unreadable("schema version %d; this program knows %d" % (version, SCHEMA_VERSION))
        names = "SELECT session FROM sessions UNION SELECT session FROM events ORDER BY session"
        for (session,) in db.execute(names).fetchall():
            yield (session,) + check_session(db, session)
    except sqlite3.Error as error:
        raise Unreadable(str(error)) from None
    finally:
        if "db" in locals():
            db.close()


def check_session(db, session):
    rows = db.execute(
        "SELECT seq, prev_hash, hash, fence, event FROM events WHERE session = ? ORDER BY seq", (session,)
    )
    chain = Chain()
    for seq, prev_hash, hash_, fence, event in rows:
        try:
            kinds = [type(each) for each in (seq, prev_hash, hash_, fence, event)]
            if kinds != [int, str, str, int, bytes]:
                raise Tampered("a column is of another type")
            chain.add(seq, prev_hash, hash_, fence, decode(event, "Event"))
        except (Tampered, RecursionError) as error:
            return chain.seq, "record %d: %s" % (chain.seq + 1, error)
    return chain.seq, None


# ---- Published hashes ----


def golden():
    def message(role, text):
        return {"role": role, "parts": [{"text": {"text": text}}]}

    def start(execution, **fields):
        return {"execution_id": execution, "kind": "EVENT_EXECUTION_START", "execution_start": fields}

    turn = "0123456789abcdef"
    call = {
        "model": "echo", "id": "fedcba9876543210",
        "input_hash": "479bbea34c77bd4f413f938e6c7990e1deb2e3e7cadd21d3933c8bada10e61e1",
    }
    echo_turn = [
        (start(turn, input_count="1", harness="echo", harness_version="1"),
         "75a5ea76544a26b8a4559539e0dea412615ee6cd40116fe95d5374f59181381c"),
        ({"execution_id": turn, "kind": "EVENT_INPUT", "message": message("user", "hi")},
         "96973a52646150ededf83e6b62108ba94f07a9e6cb22074c61415ade282ac40a"),
        ({"execution_id": turn, "kind": "EVENT_MODEL_CALL", "model": call},
         "5d3f85a2d4bda3fc92ff237b82c9c439acd1732b27d8e92284423c8a8d840f75"),
        ({"execution_id": turn, "kind": "EVENT_OUTPUT", "message": message("assistant", "echo:hi")},
         "1912485edba3fa166e1995ce4a2ecede62a49b2b77b757e0ab17921f902d5a60"),
        ({"execution_id": turn, "kind": "EVENT_END", "end": {"state": "COMPLETED"}},
         "af089303be49b1d291a343edd30d38948d884987e20d330dd923860f93979855"),
    ]
    suspend = {"kind": "LIFECYCLE_SUSPEND", "snapshot_local": "sess-000000000000000000000001"}
    after = [
        ({"kind": "EVENT_LIFECYCLE", "lifecycle": suspend},
         "a28a8869073e6f4d527e338e34956d252753bb6ea7b7261d621512605bb3a037"),
        ({"kind": "EVENT_LIFECYCLE", "lifecycle": {"kind": "LIFECYCLE_RESUME"}},
         "879d2e02fde627e640400dff25f15653783d5d5698d190fc41e10b375d4b531b"),
    ]
    fork = ({"kind": "EVENT_LIFECYCLE", "lifecycle": {"kind": "LIFECYCLE_FORK", "detail": "parent@5"}},
            "d6fb21f9fe5c985ac5460e2ef6efcd8bb6a83df16dff9ca4b314ea1d074f8b46")
    output = {
        "execution_id": "exec-1", "schema_version": 1, "ts": "2023-11-14T22:13:20Z", "kind": "EVENT_OUTPUT",
        "message": message("assistant", "hello"),
        "actor": {"principal": "agent://a", "issuer": "entra", "subject": "sub-1"},
    }
    config = base64.b64encode(bytes([0x00, 0xFF, 0x20, 0x0A, 0x09])).decode("ascii")
    return [
        ("output with time and actor", [(output, "551bd146050c8d630b0c3b999a4445f3792a470db9bca443d8d4a67706283fcc")]),
        ("start with config", [(start("exec-config", config=config, input_count="2", resume_from_seq="9007199254740993"),
                                "aa1f42a26b7a227836d32d31608ebb69c59f3b1c57eadd8537b6faf88a01c790")]),
        ("start without inputs", [(start("exec-default", input_count="0"),
                                   "b09cbff45d5a30990c3b72be8b06af6bc509d5a29a849aab5fd42153ef10ec65")]),
        ("start with two inputs", [(start("exec-default", input_count="2"),
                                    "f06c25ee5b3673ee23b8f91883c7f1c6c5682d94986caf5bc067908a61b2ac4f")]),
        ("echo turn, suspended and resumed", echo_turn + after),
        ("fork after the turn", echo_turn + [fork]),
    ]


def check_golden():
    good = True
    for name, records in golden():
        prev_hash = ""
        for seq, (event, expected) in enumerate(records, 1):
            check_message(json.loads(json.dumps(event), parse_int=float), "Event")
            found = content_hash(event, prev_hash, seq)
            good = good and found == expected
            print("%s  %s, record %d%s" % (found, name, seq, "" if found == expected else ": expected " + expected))
            prev_hash = expected
    return good


# ---- The program ----

EXPORT = re.compile(r"[A-Za-z0-9_%-]+\.jsonl\Z")
MAGIC = b"SQLite format 3\x00"


def logs_of(path):
    """Yields session, records, and what is wrong (None: nothing)."""
    if os.path.isdir(path):
        for name in sorted(filter(EXPORT.match, os.listdir(path))):
            yield from logs_of(os.path.join(path, name))
        return
    with open(path, "rb") as file:
        is_database = file.read(len(MAGIC)) == MAGIC
    if is_database:
        yield from check_database(path)
        return
    session = os.path.basename(path)
    session = unquote(session[: -len(".jsonl")]) if EXPORT.match(session) else session
    try:
        yield session, check_export(path), None
    except At as error:
        yield session, 0, str(error)


def main(arguments):
    if arguments == ["--golden"]:
        return 0 if check_golden() else 1
    if not arguments or any(argument.startswith("--") for argument in arguments):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    logs = records = tampered = unreadable = 0
    for path in arguments:
        try:
            for session, count, wrong in logs_of(path):
                logs, records, tampered = logs + 1, records + count, tampered + (wrong is not None)
                shown = session.encode("utf-8", "backslashreplace").decode("utf-8")
                print("%s  sound, %d records" % (shown, count) if wrong is None else "%s  TAMPERED, %s" % (shown, wrong))
        except (OSError, Unreadable) as error:
            unreadable += 1
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            print("verify_log: cannot read %s: %s" % (path, why), file=sys.stderr)
    print("%d logs, %d records, %s" % (logs, records, "%d TAMPERED" % tampered if tampered else "sound"))
    return 1 if tampered else 2 if unreadable else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
