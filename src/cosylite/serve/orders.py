"""From request bodies to orders: limits, languages, voices and reference recordings, checked before any work."""

import base64
import binascii

from cosylite.errors import InputError
from cosylite.serve.engine import Engine, Prompt, SpeechOptions
from cosylite.serve.errors import ServeError
from cosylite.serve.registry import Deployment
from cosylite.serve.schemas import VoiceObject
from cosylite.serve.service import Service
from cosylite.serve.speech import Order
from cosylite.serve.voices import read_prompt, resolve_voice

_LANGUAGES = {
    "": "auto",
    "auto": "auto",
    "zh": "zh",
    "chinese": "zh",
    "en": "en",
    "english": "en",
    "ja": "ja",
    "japanese": "ja",
    "ko": "ko",
    "korean": "ko",
}


def read_language(name: str | None) -> str:
    """`auto` or a language code for a code, a tag such as `zh-CN`, or an English name.

    Raises:
        InputError: an unknown language.
    """
    folded = (name or "").strip().casefold().replace("_", "-")
    code = _LANGUAGES.get(folded) or _LANGUAGES.get(folded.partition("-")[0])
    if code is None:
        raise InputError(
            f"unknown language {(name or '')[:20]!r}; choose auto, zh, en, ja or ko",
            code="unknown_language",
            param="language",
        )
    return code


def check_text(text: str, limit: int, param: str) -> None:
    """Refuse empty and overlong texts.

    Raises:
        InputError: with `param`.
    """
    if not text.strip():
        raise InputError(f"{param} is empty: give at least one word", code="empty_input", param=param)
    if len(text) > limit:
        raise InputError(
            f"{param} has {len(text)} characters, at most {limit} are allowed: split it",
            code="input_too_long",
            param=param,
        )


def voice_name(voice: str | VoiceObject | None) -> str | None:
    """The name in either form of the field."""
    return voice.id if isinstance(voice, VoiceObject) else voice


def read_reference(engine: Engine, audio: str | None, text: str | None, limit: int) -> Prompt | None:
    """The recording of `ref_audio`, a base64 data URL; addresses and paths are never opened.

    Raises:
        InputError: another kind of address, not audio, or a bundle that cannot clone.
    """
    if audio is None:
        return None
    if not engine.can_clone:
        raise InputError(f"the model {engine.name} cannot clone voices", code="cannot_clone", param="ref_audio")
    head, comma, payload = audio.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        raise InputError(
            "ref_audio must be a base64 data URL (data:audio/wav;base64,...)", code="invalid_audio", param="ref_audio"
        )
    try:
        data = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError("ref_audio is not valid base64", code="invalid_audio", param="ref_audio") from error
    if len(data) > limit:
        raise ServeError(f"ref_audio is larger than {limit} bytes", status=413, code="too_large", param="ref_audio")
    return read_prompt(data, text or "", "ref_audio")


def make_options(
    service: Service,
    deployment: Deployment,
    *,
    voice: str | VoiceObject | None,
    language: str | None,
    speed: float,
    seed: int,
    instructions: str | None = None,
    mode: str = "auto",
    ref_audio: str | None = None,
    ref_text: str | None = None,
) -> SpeechOptions:
    """Validated options on a leased deployment.

    Raises:
        CosyliteError: a value is not usable.
    """
    engine = deployment.ready
    prompt = read_reference(engine, ref_audio, ref_text, service.settings.max_upload_bytes)
    if prompt is None:
        voice_id, prompt = resolve_voice(engine, service.voices, voice_name(voice))
    else:
        voice_id = ""
    check_mode(engine, mode)
    style = (instructions or "").strip() if engine.modes else ""
    return SpeechOptions(voice_id, read_language(language), speed, seed, style, prompt, mode)


def check_mode(engine: Engine, mode: str) -> None:
    """Refuse modes that the engine does not have. Instructions are ignored where it has no modes at all.

    Raises:
        InputError: the engine has other modes, or none.
    """
    if mode == "auto" or mode in engine.modes:
        return
    known = f"it has {', '.join(engine.modes)}" if engine.modes else "leave mode out"
    raise InputError(f"the model {engine.name} has no mode {mode!r}; {known}", code="unsupported", param="mode")


def make_order(
    service: Service,
    deployment: Deployment,
    text: str,
    options: SpeechOptions,
    *,
    model: str | None,
    endpoint: str,
    format: str,
    whole: bool,
    store: bool,
    param: str = "input",
) -> Order:
    """An order for a whole text.

    Raises:
        InputError: the text is empty or too long.
    """
    check_text(text, service.settings.max_characters, param)
    return Order(text, options, service.registry.resolve(model), endpoint, format, whole, store, text_field=param)
