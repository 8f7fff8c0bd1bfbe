"""What the service itself says about alarms, in Japanese."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta


def late_words(late: timedelta) -> str:
    """Before the text of an alarm that rings late."""
    minutes = round(late.total_seconds() / 60)
    return f"{minutes}分遅れています。" if minutes < 120 else f"{round(minutes / 60)}時間遅れています。"


def missed_words(moments: Sequence[datetime]) -> str:
    """A summary of alarms that could not ring, by their local moments."""
    times = "、".join(f"{moment:%-H:%M}" for moment in moments[:5])
    if len(moments) == 1:
        return f"{times}のアラームは鳴らせませんでした。"
    more = "など" if len(moments) > 5 else ""
    return f"{times}{more}、{len(moments)}件のアラームは鳴らせませんでした。"
