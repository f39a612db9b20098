import { setImmediate as turn } from 'node:timers/promises';
import { checkedWeights, weights } from '../../weights.ts';
import type { Span } from '../cut.ts';
import { soundRate } from '../recognisers/recogniser.ts';
import { loadSherpa, type Vad } from '../sherpa.ts';

/** What the model looks at in one step. */
const windowSamples = 512;
/** So many steps before others are let in: two seconds of sound, some 30 ms. */
const windowsAtOnce = 64;
/** For what takes 30 ms on a machine that is not busy. */
const longestStepMs = 20_000;

export interface SpeechTools {
  readonly signal: AbortSignal;
  readonly watch: { here<Result>(boundMs: number, work: () => Result): Result };
}

/** Finds where in a recording somebody speaks. One recording after the other. */
export class VoiceActivity {
  constructor(private readonly vad: Vad) {}

  static async open(): Promise<VoiceActivity> {
    const model = await checkedWeights(weights.voiceActivity);
    const { Vad } = loadSherpa();
    return new VoiceActivity(
      new Vad(
        {
          sileroVad: {
            model,
            threshold: 0.4,
            minSpeechDuration: 0.1,
            minSilenceDuration: 0.25,
            maxSpeechDuration: 20,
            windowSize: windowSamples,
          },
          sampleRate: soundRate,
          numThreads: 1,
          debug: 0,
        },
        60,
      ),
    );
  }

  /** In order, each as soon as it is known to be over. */
  async *spans(samples: Float32Array, { signal, watch }: SpeechTools): AsyncGenerator<Span> {
    this.vad.reset();
    const step = windowSamples * windowsAtOnce;
    for (let start = 0; start < samples.length; start += step) {
      signal.throwIfAborted();
      yield* watch.here(longestStepMs, () => this.#listen(samples.subarray(start, start + step)));
      await turn();
    }
    yield* watch.here(longestStepMs, () => {
      this.vad.flush();
      return this.#found();
    });
  }

  #listen(samples: Float32Array): readonly Span[] {
    for (let start = 0; start < samples.length; start += windowSamples) {
      const window = new Float32Array(windowSamples);
      window.set(samples.subarray(start, start + windowSamples));
      this.vad.acceptWaveform(window);
    }
    return this.#found();
  }

  #found(): readonly Span[] {
    const spans: Span[] = [];
    for (; !this.vad.isEmpty(); this.vad.pop()) {
      const { start, samples } = this.vad.front(false);
      spans.push({ start, end: start + samples.length });
    }
    return spans;
  }
}
