"""Japanese: times, numbers and lists as they are spoken.

Digits stay digits: the engine's text front end reads them with their counters (1人 ひとり, 20日 はつか, 9時 くじ).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta

from daemon.briefings.words.pack import Day, Moment, Number, Span
from daemon.briefings.words.values import as_date, as_said, as_seconds, as_time, is_negative, rounded

_WEEKDAYS = "月火水木金土日"
_NEAR = {-2: "おととい", -1: "昨日", 0: "今日", 1: "明日", 2: "あさって"}
_WEEK = 7
_ERAS = (
    (date(2019, 5, 1), "令和"),
    (date(1989, 1, 8), "平成"),
    (date(1926, 12, 25), "昭和"),
    (date(1912, 7, 30), "大正"),
    # The calendar of today counts from 1 January 1873, the year Meiji 6.
    (date(1873, 1, 1), "明治"),
)
_MEIJI_BEGAN = 1868


class Japanese:
    """The language pack of Japanese; see ``LanguagePack`` for what each filter does."""

    language = "ja"
    between = ""

    def time(self, value: Moment, *, half: bool = True, part: bool = True) -> str:
        """「午前7時半」. Noon is 「正午」; the half hour after it 「午後0時半」, as on the radio."""
        moment = as_time(value)
        hour, minute = moment.hour, moment.minute
        if part and (hour, minute) == (12, 0):
            return "正午"
        minutes = "" if minute == 0 else "半" if half and minute == 30 else f"{minute}分"
        if not part:
            return f"{hour}時{minutes}"
        return f"{'午前' if hour < 12 else '午後'}{hour % 12}時{minutes}"

    def date(self, value: Day, *, year: bool = False) -> str:
        """「12月1日」."""
        day = as_date(value)
        return f"{f'{day.year}年' if year else ''}{day.month}月{day.day}日"

    def day(self, value: Day, due: datetime) -> str:
        """「明日」「木曜日」「12月24日」."""
        day = as_date(value)
        distance = (day - due.date()).days
        if distance in _NEAR:
            return _NEAR[distance]
        if 0 < distance < _WEEK:
            return self.weekday(day)
        return self.date(day, year=day.year != due.year and abs(distance) > 180)

    def weekday(self, value: Day) -> str:
        """「火曜日」."""
        return f"{_WEEKDAYS[as_date(value).weekday()]}曜日"

    def wareki(self, value: Day) -> str:
        """「令和8年」; the first year is 「元年」."""
        day = as_date(value)
        for start, name in _ERAS:
            if day >= start:
                first = _MEIJI_BEGAN if name == "明治" else start.year
                year = day.year - first + 1
                return f"{name}{'元' if year == 1 else year}年"
        message = f"{day} lies before the eras of the calendar of today (1873)"
        raise ValueError(message)

    def number(self, value: Number, digits: int = 1) -> str:
        """「1.5」「マイナス3」."""
        sign = "マイナス" if is_negative(value, digits) else ""
        return f"{sign}{rounded(value, digits)}"

    def temperature(self, value: Number, digits: int = 0) -> str:
        """「マイナス2度」."""
        return f"{self.number(value, digits)}度"

    def count(self, value: Number, unit: str) -> str:
        """「3件」「10本」."""
        return f"{self.number(value)}{unit}"

    def listed(self, values: Iterable[object], limit: int = 0) -> str:
        """「AとB」「A、B、それにC」「A、B、ほか3件」."""
        items = [str(value) for value in values]
        if limit and len(items) > limit:
            return "、".join([*items[:limit], f"ほか{len(items) - limit}件"])
        if len(items) <= 2:
            return "と".join(items)
        return "、".join(items[:-1]) + f"、それに{items[-1]}"

    def duration(self, value: Span) -> str:
        """「1時間30分」「2日」「45秒」."""
        seconds = round(as_seconds(value))
        if seconds < 60:
            return f"{seconds}秒"
        minutes = (seconds + 30) // 60 if seconds >= 3600 else seconds // 60
        days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
        rest = seconds % 60 if seconds < 600 else 0
        parts = ((days, "日"), (hours, "時間"), (0 if days else minutes, "分"), (rest, "秒"))
        return "".join(f"{amount}{unit}" for amount, unit in parts if amount)

    def ago(self, value: Span) -> str:
        """「30分前」「1時間前」「昨日」 is not said: a day is 「1日前」, it need not be yesterday."""
        seconds = as_seconds(value)
        for unit, length, limit in (("分", 60, 3570), ("時間", 3600, 84600), ("日", 86400, 14 * 86400)):
            if seconds < limit:
                amount = int(seconds / length + 0.5)
                return f"{amount}{unit}前" if amount else "少し前"
        return f"{int(seconds / (7 * 86400))}週間前"

    def compared(
        self,
        value: Number,
        other: Number,
        than: str | None = None,
        unit: str | None = None,
        more: str | None = None,
        less: str | None = None,
        digits: int = 0,
    ) -> str:
        """「昨日より3度高い」「昨日と同じ」."""
        than = "昨日" if than is None else than
        difference = as_said(value, digits) - as_said(other, digits)
        amount = rounded(difference, digits)
        if float(amount) == 0:
            return f"{than}と同じ"
        word = (more or "高い") if difference > 0 else (less or "低い")
        return f"{than}より{amount}{'度' if unit is None else unit}{word}"

    def stale(self, age: timedelta) -> str:
        """「1時間前の情報です。」."""
        return f"{self.ago(age)}の情報です。"
