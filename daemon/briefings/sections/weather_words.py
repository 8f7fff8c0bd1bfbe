"""The names of the weather codes of the WMO (table 4677, as Open-Meteo uses it)."""

from __future__ import annotations

_SKY_JA = {
    0: "快晴",
    1: "晴れ",
    2: "晴れ時々くもり",
    3: "くもり",
    45: "霧",
    48: "霧",
    51: "霧雨",
    53: "霧雨",
    55: "霧雨",
    56: "凍りつく霧雨",
    57: "凍りつく霧雨",
    61: "弱い雨",
    63: "雨",
    65: "強い雨",
    66: "凍りつく雨",
    67: "凍りつく雨",
    71: "弱い雪",
    73: "雪",
    75: "強い雪",
    77: "雪",
    80: "にわか雨",
    81: "にわか雨",
    82: "激しいにわか雨",
    85: "にわか雪",
    86: "強いにわか雪",
    95: "雷雨",
    96: "ひょうを伴う雷雨",
    99: "ひょうを伴う激しい雷雨",
}
_SKY_EN = {
    0: "clear",
    1: "mostly clear",
    2: "partly cloudy",
    3: "cloudy",
    45: "fog",
    48: "freezing fog",
    51: "drizzle",
    53: "drizzle",
    55: "drizzle",
    56: "freezing drizzle",
    57: "freezing drizzle",
    61: "light rain",
    63: "rain",
    65: "heavy rain",
    66: "freezing rain",
    67: "freezing rain",
    71: "light snow",
    73: "snow",
    75: "heavy snow",
    77: "snow grains",
    80: "showers",
    81: "showers",
    82: "violent showers",
    85: "snow showers",
    86: "heavy snow showers",
    95: "thunderstorms",
    96: "thunderstorms with hail",
    99: "violent thunderstorms with hail",
}


def sky(code: int, language: str) -> str | None:
    """The name of a code; None for one that the table does not hold."""
    return (_SKY_JA if language == "ja" else _SKY_EN).get(code)
