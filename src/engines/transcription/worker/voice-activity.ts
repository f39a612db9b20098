import { setImmediate as turn } from 'node:timers/promises';
import { checkedWeights, weights } from '../../weights.ts';
import type { Span } from '../cut.ts';
import { soundRate } from '../recogniser.ts';
import { loadSherpa, type Vad } from '../sherpa.ts';

/** Window of the VAD model. */
const windowSamples = 512;
/** Windows before yielding to the event loop: two seconds of audio, some 30 ms. */
const windowsAtOnce = 64;
/** Watchdog time-out of such a batch. */
const stepTimeoutMs = 20_000;
/** Maximum time between the start of speech and its detection. */
const lookBack = soundRate;
/** Longer speech is reported in parts. */
const maxSpan = 30 * soundRate;

export interface Activity {
  /** Completed spans of speech, in order. */
  readonly spans: readonly Span[];
  /** Later spans start at this sample or after it. */
  readonly settled: number;
}

export interface SpeechTools {
  readonly signal: AbortSignal;
  readonly watch: { here<Result>(boundMs: number, work: () => Result): Result };
}

/** Voice activity detection (VAD). One recording at a time. */
export class VoiceActivity {
  constructor(private readonly vad: Vad) {}

  static async open(): Promise<VoiceActivity> {
    const sileroVad = {
      model: await checkedWeights(weights.voiceActivity),
      threshold: 0.4,
      minSpeechDuration: 0.1,
      minSilenceDuration: 0.25,
      maxSpeechDuration: 20,
      windowSize: windowSamples,
    };
    const { Vad } = loadSherpa();
    return new VoiceActivity(new Vad({ sileroVad, sampleRate: soundRate, numThreads: 1, debug: 0 }, 60));
  }

  /** Processes audio incrementally, without buffering it. */
  async *listen(
    sound: AsyncIterable<Float32Array> | Iterable<Float32Array>,
    { signal, watch }: SpeechTools,
  ): AsyncGenerator<Activity> {
    this.vad.reset();
    let received = 0;
    let begun: number | undefined;
    for await (const step of inSteps(sound)) {
      signal.throwIfAborted();
      const earliest = Math.max(0, received - lookBack);
      received += step.length;
      const spans = [...watch.here(stepTimeoutMs, () => this.#feed(step))];
      const speaking = this.vad.isDetected();
      begun = speaking ? (spans.length > 0 ? earliest : (begun ?? earliest)) : undefined;
      if (begun !== undefined && received - begun > maxSpan) {
        // Otherwise the library would buffer all audio until the next pause.
        spans.push(...this.#flush(watch));
        begun = Math.max(0, received - lookBack);
      }
      yield { spans, settled: begun ?? Math.max(0, received - lookBack) };
      await turn();
    }
    yield { spans: this.#flush(watch), settled: received };
  }

  #flush(watch: SpeechTools['watch']): readonly Span[] {
    return watch.here(stepTimeoutMs, () => {
      this.vad.flush();
      return this.#takeSpans();
    });
  }

  #feed(samples: Float32Array): readonly Span[] {
    for (let start = 0; start < samples.length; start += windowSamples) {
      const window = new Float32Array(windowSamples);
      window.set(samples.subarray(start, start + windowSamples));
      this.vad.acceptWaveform(window);
    }
    return this.#takeSpans();
  }

  #takeSpans(): readonly Span[] {
    const spans: Span[] = [];
    for (; !this.vad.isEmpty(); this.vad.pop()) {
      const { start, samples } = this.vad.front(false);
      spans.push({ start, end: start + samples.length });
    }
    return spans;
  }
}

/** Whole steps, and the rest. */
async function* inSteps(sound: AsyncIterable<Float32Array> | Iterable<Float32Array>): AsyncGenerator<Float32Array> {
  const length = windowSamples * windowsAtOnce;
  let open = new Float32Array(length);
  let filled = 0;
  for await (const piece of sound) {
    for (let offset = 0; offset < piece.length; ) {
      const part = piece.subarray(offset, offset + length - filled);
      open.set(part, filled);
      filled += part.length;
      offset += part.length;
      if (filled < length) continue;
      yield open;
      open = new Float32Array(length);
      filled = 0;
    }
  }
  if (filled > 0) yield open.subarray(0, filled);
}
