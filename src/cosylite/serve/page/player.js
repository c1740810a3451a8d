// Plays 16-bit audio while it arrives, without gaps, and knows which second of it is heard.

export class Player {
  constructor(rate) {
    this.rate = rate;
    this.context = new AudioContext({ sampleRate: rate });
    this.parts = [];        // {at: context time, from: second of the speech, seconds}
    this.sources = new Set();
    this.next = 0;          // context time at which the next part begins
    this.received = 0;      // seconds of speech received
    this.complete = false;
    this.onend = () => {};
  }

  push(samples) {
    if (!samples.length) return;
    const buffer = this.context.createBuffer(1, samples.length, this.rate);
    buffer.copyToChannel(samples, 0);
    const source = this.context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.context.destination);
    const at = Math.max(this.next, this.context.currentTime + 0.03);
    source.start(at);
    this.sources.add(source);
    source.onended = () => {
      this.sources.delete(source);
      if (this.complete && !this.sources.size) this.onend();
    };
    this.parts.push({ at, from: this.received, seconds: buffer.duration });
    this.next = at + buffer.duration;
    this.received += buffer.duration;
  }

  finish() {
    this.complete = true;
    if (!this.sources.size) this.onend();
  }

  // Second of the speech that is heard now.
  position() {
    const now = this.context.currentTime;
    let heard = 0;
    for (const part of this.parts) {
      if (now < part.at) break;
      heard = part.from + Math.min(part.seconds, now - part.at);
    }
    return heard;
  }

  stop() {
    this.onend = () => {};
    for (const source of this.sources) source.stop();
    this.sources.clear();
    if (this.context.state !== "closed") this.context.close();
  }
}

export function toFloats(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const samples = new Float32Array(bytes.byteLength >> 1);
  for (let i = 0; i < samples.length; i += 1) samples[i] = view.getInt16(2 * i, true) / 32768;
  return samples;
}
