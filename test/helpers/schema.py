# SPDX-License-Identifier: Apache-2.0
"""Reports as doc/reports.schema.json says."""

import json

import jsonschema

from helpers.command import ROOT

SCHEMA = json.loads((ROOT / "doc" / "reports.schema.json").read_text())


def valid(name, text):
    """The report, which is as the schema's definition of that name says, and, unless it is
    empty, one of those that the schema knows."""
    report = json.loads(text)
    if report:
        jsonschema.Draft202012Validator(SCHEMA).validate(report)
    jsonschema.Draft202012Validator(
        {"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]}).validate(report)
    return report
