"""``distributed_config advise``: which cables to move, add or lay, in sentences and a picture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from distconfig.advice.advice import Advice, advise, render_advice
from distconfig.advice.proposal import Shape, propose_cabling, render_cabling
from distconfig.errors import ProbeError, TopologyError, UsageError
from distconfig.screen import Screen
from distconfig.sources import HostSource, ask_hosts
from distconfig.survey import Survey, survey_recording, without_unreachable
from distconfig.views.advice_json import render_advice_json
from distconfig.views.dot import render_dot
from distconfig.views.graphviz import draw
from distconfig.views.tables import ring_line

__all__ = ["AdviseOptions", "advise_hosts"]


@dataclass(frozen=True)
class AdviseOptions:
    """The options of the command, as given.

    Args:
        cable: ``ring``, ``double-ring`` or ``mesh``: propose cables from free ports alone,
            as before any cable is in.
    """

    source: HostSource
    cable: str | None = None
    dot: bool = False
    png: Path | None = None
    svg: Path | None = None
    json: bool = False
    ignore_unreachable: bool = False
    verbose: bool = False


def advise_hosts(options: AdviseOptions) -> int:
    """Print the advice; returns the exit code.

    Raises:
        TopologyError: No cabling of these ports gives what was asked for.
    """
    if options.dot and options.json:
        raise UsageError("--dot and --json both print to stdout", hint="Use one at a time.")
    screen = Screen(options.verbose)
    answers = ask_hosts(options.source, screen.note)
    answers.close()
    survey = survey_recording(answers.recording)
    code = screen.show_failures(survey.failures, options.ignore_unreachable)
    if code or not survey.topology.reports:
        return code or ProbeError.exit_code
    survey = without_unreachable(survey)
    if options.cable is not None:
        return _propose(options, survey)
    return _advise(options, survey, screen)


def _shape(word: str | None) -> Shape:
    for shape in get_args(Shape):
        if word == shape:
            return cast(Shape, word)
    raise UsageError(f"--cable {word!r}", hint=f"Use one of: {', '.join(get_args(Shape))}.")


def _propose(options: AdviseOptions, survey: Survey) -> int:
    topology = survey.topology
    proposal = propose_cabling(topology.hosts, topology.reports, _shape(options.cable))
    if options.json:
        sys.stdout.write(render_advice_json((), proposal))
    elif not options.dot:
        print(render_cabling(proposal))
    _draw(options, render_dot(topology, marks=dict.fromkeys(proposal.cables, "lay")))
    return 0


def _advise(options: AdviseOptions, survey: Survey, screen: Screen) -> int:
    advices = advise(survey.topology)
    if not advices:
        _say_all_is_well(survey, screen)
    if options.json:
        sys.stdout.write(render_advice_json(advices))
    elif not options.dot:
        sys.stdout.write(_sentences(advices))
    _draw(options, _picture(survey, advices))
    return 0


def _say_all_is_well(survey: Survey, screen: Screen) -> None:
    from distconfig.rings.ring import find_ring

    try:
        ring = find_ring(survey.topology)
    except TopologyError as error:
        screen.show_error(error)
        return
    screen.say(f"Nothing to move: {ring_line(ring)}")


def _sentences(advices: Sequence[Advice]) -> str:
    blocks = [render_advice(advice) for advice in advices]
    if len(blocks) > 1:
        blocks.insert(0, "Each of these is a way of its own to a better ring:")
    return "".join(f"{block}\n" for block in "\n\n".join(blocks).splitlines())


def _picture(survey: Survey, advices: Sequence[Advice]) -> str:
    """The cabling with the first advice in colour: red to unplug, green to plug."""
    if not advices:
        return render_dot(survey.topology)
    first = advices[0]
    marks = dict.fromkeys(first.gone_cables, "unplug")
    marks |= dict.fromkeys(first.new_cables, "plug")
    return render_dot(first.topology, first.ring, marks=marks)


def _draw(options: AdviseOptions, dot_text: str) -> None:
    for path, picture_format in ((options.png, "png"), (options.svg, "svg")):
        if path is not None:
            draw(dot_text, path, picture_format)
    if options.dot:
        sys.stdout.write(dot_text)
