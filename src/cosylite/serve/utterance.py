"""What the server says about one turn of a WebSocket session: frames and their ids."""

import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from cosylite.serve.answers import word_list
from cosylite.serve.encoding import Encoding, encode
from cosylite.serve.speech import Spoken

Message = dict[str, Any] | bytes


@dataclass(frozen=True)
class UtteranceIds:
    """Ids of a turn; part of every message about it."""

    utterance_id: str
    utterance_index: int

    def fields(self) -> dict[str, Any]:
        """As message fields."""
        return {"utterance_id": self.utterance_id, "utterance_index": self.utterance_index}


class UtteranceWriter:
    """Turns spoken audio into messages: `audio.start`, audio, `audio.done` per sentence, `session.done` at the end.

    Args:
        send: sends messages together, in order.
        ids: ids of the turn.
        encoding: the one encoder of the turn.
        rate: sample rate of the encoded audio.
        format: its name.
        as_json: audio as `audio.delta` messages with base64 instead of binary frames.
        timestamps: send `audio.sentence` and `audio.words`.
    """

    def __init__(
        self,
        send: Callable[[list[Message]], Awaitable[None]],
        ids: UtteranceIds,
        encoding: Encoding,
        rate: int,
        format: str,
        as_json: bool,
        timestamps: bool,
    ) -> None:
        self._send = send
        self._ids = ids
        self._encoding = encoding
        self._rate = rate
        self._format = format
        self._as_json = as_json
        self._timestamps = timestamps
        self._sentence = -1
        self._bytes = 0

    async def say(self, spoken: Spoken) -> None:
        """Send a piece of audio."""
        messages: list[Message] = []
        if spoken.segment_index != self._sentence:
            messages += self._done()
            self._sentence = spoken.segment_index
            messages.append(
                self._about(
                    "audio.start", sentence_text=spoken.segment.text, format=self._format, sample_rate=self._rate
                )
            )
        if self._timestamps and spoken.begins:
            messages.append(self._about("audio.sentence", start=round(spoken.start, 3)))
        if self._timestamps and spoken.words:
            messages.append(self._about("audio.words", words=word_list(spoken.words)))
        data = await encode(self._encoding, spoken.pcm)
        await self._send(messages + self._audio(data))

    async def end(self) -> None:
        """Send what the encoder still holds, and the end of the turn."""
        messages = self._audio(self._encoding.close()) if self._sentence >= 0 else []
        total = {**self._ids.fields(), "total_sentences": self._sentence + 1, "error": False}
        await self._send([*messages, *self._done(), {"type": "session.done", **total}])

    def _audio(self, data: bytes) -> list[Message]:
        if not data:
            return []
        self._bytes += len(data)
        if self._as_json:
            return [self._about("audio.delta", audio=base64.b64encode(data).decode())]
        return [data]

    def _done(self) -> list[Message]:
        if self._sentence < 0:
            return []
        total, self._bytes = self._bytes, 0
        return [self._about("audio.done", total_bytes=total, error=False)]

    def _about(self, kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": kind, **self._ids.fields(), "sentence_index": self._sentence, **fields}
