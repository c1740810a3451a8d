"""The web page in a real headless Chromium; skipped where there is none."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .browser import PROGRAM, Page, browser
from .conftest import Live
from .fake import FakeEngine

WANTED = PROGRAM is not None or os.environ.get("COSYLITE_REQUIRE_BROWSER") == "1"
pytestmark = pytest.mark.skipif(not WANTED, reason="chromium is not installed")
PICTURES = os.environ.get("SERVE_TEST_PICTURES", "")
"""A folder for screenshots, for someone who wants to look at them."""


def with_page(check: Callable[[Page], Awaitable[None]]) -> None:
    async def go() -> None:
        async with browser() as page:
            await check(page)

    asyncio.run(go())


def only_own_requests(page: Page, url: str) -> bool:
    return all(request.startswith((url, "blob:", "data:")) for request in page.requests)


def test_speaks_follows_and_stops(live: Callable[..., Live]) -> None:
    engine = FakeEngine(step_seconds=0.01)
    server = live(engine)

    async def check(page: Page) -> None:
        await page.open(server.url + "/")
        assert await page.run("document.documentElement.lang") == "en"
        assert await page.run("[...document.querySelectorAll('#voice option')].map(o => o.value)") == [
            "", "ann", "bob", "chen",
        ]  # fmt: skip
        await page.run("document.getElementById('text').value = 'One two three four five. Six seven eight!'")
        await page.run("document.getElementById('play').click()")
        await page.until("document.getElementById('first').textContent.endsWith('ms')")
        marked = "document.querySelector('#follow .now')?.textContent ?? ''"
        seen: set[str] = set()
        while len(seen - {""}) < 2 and await page.run("document.getElementById('status').textContent") != "Done.":
            seen.add(await page.run(marked))
        assert len(seen - {""}) >= 2
        assert await page.run("document.getElementById('follow').textContent") == (
            "One two three four five. Six seven eight!"
        )
        await page.until("document.getElementById('status').textContent === 'Done.'", 10)
        assert float(str(await page.run("document.getElementById('factor').textContent")).split()[0]) > 0
        assert await page.run("document.querySelectorAll('#follow span').length") == 8
        await page.run("document.getElementById('text').value = 'word '.repeat(600)")
        await page.press("Enter", 13, modifiers=2)
        await page.until(
            "!document.getElementById('stop').disabled && document.getElementById('length').textContent > '0'"
        )
        await page.press("Escape", 27)
        assert await page.run("document.getElementById('status').textContent") == "Stopped."
        for _ in range(100):
            if engine.open_now == server.service.active == 0:
                break
            await asyncio.sleep(0.02)
        assert engine.open_now == server.service.active == 0
        assert page.problems == []
        assert only_own_requests(page, server.url)

    with_page(check)


def test_downloads_a_file_with_a_sensible_name(live: Callable[..., Live], tmp_path: Path) -> None:
    server = live()

    async def check(page: Page) -> None:
        await page.open(server.url + "/")
        await page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        await page.run("document.getElementById('text').value = '你好 world, a/b?'")
        await page.run("document.getElementById('format').value = 'wav'")
        await page.run("document.getElementById('download').click()")
        await page.until("document.getElementById('status').textContent === 'The file is ready.'")
        for _ in range(100):
            if (tmp_path / "你好-world-a-b.wav").exists():
                break
            await asyncio.sleep(0.05)
        assert (tmp_path / "你好-world-a-b.wav").read_bytes()[:4] == b"RIFF"

    with_page(check)


def test_chinese_keys_errors_and_names_for_screen_readers(live: Callable[..., Live]) -> None:
    server = live(api_key=("a-secret-key",))

    async def check(page: Page) -> None:
        await page.call("Page.navigate", url=server.url + "/")
        await page.until("document.getElementById('key-form')?.hidden === false")
        await page.run("document.getElementById('key').value = 'a-secret-key'")
        await page.run("document.querySelector('#key-form button').click()")
        await page.until("document.querySelectorAll('#voice option').length === 4")
        await page.run("document.getElementById('language').click()")
        assert await page.run("document.documentElement.lang") == "zh-CN"
        assert await page.run("document.getElementById('play').textContent") == "朗读"
        await page.run("document.getElementById('text').value = ''")
        await page.run("document.getElementById('play').click()")
        assert await page.run("document.getElementById('status').textContent") == "请先输入文本。"
        assert await page.run("document.activeElement.id") == "text"
        await page.run("document.getElementById('text').value = 'It goes BOOM.'")
        await page.run("document.getElementById('play').click()")
        await page.until("document.getElementById('status').classList.contains('error')")
        await page.run("document.getElementById('theme').click()")
        tree = await page.call("Accessibility.getFullAXTree")
        roles = ("button", "textbox", "combobox", "slider")
        controls = [node for node in tree["nodes"] if node.get("role", {}).get("value") in roles]
        assert len(controls) >= 14
        assert all(node["name"]["value"] for node in controls)

    with_page(check)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_fits_the_window(live: Callable[..., Live], width: int, dark: bool) -> None:
    server = live()

    async def check(page: Page) -> None:
        await page.open(server.url + "/", width, dark)
        assert await page.run("document.documentElement.dataset.theme") == ("dark" if dark else "light")
        await page.run("document.getElementById('play').click()")
        await page.until("document.querySelector('#follow .now') !== null")
        assert await page.run("document.documentElement.scrollWidth <= window.innerWidth")
        buttons = "[...document.querySelectorAll('button,select')].filter(e => e.offsetParent)"
        small = f"{buttons}.filter(e => e.offsetHeight < 32).length"
        assert await page.run(small) == 0
        if PICTURES:
            await page.screenshot(Path(PICTURES) / f"page-{width}-{'dark' if dark else 'light'}.png")
            if width == 390:
                await page.run("document.getElementById('language').click()")
                await page.screenshot(Path(PICTURES) / f"page-{width}-{'dark' if dark else 'light'}-zh.png")

    with_page(check)


@pytest.mark.parametrize("width", [1280, 390])
def test_documentation_page(live: Callable[..., Live], width: int) -> None:
    server = live()

    async def check(page: Page) -> None:
        await page.open(server.url + "/", width)
        await page.call("Page.navigate", url=server.url + "/docs")
        await page.until("document.querySelectorAll('section h2').length > 10")
        titles = await page.run("[...document.querySelectorAll('section h2')].map(e => e.textContent)")
        assert "POST /v1/audio/speech" in titles
        assert await page.run("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.problems == []
        assert only_own_requests(page, server.url)
        if PICTURES:
            await page.screenshot(Path(PICTURES) / f"docs-{width}.png")

    with_page(check)


@pytest.fixture
def behind_prefix(live: Callable[..., Live]) -> Iterator[str]:
    """A reverse proxy that shows the service under /speech/ and strips that prefix."""
    server = live(root_path="/speech")

    async def forward(request: Request) -> Response:
        async with httpx.AsyncClient() as client:
            url = f"{server.url}/{request.path_params['rest']}"
            headers = {"Content-Type": request.headers.get("content-type", "text/plain")}
            answer = await client.request(request.method, url, content=await request.body(), headers=headers)
        keep = {"content-type", "content-security-policy", "x-cache"}
        return Response(
            answer.content, answer.status_code, {k: v for k, v in answer.headers.items() if k.lower() in keep}
        )

    proxy = Starlette(routes=[Route("/speech/{rest:path}", forward, methods=["GET", "POST"])])
    config = uvicorn.Config(proxy, port=0, log_config=None)
    runner = uvicorn.Server(config)
    socket = config.bind_socket()
    thread = threading.Thread(target=runner.run, args=([socket],))
    thread.start()
    yield f"http://127.0.0.1:{socket.getsockname()[1]}/speech/"
    runner.should_exit = True
    thread.join()


def test_works_under_a_path_prefix(behind_prefix: str) -> None:
    async def check(page: Page) -> None:
        await page.open(behind_prefix)
        await page.run("document.getElementById('text').value = 'Short words.'")
        await page.run("document.getElementById('play').click()")
        await page.until("document.getElementById('status').textContent === 'Done.'")
        assert page.problems == []
        assert only_own_requests(page, behind_prefix)

    with_page(check)
