"""Speed of a bundle: load, time to first audio, real-time factor, batching, peak memory.

    python benchmarks/speed.py --bundle nano --threads 2

Every figure is the best (rtf) or a percentile (ttfa) over `--repeats` runs in this process; import and load are timed
in fresh processes. Text processing is included everywhere.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from common import folder_mb, parser, peak_rss_mb, percentile, report, row

SENTENCES = {
    "en": "The quick brown fox jumps over the lazy dog near the old mill.",
    "zh": (
        "今天天气很好，我们打算下午一起去公园散步，然后在湖边的小餐馆里吃晚饭，"
        "吃完以后再慢慢走回家，路上还可以看一看夜景，聊一聊天。"
    ),
    "ja": (
        "今日は天気がいいので、午後からみんなで公園を散歩して、"
        "そのあと湖のそばの小さなレストランで晩ご飯を食べるつもりです。"
    ),
    "ko": (
        "오늘은 날씨가 좋아서 오후에 다 같이 공원을 산책하고 나서 호숫가에 있는 작은 식당에서 저녁을 먹을 생각입니다."
    ),
    "mixed": "Hello，今天天气真不错！We are going to 东京, そして 안녕하세요 라고 말합니다.",
}
"""About 60 characters each."""
BATCH = [
    "Good morning, how are you?", "今天天气真不错。", "電車がまいります。", "안녕하세요, 반갑습니다.",
    "The meeting starts at ten.", "请把窗户关上。", "明日は雨が降るでしょう。", "내일은 비가 올까요?",
]  # fmt: skip


def load_seconds(bundle: str, threads: int) -> float:
    """Import and load in a fresh process, best of three."""
    code = (
        "import time; t = time.perf_counter(); from cosylite import TTS; "
        f"TTS({bundle!r}, threads={threads}); print(time.perf_counter() - t)"
    )
    return min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    )


def measure(tts: Any, name: str, text: str, args: argparse.Namespace) -> dict[str, Any]:
    """Real-time factor and time to first audio of one text."""
    tts.say(text, seed=args.seed)
    factors, firsts, totals = [], [], []
    for _ in range(args.repeats):
        start = time.perf_counter()
        speech = tts.say(text, seed=args.seed)
        totals.append(time.perf_counter() - start)
        factors.append(totals[-1] / (len(speech.samples) / speech.sample_rate))
        start = time.perf_counter()
        stream = tts.stream(text, seed=args.seed)
        next(chunk for chunk in stream if len(chunk.samples))
        firsts.append((time.perf_counter() - start) * 1000)
        stream.close()
    return row(
        name,
        rtf=min(factors),
        latency_ms=min(totals) * 1000,
        ttfa_ms_p50=percentile(firsts, 50),
        ttfa_ms_p95=percentile(firsts, 95),
        rtf_median=percentile(factors, 50),
        characters=len(text),
    )


def batching(tts: Any, args: argparse.Namespace) -> dict[str, Any]:
    """32 sentences together against one by one, alternating, best of three each."""
    texts = BATCH * 4
    tts.say_many(texts[:8], seed=args.seed)
    together, alone = [], []
    for _ in range(3):
        start = time.perf_counter()
        speeches = tts.say_many(texts, seed=args.seed)
        together.append(time.perf_counter() - start)
        start = time.perf_counter()
        for text in texts:
            tts.say(text, seed=args.seed)
        alone.append(time.perf_counter() - start)
    seconds = sum(len(s.samples) / s.sample_rate for s in speeches)
    return row(
        "say_many of 32",
        rtf=min(together) / seconds,
        requests_per_s=32 / min(together),
        speedup=min(alone) / min(together),
    )


def main() -> None:
    """Measure and report."""
    made = parser(__doc__)
    made.add_argument("--repeats", type=int, default=10)
    args = made.parse_args()
    loading = load_seconds(args.bundle, args.threads)
    from cosylite import TTS

    start = time.perf_counter()
    tts = TTS(args.bundle, threads=args.threads)
    ready = time.perf_counter() - start
    size = folder_mb(Path(tts.engine.model.bundle.path))
    rows = [measure(tts, name, text, args) for name, text in SENTENCES.items()]
    rows.append(batching(tts, args))
    rows.append(row("import and load", load_s=loading, size_mb=size, peak_rss_mb=peak_rss_mb(), warm_load_s=ready))
    report("speed", args, rows)


if __name__ == "__main__":
    main()
