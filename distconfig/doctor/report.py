"""Findings as JSON and as lines for a person."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence

from distconfig.doctor.checks import CHECKS
from distconfig.doctor.findings import Finding, Severity

__all__ = ["finding_lines", "needs_attention", "render_findings"]

_STYLES = {Severity.PROBLEM: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "bold"}


def needs_attention(findings: Sequence[Finding]) -> bool:
    """Something was found that is more than a note."""
    return any(finding.severity is not Severity.NOTE for finding in findings)


def render_findings(hosts: Sequence[str], findings: Sequence[Finding]) -> str:
    """The JSON text; ``docs/doctor.md`` describes it."""
    document = {
        "format": 1,
        "hosts": list(hosts),
        "checks": [check.what for check in CHECKS],
        "findings": [
            {**dataclasses.asdict(finding), "severity": finding.severity.value}
            for finding in findings
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def finding_lines(finding: Finding) -> Iterator[tuple[str, str]]:
    """The lines of a finding, each with its style."""
    yield f"{finding.severity.value}: {finding.text}", _STYLES[finding.severity]
    yield f"  why: {finding.cause}", ""
    yield f"  try: {finding.fix}", ""
    yield f"  ({finding.id}, see docs/doctor.md)", "dim"
