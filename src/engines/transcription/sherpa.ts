import { createRequire } from 'node:module';

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
