"""What a voice says while it is tuned: sentences of a household, of different lengths, sounds and moods."""

from __future__ import annotations

CALIBRATION = (
    "おはようございます。今朝は少し冷え込んでいます。",
    "洗濯機が止まりました。乾かすのを忘れないでね!",
    "ぎゅうにゅうとヨーグルト、それから卵を六個、買ってきてください。",
    "えっ、もうそんな時間?急いで出かけましょう。",
    "午後は北西の風が強く、所によって雷を伴うでしょう。",
    "ピッ、ポッ、ファックスが一件、届いております。",
    "じゃあ、ゆっくり休んでください。おやすみなさい。",
    "りょこうのしゅくはくひょうは、つくえのひきだしにあります。",
)
"""The bounds of all layers are found with these."""

MEASURING = (
    "玄関の鍵が開いたままです。",
    "夕飯のカレーは、あと十五分ほどで出来上がります。",
    "ねえ、庭の朝顔が三つも咲いたよ。一緒に見に行かない?",
    "明日の会議は、百貨店の隣にある新しいビルで行われる予定です。",
)
"""Candidates are compared with float32 on these; nothing is calibrated with them."""

TRIAL = CALIBRATION[3]
"""What each group of layers is tried with by itself."""
