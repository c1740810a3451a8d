"""Request bodies, as the OpenAPI document shows them. Limits that the operator chooses are checked in `orders.py`."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Format = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]
Mode = Literal["auto", "preset", "zero-shot", "cross-lingual", "instruct"]
Rate = Literal[8000, 12000, 16000, 22050, 24000, 32000, 44100, 48000]
Speed = Annotated[float, Field(ge=0.25, le=4.0, allow_inf_nan=False, description="0.25 to 4; best from 0.5 to 2")]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1, description="equal seeds give equal audio")]
Language = Annotated[str, Field(max_length=20, description="auto, zh, en, ja, ko, or the English name")]
Text = Annotated[str, Field(max_length=1_000_000)]


class VoiceObject(BaseModel):
    """A voice by id."""

    id: str = Field(min_length=1, max_length=128)


Voice = Annotated[str, Field(max_length=128)] | VoiceObject


class SpeechDefaults(BaseModel):
    """Fields that the speech and batch routes share. Unknown fields are ignored, since clients send new ones."""

    model_config = ConfigDict(extra="ignore")

    model: str | None = Field(default=None, max_length=128, description="a name of /v1/models, or one of OpenAI's")
    voice: Voice | None = Field(default=None, description="a voice of /v1/audio/voices, or one of OpenAI's names")
    instructions: str | None = Field(default=None, max_length=4096, description="style, where the model understands it")
    mode: Mode = Field(default="auto", description="how the voice is used, where the model has modes")
    speed: Speed = 1.0
    language: Language | None = None
    seed: Seed = 0
    sample_rate: Rate | None = Field(default=None, description="default: the model's own")
    ref_audio: str | None = Field(default=None, max_length=16 << 20, description="voice to clone, a base64 data URL")
    ref_text: str | None = Field(default=None, max_length=2000, description="what is said in ref_audio")


class SpeechBody(SpeechDefaults):
    """Body of `POST /v1/audio/speech`."""

    input: Text = Field(description="the text to speak")
    response_format: Format = "mp3"
    stream_format: Literal["audio", "sse"] | None = None
    stream: bool | None = Field(
        default=None,
        description="false: send the whole file with its exact length. Default: wav and flac whole, others as made",
    )
    timestamps: bool = Field(default=False, description="word times, as events of their own; needs stream_format sse")


class BatchItem(BaseModel):
    """One text of a batch; what is left out comes from the batch."""

    model_config = ConfigDict(extra="ignore")

    input: Text
    voice: Voice | None = None
    instructions: str | None = Field(default=None, max_length=4096)
    mode: Mode | None = None
    speed: Speed | None = None
    language: Language | None = None
    seed: Seed | None = None
    sample_rate: Rate | None = None
    response_format: Format | None = None


class BatchBody(SpeechDefaults):
    """Body of `POST /v1/audio/speech/batch`."""

    items: list[BatchItem] = Field(min_length=1, max_length=32)
    response_format: Format = "wav"
    timestamps: bool = False


class SimpleBody(BaseModel):
    """Body of `POST /tts`."""

    model_config = ConfigDict(extra="ignore")

    text: Text
    voice: Voice | None = None
    speed: Speed = 1.0
    format: Format = "wav"
    language: Language | None = None
    seed: Seed = 0
    model: str | None = Field(default=None, max_length=128)
    timestamps: bool = False


class ErrorDetail(BaseModel):
    """What went wrong."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorBody(BaseModel):
    """Body of every answer that is not a success."""

    error: ErrorDetail


class SpokenTime(BaseModel):
    """A word or sentence of the text and the seconds between which it is heard."""

    text: str
    start: float
    end: float


class SimpleAnswer(BaseModel):
    """Answer of `POST /tts`: the encoded audio in hexadecimal."""

    audio: str
    format: Format
    sample_rate: int
    duration: float
    words: list[SpokenTime] | None = None
    sentences: list[SpokenTime] | None = None


class AliasBody(BaseModel):
    """Body of `PUT /admin/aliases/{alias}`."""

    model_config = ConfigDict(extra="forbid")

    target: str = Field(min_length=1, max_length=128, description="a configured bundle")
