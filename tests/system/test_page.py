"""The page in a real browser, against the running service: what is done there is heard in the house, and here."""

from __future__ import annotations

import math
import shutil
import time
import wave
from io import BytesIO

import numpy as np
import pytest

from tests.system.house import free_port, wait_for

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.timeout(180),
    # The event loop that playwright leaves behind.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}
DESKTOP = {"viewport": {"width": 1280, "height": 900}}
SIZES = pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])

# What the element plays is measured where it plays: its level by an analyser that stands between it and the output.
LISTEN = """
() => {
  const player = document.getElementById("player");
  const audio = new AudioContext();
  const analyser = audio.createAnalyser();
  audio.createMediaElementSource(player).connect(analyser);
  analyser.connect(audio.destination);
  window.heard = [];
  const samples = new Float32Array(analyser.fftSize);
  setInterval(() => {
    if (player.paused) return;
    analyser.getFloatTimeDomainData(samples);
    window.heard.push(Math.sqrt(samples.reduce((sum, x) => sum + x * x, 0) / samples.length));
  }, 20);
}
"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--autoplay-policy=no-user-gesture-required"]
        )
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(make_house, browser, tmp_path):
    opened = []

    def make(size, *, locale="ja-JP", scheme="light", http=None, **config):
        port = free_port()
        words = tmp_path / "words.yaml"
        words.write_text("# ours\n")
        house = make_house({"dictionary": str(words)} | config | {"http": {"port": port, **(http or {})}})
        context = browser.new_context(**size, locale=locale, color_scheme=scheme)
        opened.append(context)
        page = context.new_page()
        page.faults = []
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("console", lambda message: message.type in ("error", "warning") and page.faults.append(message.text))
        page.goto(f"http://127.0.0.1:{port}/")
        return house, page

    yield make
    for context in opened:
        context.close()


def ready(page):
    page.wait_for_selector("#connection:not(:empty)")
    page.wait_for_selector("#speak-speaker option", state="attached")


def becomes(page, expression, value, timeout=20):
    """Wait for a value; the page's policy keeps playwright from waiting inside of it."""
    wait_for(lambda: page.evaluate(expression) == value, timeout, expression)


def in_minutes(minutes):
    """A time of day in Tokyo that is whole seconds ahead."""
    return time.strftime("%H:%M:%S", time.gmtime(math.ceil(time.time()) + 9 * 3600 + 60 * minutes))


@SIZES
def test_an_alarm_that_is_switched_off_on_the_page_does_not_ring(open_page, size):
    soon = in_minutes(0.25)
    alarms = {name: {"at": soon, "text": f"{name}です。", "max_ring": "10s"} for name in ("quiet", "loud")}
    house, page = open_page(size, alarms=alarms)
    ready(page)
    page.get_by_role("switch", name="quiet を鳴らす").uncheck()
    page.wait_for_selector('[data-alarm="quiet"].off')
    house.event("alarm_ringing", "loud", 30)
    page.get_by_text("loud が鳴っています").wait_for()
    page.locator("#now-ringing").get_by_role("button", name="スヌーズ").click()
    house.event("alarm_snoozed", "loud")
    page.get_by_text("loud はスヌーズ中").wait_for()
    page.locator("#now-ringing").get_by_role("button", name="止める").click()
    house.event("alarm_dismissed", "loud")
    time.sleep(2)  # well after the moment at which both were due
    assert [e["event_type"] for e in house.listener.events if e["id"] == "quiet"] == []
    assert page.faults == []


@SIZES
def test_an_alarm_is_made_changed_skipped_and_removed(open_page, size):
    _house, page = open_page(size, timezone="Asia/Tokyo")
    ready(page)
    page.get_by_role("button", name="新しいアラーム").click()
    page.locator("#alarm-time").fill("05:10")
    page.get_by_label("くり返し").select_option("daily")
    page.get_by_label("名前").fill("早起き")
    page.locator("#alarm-volume").fill("35")
    page.get_by_role("button", name="保存").click()
    row = page.locator("#alarms [data-alarm]")
    row.get_by_text("早起き", exact=True).wait_for()
    [made] = page.request.get(page.url + "api/alarms").json()
    assert (made["at"], made["days"], made["volume"], made["text"]) == (
        ["05:10:00"],
        [],
        35,
        "おはようございます。",
    )
    row.get_by_role("button", name="変更").click()
    page.get_by_label("くり返し").select_option("chosen")
    page.locator("#alarm-days").get_by_label("土").check()
    page.locator("#alarm-time").fill("05:20")
    page.locator("#alarm-text").fill("起きる時間です。")
    page.get_by_role("button", name="保存").click()
    row.get_by_text("05:20", exact=True).wait_for()
    [made] = page.request.get(page.url + "api/alarms").json()
    assert (made["at"], made["days"], made["text"], made["volume"]) == (
        ["05:20:00"],
        ["mon", "tue", "wed", "thu", "fri", "sat"],
        "起きる時間です。",
        35,
    )
    due = made["next"]
    row.get_by_role("button", name="次を1回休む").click()
    row.get_by_role("button", name="休まない").wait_for()
    [made] = page.request.get(page.url + "api/alarms").json()
    assert made["left_out"]["at"] == due
    row.get_by_role("button", name="変更").click()
    page.get_by_role("button", name="削除").click()
    page.get_by_text("アラームはありません。").wait_for()
    assert page.request.get(page.url + "api/alarms").json() == []
    assert page.faults == []


@SIZES
def test_a_text_is_spoken_in_the_room_and_here(open_page, size):
    house, page = open_page(size)
    ready(page)
    text = "こんにちは。音が聞こえますか。"
    page.get_by_label("ことば", exact=True).first.fill(text)
    page.get_by_role("button", name="部屋で話す").click()
    said = page.locator("#log [data-announcement]").first
    said.get_by_text("話し終えた").wait_for(timeout=20_000)
    accepted = next(e for e in house.listener.events if e["event_type"] == "accepted")
    assert (accepted["text"], accepted["origin"]) == (text, "http")
    house.ended(accepted["id"])
    assert said.locator("svg.wave").get_attribute("aria-label").endswith("秒の波形")

    page.evaluate(LISTEN)
    with page.expect_response("**/api/say") as answer:
        page.locator("#listen").click()
    with wave.open(BytesIO(answer.value.body())) as file:
        rate, frames = file.getframerate(), np.frombuffer(file.readframes(10**8), "<i2") / 32767
    seconds = len(frames) / rate
    becomes(page, "document.getElementById('player').ended", True)
    played = page.evaluate("document.getElementById('player').duration")
    levels = np.array(page.evaluate("window.heard"))
    assert 2.0 < seconds < 5.0
    assert played == pytest.approx(seconds, abs=0.05)
    assert 0.02 < levels.max() < 0.5  # RMS: speech, neither silence nor noise at full scale
    assert levels.max() == pytest.approx(float(np.sqrt(np.mean(loudest(frames, rate) ** 2))), rel=0.5)
    print(f"\n{seconds:.2f} s as WAV, {played:.2f} s played, loudest RMS {levels.max():.3f} in the browser")
    assert page.faults == []


def loudest(frames, rate):
    """The stretch of 43 ms, as long as the analyser's, with the highest level."""
    size = round(0.043 * rate)
    stretches = frames[: len(frames) // size * size].reshape(-1, size)
    return stretches[np.argmax((stretches**2).mean(axis=1))]


@SIZES
def test_a_word_is_added_to_the_dictionary_and_read_right(open_page, size, tmp_path):
    _house, page = open_page(size)
    ready(page)
    page.get_by_label("読みを確かめる文").fill("月見里さん。")
    page.get_by_role("button", name="読みを見る").click()
    page.wait_for_selector("[data-kana]")
    assert "ヤマナシ" not in page.locator("[data-kana]").get_attribute("data-kana")
    page.get_by_label("書きかた").fill("月見里")
    page.get_by_label("よみ(かな)").fill("やまなし")
    page.get_by_label("アクセント").select_option("2")
    page.get_by_role("button", name="加える", exact=True).click()
    page.wait_for_selector('[data-kana^="ヤマナシ"]')
    phrase = page.locator(".phrase").first
    assert phrase.get_attribute("aria-label").startswith("ヤマナシサン, マ のあとで下がる")
    assert "月見里" in (tmp_path / "words.yaml").read_text("utf-8")
    assert page.faults == []


def test_settings_are_those_of_the_house_whoever_changes_them(open_page):
    house, page = open_page(DESKTOP)
    ready(page)
    page.locator("#volume").fill("35")
    wait_for(lambda: house.listener.state().get("volume") == 35, 10, "the volume by MQTT")
    house.publish("set/volume", "72")
    becomes(page, "document.getElementById('volume-shown').textContent", "72")
    page.get_by_role("switch", name="消音").check()
    wait_for(lambda: house.listener.state().get("mute") is True, 10, "mute by MQTT")
    page.locator("#quiet").get_by_label("静かに").check()
    page.get_by_text("いまは静かな時間です。").wait_for()
    page.locator("#vacation-from").fill("2030-12-28")
    page.locator("#vacation-until").fill("2031-01-03")
    page.get_by_role("button", name="休暇にする").click()
    page.locator("#vacation-note").get_by_text("2").wait_for()
    wait_for(
        lambda: house.listener.state().get("vacation") == {"from": "2030-12-28", "until": "2031-01-03"},
        10,
        "the vacation by MQTT",
    )
    assert page.faults == []


def test_a_briefing_is_shown_with_its_reasons(open_page):
    sections = [
        {"kind": "text", "text": "おはようございます。"},
        {"kind": "mqtt", "topic": "home/t", "text": "{{ value }}"},
    ]
    house, page = open_page(DESKTOP, locale="en-US", briefings={"morning": {"sections": sections}})
    ready(page)
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("Left out: no value yet of home/t").wait_for()
    assert page.locator('[data-section="text"]').inner_text().splitlines()[-1] == "as configured"
    page.get_by_role("button", name="Play").click()
    wait_for(lambda: any(e["event_type"] == "finished" for e in house.listener.events), 15, "the briefing")
    assert page.faults == []


def test_the_token_is_asked_for_once_and_the_stream_has_it_too(open_page):
    house, page = open_page(DESKTOP, locale="en-US", http={"token": "s3cret"})
    page.wait_for_selector("#token-dialog[open]")
    page.locator("#token").fill("wrong")
    page.get_by_role("button", name="Enter").click()
    page.get_by_text("That is not it.").wait_for()
    page.locator("#token").fill("s3cret")
    page.get_by_role("button", name="Enter").click()
    ready(page)
    page.get_by_text("Connected", exact=True).wait_for()
    assert not page.locator("#token-dialog").is_visible()
    house.announce("鍵があれば聞こえます。")
    page.locator("#log").get_by_text("鍵があれば聞こえます。").wait_for()
    page.reload()
    ready(page)
    assert not page.locator("#token-dialog").is_visible()
    assert all("401" in fault for fault in page.faults), page.faults  # the browser notes each refusal


def test_everything_can_be_done_by_keyboard(open_page):
    alarms = {"wake-up": {"at": "06:45", "name": "起床"}}
    _house, page = open_page(DESKTOP, alarms=alarms)
    ready(page)
    page.wait_for_selector("[data-alarm]")
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.dataset.key || ''"))
    wanted = ["language", "new-alarm", "wake-up on", "wake-up skip", "wake-up edit", "speak-text", "speak-speaker"]
    wanted += ["listen", "volume", "mute", "vacation-from", "read-text", "word-surface", "doctor-run"]
    assert [name for name in wanted if name not in reached] == []
    page.locator('[data-key="wake-up on"]').focus()
    page.keyboard.press("Space")
    page.wait_for_selector('[data-alarm="wake-up"].off')
    assert page.evaluate("document.activeElement.dataset.key") == "wake-up on"  # the focus stays where it was
    page.locator('[data-key="wake-up edit"]').focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#alarm-dialog[open]")
    assert page.evaluate("document.activeElement.id") == "alarm-time"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.key") == "wake-up edit"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@SIZES
def test_it_fits_the_width_and_text_can_be_told_from_its_ground(open_page, size, scheme):
    alarms = {"wake-up": {"at": "06:45", "name": "とても長い名前のアラーム" * 3}}
    _house, page = open_page(size, scheme=scheme, alarms=alarms)
    ready(page)
    page.wait_for_selector("[data-alarm]")
    assert page.evaluate("document.documentElement.scrollWidth") <= size["viewport"]["width"]
    for selector in ("h2", ".meta", "button.primary", "button.plain", ".hint", ".tag"):
        ink, ground = page.evaluate(COLOURS, selector)
        assert contrast(ink, ground) >= 4.5, (selector, ink, ground)  # WCAG 2.2, 1.4.3


COLOURS = """
(selector) => {
  const element = document.querySelector(selector);
  let around = element;
  while (getComputedStyle(around).backgroundColor === "rgba(0, 0, 0, 0)") around = around.parentElement;
  return [element, around].map((one, index) =>
    getComputedStyle(one)[index ? "backgroundColor" : "color"].match(/[\\d.]+/g).slice(0, 3).map(Number));
}
"""


def contrast(ink, ground):
    """The ratio of relative luminances (WCAG 2.2)."""

    def luminance(colour):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(ink), luminance(ground)), reverse=True)
    return (high + 0.05) / (low + 0.05)
