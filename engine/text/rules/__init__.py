"""The rules, in the order in which they are tried at a place of the text; the first that applies wins."""

from engine.text.rules import clock, dates, digits, latin, marks, money, numbers, units, web, words
from engine.text.rules.base import Rule

RULES: tuple[Rule, ...] = (
    *numbers.FIRST,
    *marks.EARLY,
    *numbers.EARLY,
    *web.RULES,
    *digits.EARLY,
    *dates.EARLY,
    *clock.RULES,
    *dates.RULES,
    *money.RULES,
    *units.RULES,
    *digits.LATE,
    *latin.ABBREVIATIONS,
    *numbers.RULES,
    *latin.RULES,
    *marks.RULES,
    *words.RULES,
    *numbers.LAST,
)

__all__ = ["RULES", "Rule"]
