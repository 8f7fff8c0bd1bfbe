"""Are numbers, dates and units understood? Speaks sentences and lets a speech recogniser write them down.

Needs ``faster-whisper`` and the folder of a Whisper model, neither of which the project depends on:
``python benchmarks/intelligibility.py MODEL_FOLDER > benchmarks/intelligibility.md``
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
from faster_whisper import WhisperModel

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine import TTS
from tests.engine.text.canonical import canonical

# What is said, and what of it must come through.
CASES = [
    ("本日の会議は14:30に始まります。", ["14時30分"]),
    ("7:05発の電車に乗ってください。", ["7時5分"]),
    ("営業時間は9:00〜17:45です。", ["9時", "17時45分"]),
    ("次の燃えるごみの日は12/1(火)です。", ["12月1日", "火曜日"]),
    ("締め切りは2026/12/24です。", ["2026年", "12月24日"]),
    ("ただいまの気温は-3℃です。", ["マイナス3度"]),
    ("室温は25.5°C、湿度は60%です。", ["25.5度", "60%"]),
    ("明日の降水確率は20％です。", ["20%"]),
    ("北の風、風速5m/sです。", ["5メートル"]),
    ("駅まで3.5kmあります。", ["3.5キロ"]),
    ("気圧は1013hPaです。", ["1013ヘクトパスカル"]),
    ("今月の消費電力は245kWhでした。", ["245キロワット"]),
    ("CO2濃度が1,200ppmを超えました。", ["1200"]),
    ("電気代は¥8,540でした。", ["8540円"]),
    ("あと10〜15分で洗濯が終わります。", ["10", "15分"]),
    ("砂糖を1/2カップ入れてください。", ["2分の1カップ"]),
    ("電話番号は090-1234-5678です。", ["09012345678"]),
    ("Wi-Fiルーターの電源を確認してください。", ["ワイファイ", "ルーター"]),
    ("Home Assistantからのお知らせです。", ["ホームアシスタント"]),
    ("第3土曜日、10:00に集合です。", ["第3土曜日", "10時"]),
]


def sound(text: str, kana: Callable[[str], str]) -> str:
    return canonical(kana(unicodedata.normalize("NFKC", text).translate(dict.fromkeys(map(ord, " -、,")))))


def main() -> None:
    recogniser = WhisperModel(sys.argv[1], device="cpu", compute_type="int8", cpu_threads=2)
    tts = TTS().load("mei").prepare()
    kana = tts.text.kana
    rows = []
    kept = total = 0
    for text, parts in CASES:
        audio = tts.speakers["mei"].generate(text).resampled(16000)
        silence = np.zeros(8000, np.float32)
        samples = np.concatenate([silence, audio.samples, silence])
        segments, _ = recogniser.transcribe(samples, language="ja", beam_size=5, temperature=0.0)
        heard = "".join(segment.text for segment in segments).strip()
        spoken = sound(heard, kana)
        through = [part for part in parts if sound(part, kana) in spoken]
        kept += len(through)
        total += len(parts)
        lost = "、".join(part for part in parts if part not in through) or "–"
        rows.append(f"| {text} | {heard} | {lost} |")
    print("# Intelligibility\n")
    print(
        "Twenty sentences, spoken by the embedded voice (`openjtalk:mei`) and written down by Whisper base "
        "(faster-whisper, int8, beam 5, no prompt). A part counts as kept when its reading is in the reading of what "
        "was heard; `benchmarks/intelligibility.py` makes this table.\n"
    )
    print(f"**{kept} of {total} numbers, dates, units and names kept.**\n")
    print("| said | heard | not kept |\n|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
