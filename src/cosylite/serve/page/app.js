// The playground: wires the form to the server, the player and the read-along text.

import { ServerError, fetchFile, loadModel, loadVoices, setKey, stream } from "./api.js";
import { Follower } from "./follow.js";
import { Player, toFloats } from "./player.js";
import { Wave } from "./wave.js";
import { EXAMPLES, LANGUAGES, PREVIEWS, WORDS } from "./words.js";

const at = (id) => document.getElementById(id);
const state = { language: "en", limit: 4096, rate: 24000, voices: [], job: null, wave: null };

const say = (name) => WORDS[state.language][name];

function setStatus(text, error = false) {
  at("status").textContent = text;
  at("status").classList.toggle("error", error);
}

function showLanguage(language) {
  state.language = language;
  localStorage.setItem("cosylite-language", language);
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  for (const element of document.querySelectorAll("[data-i18n]")) element.textContent = say(element.dataset.i18n);
  at("language").textContent = language === "zh" ? "English" : "中文";
  at("language").lang = language === "zh" ? "en" : "zh";
  at("text").placeholder = say("placeholder");
  at("wave").setAttribute("aria-label", say("wave"));
  setStatus("");
  showCount();
  showVoices();
}

function showTheme(theme) {
  document.documentElement.dataset.theme = theme;
  at("theme").setAttribute("aria-pressed", String(theme === "dark"));
  if (state.wave) state.wave.draw(0);
}

function showCount() {
  at("count").textContent = say("characters")(at("text").value.length, state.limit);
}

function showVoices() {
  const chosen = at("voice").value;
  const names = LANGUAGES[state.language];
  const describe = (voice) => {
    const parts = [names[voice.language] || voice.language, voice.gender && (say(voice.gender) || voice.gender)];
    return `${voice.name} · ${parts.filter(Boolean).join(" · ")}`;
  };
  at("voice").replaceChildren(
    new Option(say("automatic"), ""),
    ...state.voices.map((voice) => new Option(describe(voice), voice.id)),
  );
  at("voice").value = chosen;
}

function showSpeed() {
  at("speed-value").textContent = `${Number(at("speed").value).toFixed(2)}×`;
}

function body(text = at("text").value) {
  const chosen = { input: text, speed: Number(at("speed").value) };
  if (at("voice").value) chosen.voice = at("voice").value;
  return chosen;
}

function fail(error) {
  if (error.name === "AbortError") return;
  const known = error instanceof ServerError;
  if (known && error.status === 401) {
    at("key-form").hidden = false;
    at("key").focus();
  }
  setStatus(known ? error.message : say("offline"), true);
}

function stop(message = "stopped") {
  const { job } = state;
  if (!job) return;
  state.job = null;
  job.control.abort();
  job.player.stop();
  cancelAnimationFrame(job.frame);
  at("stop").disabled = true;
  if (message) setStatus(say(message));
}

async function speak(text, follow) {
  stop(null);
  if (!text.trim()) {
    setStatus(say("empty"), true);
    at("text").focus();
    return;
  }
  const job = { control: new AbortController(), player: new Player(state.rate), frame: 0, first: 0, made: 0 };
  const follower = new Follower(at("follow"), follow ? text : "");
  const wave = new Wave(at("wave"), state.rate);
  Object.assign(state, { job, wave });
  at("stop").disabled = false;
  for (const id of ["first", "factor", "length"]) at(id).textContent = "–";
  setStatus(say("working"));
  at("result").hidden = false;

  const draw = () => {
    const heard = job.player.position();
    wave.draw(heard);
    follower.show(heard);
    job.frame = requestAnimationFrame(draw);
  };
  job.player.onend = () => {
    if (state.job !== job) return;
    stop("done");
    follower.show(-1);
    wave.draw(Infinity);
  };
  const started = performance.now();
  draw();
  try {
    const headers = await stream(body(text), job.control.signal, {
      audio(bytes) {
        const samples = toFloats(bytes);
        if (!job.first) {
          job.first = performance.now() - started;
          at("first").textContent = `${Math.round(job.first)} ms`;
        }
        job.made += samples.length / state.rate;
        at("length").textContent = `${job.made.toFixed(1)} s`;
        wave.push(samples);
        job.player.push(samples);
      },
      words: (words) => follower.push(words),
    });
    const taken = (performance.now() - started) / 1000;
    const note = headers.get("X-Cache") === "hit" ? ` (${say("cached")})` : "";
    at("factor").textContent = (taken / job.made).toFixed(3) + note;
    job.player.finish();
  } catch (error) {
    if (state.job === job) stop(null);
    fail(error);
  }
}

function preview() {
  const voice = state.voices.find((entry) => entry.id === at("voice").value);
  const language = voice ? voice.language : state.language;
  speak(PREVIEWS[language] || PREVIEWS.en, true);
}

async function download() {
  if (!at("text").value.trim()) {
    setStatus(say("empty"), true);
    return;
  }
  const format = at("format").value;
  setStatus(say("saving"));
  at("download").disabled = true;
  try {
    const file = await fetchFile({ ...body(), response_format: format });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    const words = at("text").value.trim().slice(0, 30).replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
    link.download = `${words || "speech"}.${format}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    setStatus(say("saved"));
  } catch (error) {
    fail(error);
  } finally {
    at("download").disabled = false;
  }
}

async function connect() {
  try {
    const [voices, model] = await Promise.all([loadVoices(), loadModel()]);
    state.voices = voices.voices;
    state.rate = model.sample_rate || state.rate;
    state.limit = model.max_characters || state.limit;
    at("text").maxLength = state.limit;
    at("format").replaceChildren(...model.formats.map((name) => new Option(name.toUpperCase(), name)));
    at("key-form").hidden = true;
    setStatus("");
    showVoices();
    showCount();
  } catch (error) {
    fail(error);
  }
}

function start() {
  for (const [label, lang, text] of EXAMPLES) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: label, lang });
    button.addEventListener("click", () => {
      at("text").value = text;
      showCount();
    });
    at("examples").append(button);
  }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  showTheme(localStorage.getItem("cosylite-theme") || dark);
  const browser = navigator.language.startsWith("zh") ? "zh" : "en";
  showLanguage(localStorage.getItem("cosylite-language") || browser);
  at("text").value = EXAMPLES[state.language === "zh" ? 1 : 0][2];
  showCount();
  showSpeed();

  at("form").addEventListener("submit", (event) => {
    event.preventDefault();
    speak(at("text").value, true);
  });
  at("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    setKey(at("key").value.trim());
    connect();
  });
  at("text").addEventListener("input", showCount);
  at("speed").addEventListener("input", showSpeed);
  at("stop").addEventListener("click", () => stop());
  at("preview").addEventListener("click", preview);
  at("download").addEventListener("click", download);
  at("language").addEventListener("click", () => showLanguage(state.language === "zh" ? "en" : "zh"));
  at("theme").addEventListener("click", () => {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("cosylite-theme", theme);
    showTheme(theme);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") stop();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) speak(at("text").value, true);
  });
  connect();
}

start();
