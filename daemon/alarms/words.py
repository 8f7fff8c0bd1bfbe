"""The text of an alarm at its moment."""

from __future__ import annotations

from datetime import datetime

from daemon.briefings.words.template import compile_template
from daemon.errors import TemplateFault


def words(template: str, moment: datetime) -> str:
    """What a template says at a local moment, which it calls ``now``.

    Raises:
        ValueError: it cannot be rendered.
    """
    try:
        return compile_template(template).render({"now": moment})
    except TemplateFault as error:
        raise ValueError(str(error)) from error
