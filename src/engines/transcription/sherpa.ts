import { createRequire } from 'node:module';
import { checkedWeights, weights } from '../weights.ts';
import { type Recogniser, soundRate } from './recogniser.ts';

/** The used part of `sherpa-onnx-node`, which has no types. */
interface Sherpa {
  readonly OfflineRecognizer: { createAsync(config: object): Promise<OfflineRecognizer> };
  readonly Vad: new (config: object, bufferSeconds: number) => Vad;
}

interface OfflineRecognizer {
  createStream(): { acceptWaveform(wave: { readonly samples: Float32Array; readonly sampleRate: number }): void };
  decodeAsync(stream: object): Promise<{ readonly text: string }>;
}

export interface Vad {
  acceptWaveform(samples: Float32Array): void;
  isEmpty(): boolean;
  /** Whether the current window is speech. */
  isDetected(): boolean;
  front(external: boolean): { readonly start: number; readonly samples: Float32Array };
  pop(): void;
  flush(): void;
  reset(): void;
}

/** Throws a clear error if there is no native package for this system. */
export function loadSherpa(): Sherpa {
  try {
    return createRequire(import.meta.url)('sherpa-onnx-node') as Sherpa;
  } catch (error) {
    const system = `${process.platform}-${process.arch}`;
    throw new Error(`sherpa-onnx-node could not be loaded on ${system}; run \`npm install\``, { cause: error });
  }
}

/** The model is too small to use more threads. */
const maxThreads = 4;

/** Built-in recogniser Moonshine-tiny: English only, ten times faster than real time. */
export async function openMoonshine(threads: number): Promise<Recogniser> {
  const { OfflineRecognizer } = loadSherpa();
  const [encoder, mergedDecoder, tokens] = await Promise.all([
    checkedWeights(weights.moonshineEncoder),
    checkedWeights(weights.moonshineDecoder),
    checkedWeights(weights.moonshineTokens),
  ]);
  const recogniser = await OfflineRecognizer.createAsync({
    modelConfig: {
      moonshine: { encoder, mergedDecoder },
      tokens,
      numThreads: Math.min(threads, maxThreads),
      provider: 'cpu',
      debug: 0,
    },
  });
  const name = 'moonshine-tiny';
  return {
    facts: { name, languages: ['en'], translates: false },
    maxChunkSeconds: 25,
    missesShortSpeech: true,
    timeoutMs: (seconds) => 60_000 + seconds * 4000,
    notes: ({ prompt, temperature }) => [
      ...(prompt.trim() === '' ? [] : [`prompt has no effect: ${name} takes none`]),
      ...(temperature > 0 ? [`temperature has no effect: ${name} always writes what is most likely`] : []),
    ],
    recognise: async (samples) => {
      const stream = recogniser.createStream();
      stream.acceptWaveform({ samples, sampleRate: soundRate });
      const { text } = await recogniser.decodeAsync(stream);
      return { text: text.trim(), language: 'en' };
    },
  };
}
