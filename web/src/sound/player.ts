import { closeAudio } from './microphone.ts';

interface Piece {
  readonly itemId: string;
  readonly source: AudioBufferSourceNode;
  readonly startsAt: number;
  readonly seconds: number;
}

/** A moment, so that the next piece arrives before the one before it ends. */
const leadSeconds = 0.06;

/** Plays pieces of speech one after the other. */
export class Player {
  readonly #context = new AudioContext();
  readonly #rate: number;
  readonly #onidle: () => void;
  #pieces: Piece[] = [];
  /** What was played of the current item, in seconds. */
  #played = { itemId: '', seconds: 0 };

  constructor(rate: number, onidle: () => void) {
    this.#rate = rate;
    this.#onidle = onidle;
  }

  get playing(): boolean {
    return this.#pieces.length > 0;
  }

  add(itemId: string, samples: Int16Array<ArrayBuffer>): void {
    if (samples.length === 0) return;
    // Browsers start the sound of a page only after a click, which has happened by now.
    void this.#context.resume();
    const buffer = this.#context.createBuffer(1, samples.length, this.#rate);
    buffer.copyToChannel(
      Float32Array.from(samples, (sample) => sample / 32_768),
      0,
    );
    const source = this.#context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.#context.destination);
    const last = this.#pieces.at(-1);
    const soonest = this.#context.currentTime + leadSeconds;
    const startsAt = last ? Math.max(soonest, last.startsAt + last.seconds) : soonest;
    const piece = { itemId, source, startsAt, seconds: buffer.duration };
    this.#pieces.push(piece);
    source.onended = () => this.#ended(piece);
    source.start(startsAt);
  }

  /** Stops at once; returns how much of this item was heard, in milliseconds. */
  stop(itemId: string): number {
    // Between two sentences there may be no piece at all.
    const current = this.#pieces.find((piece) => piece.itemId === itemId);
    const { currentTime, outputLatency = 0 } = this.#context;
    const heard = current ? Math.min(current.seconds, Math.max(0, currentTime - outputLatency - current.startsAt)) : 0;
    const before = this.#played.itemId === itemId ? this.#played.seconds : 0;
    this.#silence();
    return Math.floor(1000 * (before + heard));
  }

  /** Goes on after the system has paused it. */
  resume(): void {
    void this.#context.resume();
  }

  close(): void {
    this.#silence();
    closeAudio(this.#context);
  }

  #silence(): void {
    for (const { source } of this.#pieces) {
      source.onended = null;
      source.stop();
    }
    this.#pieces = [];
  }

  #ended(piece: Piece): void {
    const { itemId, seconds } = piece;
    const before = this.#played.itemId === itemId ? this.#played.seconds : 0;
    this.#played = { itemId, seconds: before + seconds };
    this.#pieces = this.#pieces.filter((other) => other !== piece);
    if (this.#pieces.length === 0) this.#onidle();
  }
}
