// Draws the waveform as it grows, and how far it has been heard.

const STEP_SECONDS = 0.02;

export class Wave {
  constructor(canvas, rate) {
    this.canvas = canvas;
    this.step = Math.round(rate * STEP_SECONDS);
    this.peaks = [];
    this.rest = new Float32Array(0);
  }

  push(samples) {
    const all = new Float32Array(this.rest.length + samples.length);
    all.set(this.rest);
    all.set(samples, this.rest.length);
    let start = 0;
    for (; start + this.step <= all.length; start += this.step) {
      let peak = 0;
      for (let i = start; i < start + this.step; i += 1) peak = Math.max(peak, Math.abs(all[i]));
      this.peaks.push(peak);
    }
    this.rest = all.slice(start);
  }

  draw(heard) {
    const scale = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (this.canvas.width !== Math.round(width * scale)) this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    const context = this.canvas.getContext("2d");
    context.scale(scale, scale);
    context.clearRect(0, 0, width, height);
    const style = getComputedStyle(document.documentElement);
    const bars = Math.floor(width / 4);
    const shown = Math.max(this.peaks.length, 1.5 / STEP_SECONDS);
    for (let bar = 0; bar < bars; bar += 1) {
      const from = Math.floor((bar * shown) / bars);
      const to = Math.max(from + 1, Math.floor(((bar + 1) * shown) / bars));
      const values = this.peaks.slice(from, to);
      if (!values.length) break;
      const tall = Math.max(2, Math.max(...values) * (height - 12));
      context.fillStyle = style.getPropertyValue(from * STEP_SECONDS < heard ? "--accent" : "--line");
      context.fillRect(bar * 4, (height - tall) / 2, 3, tall);
    }
  }
}
