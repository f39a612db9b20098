// Runs in the audio thread: samples of the microphone as 16 bits at 24 kHz, in pieces of 40 ms.
const targetRate = 24_000;
const pieceLength = 960;

class Capture extends AudioWorkletProcessor {
  constructor() {
    super();
    this.step = sampleRate / targetRate;
    // Where the next sample is taken, from the last one of the block before on.
    this.position = 0;
    this.last = 0;
    this.piece = new Int16Array(pieceLength);
    this.filled = 0;
  }

  process([input]) {
    const samples = input?.[0];
    if (!samples) return true;
    for (; this.position < samples.length; this.position += this.step) {
      const index = Math.floor(this.position);
      const before = index === 0 ? this.last : samples[index - 1];
      const value = before + (samples[index] - before) * (this.position - index);
      this.piece[this.filled++] = Math.max(-1, Math.min(1, value)) * 32_767;
      if (this.filled < pieceLength) continue;
      this.port.postMessage(this.piece.slice());
      this.filled = 0;
    }
    this.position -= samples.length;
    this.last = samples[samples.length - 1];
    return true;
  }
}

registerProcessor('capture', Capture);
