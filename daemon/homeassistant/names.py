"""What entities are called, in Japanese and English. An entity's name never repeats that of the device."""

from __future__ import annotations

from typing import Literal

Locale = Literal["ja", "en"]

_DEVICE = {"ja": "朝声 {node}", "en": "Asagoe {node}"}

_NAMES: dict[str, tuple[str, str]] = {
    "announce": ("アナウンス", "Announce"),
    "stop": ("停止", "Stop"),
    "skip": ("次へ", "Skip"),
    "replay": ("もう一度", "Replay"),
    "snooze": ("スヌーズ", "Snooze"),
    "dismiss": ("アラームを止める", "Dismiss alarm"),
    "skip_next": ("次のアラームを休む", "Skip next alarm"),
    "test": ("音声テスト", "Test voice"),
    "run_briefing": ("ブリーフィング {name}", "Briefing {name}"),
    "mute": ("消音", "Mute"),
    "quiet": ("おやすみモード", "Quiet hours"),
    "quiet_mode": ("静かな時間", "Quiet hours mode"),
    "quiet_now": ("静かな時間中", "Quiet now"),
    "vacation": ("休暇", "Vacation"),
    "alarm": ("アラーム {name}", "Alarm {name}"),
    "alarm_time": ("アラーム {name} の時刻", "Alarm {name} time"),
    "schedule": ("予定 {name}", "Schedule {name}"),
    "one_off": ("一回だけのアラーム", "One-off alarm"),
    "volume": ("音量", "Volume"),
    "alarm_volume": ("アラームの音量", "Alarm volume"),
    "snooze_minutes": ("スヌーズの長さ", "Snooze length"),
    "speaker": ("話者", "Speaker"),
    "style": ("話し方", "Style"),
    "chime": ("チャイム", "Chime"),
    "device": ("出力先", "Output device"),
    "state": ("状態", "State"),
    "next_alarm": ("次のアラーム", "Next alarm"),
    "queue": ("待ち件数", "Queue"),
    "last_announcement": ("最後のアナウンス", "Last announcement"),
    "last_error": ("最後のエラー", "Last error"),
    "memory": ("メモリ", "Memory"),
    "synthesis_time": ("合成時間", "Synthesis time"),
    "speaking": ("発話中", "Speaking"),
    "ringing": ("アラーム鳴動中", "Ringing"),
    "problem": ("問題", "Problem"),
    "announcement_event": ("アナウンスの出来事", "Announcement event"),
    "alarm_event": ("アラームの出来事", "Alarm event"),
    "siren": ("呼び鈴", "Siren"),
    "version": ("バージョン", "Version"),
}


def device_name(locale: Locale, node: str) -> str:
    """What the device is called."""
    return _DEVICE[locale].format(node=node)


def entity_name(locale: Locale, key: str, name: str = "") -> str:
    """What an entity is called.

    Args:
        locale: ``ja`` or ``en``.
        key: what it is.
        name: of what it stands for, where there are several.
    """
    return _NAMES[key][0 if locale == "ja" else 1].replace("{name}", name)
