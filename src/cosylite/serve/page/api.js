// Talks to the server. Addresses are relative, so the page works under any path.

let key = sessionStorage.getItem("cosylite-key") || "";

export class ServerError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function setKey(value) {
  key = value;
  sessionStorage.setItem("cosylite-key", value);
}

async function call(path, options = {}) {
  const headers = { ...(options.headers || {}) };
  if (key) headers.Authorization = `Bearer ${key}`;
  const answer = await fetch(path, { ...options, headers });
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => ({}));
  throw new ServerError(answer.status, body.error ? body.error.message : answer.statusText);
}

function post(body, signal) {
  const headers = { "Content-Type": "application/json" };
  return call("v1/audio/speech", { method: "POST", headers, body: JSON.stringify(body), signal });
}

export async function loadVoices() {
  return (await call("v1/audio/voices")).json();
}

export async function loadModel() {
  return (await (await call("v1/models")).json()).data[0];
}

export async function fetchFile(body, signal) {
  return (await post({ ...body, stream: false }, signal)).blob();
}

// Speaks as server-sent events; handlers: audio(bytes), words(list). Returns the headers of the answer.
export async function stream(body, signal, handlers) {
  const wanted = { ...body, response_format: "pcm", stream_format: "sse", timestamps: true };
  const answer = await post(wanted, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let complete = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      const event = JSON.parse(text.slice(text.indexOf("data:") + 5, end));
      text = text.slice(end + 2);
      if (event.type === "speech.audio.delta") handlers.audio(fromBase64(event.audio));
      else if (event.type === "speech.audio.words") handlers.words(event.words);
      else if (event.type === "speech.audio.error") throw new ServerError(500, event.error.message);
      else if (event.type === "speech.audio.done") complete = true;
    }
  }
  if (!complete) throw new ServerError(500, "the answer broke off");
  return answer.headers;
}

function fromBase64(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) bytes[i] = raw.charCodeAt(i);
  return bytes;
}
