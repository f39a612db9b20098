import { expect, test } from 'vitest';
import type { Vad } from '../sherpa.ts';
import { VoiceActivity } from './voice-activity.ts';

/** Takes a window for speech where its first sample is loud, and tells a stretch once it is over. */
class FakeVad implements Vad {
  readonly windows: number[] = [];
  resets = 0;
  #place = 0;
  #begun: number | undefined;
  readonly #found: { start: number; samples: Float32Array }[] = [];

  acceptWaveform(samples: Float32Array): void {
    this.windows.push(samples.length);
    const isLoud = (samples[0] ?? 0) > 0.5;
    if (isLoud) this.#begun ??= this.#place;
    else this.#close();
    this.#place += samples.length;
  }

  #close(): void {
    if (this.#begun === undefined) return;
    this.#found.push({ start: this.#begun, samples: new Float32Array(this.#place - this.#begun) });
    this.#begun = undefined;
  }

  isEmpty = () => this.#found.length === 0;
  front = () => this.#found[0] as { start: number; samples: Float32Array };
  pop = () => void this.#found.shift();
  flush = () => this.#close();

  reset(): void {
    this.resets++;
    this.#place = 0;
    this.#begun = undefined;
  }
}

const watch = { here: <Result>(_: number, work: () => Result): Result => work() };

async function spansOf(voice: VoiceActivity, samples: Float32Array, signal = new AbortController().signal) {
  const spans = [];
  for await (const span of voice.spans(samples, { signal, watch })) spans.push(span);
  return spans;
}

function sound(length: number, ...loud: readonly (readonly [number, number])[]): Float32Array {
  const samples = new Float32Array(length);
  for (const [start, end] of loud) samples.fill(1, start, end);
  return samples;
}

test('tells where somebody speaks, also where the recording ends in the middle of it', async () => {
  const spans = await spansOf(new VoiceActivity(new FakeVad()), sound(10_240, [1024, 2048], [9728, 10_240]));
  expect(spans).toEqual([
    { start: 1024, end: 2048 },
    { start: 9728, end: 10_240 },
  ]);
});

test('gives the model whole windows only, the last one filled up with silence', async () => {
  const vad = new FakeVad();
  await spansOf(new VoiceActivity(vad), sound(1300));
  expect(vad.windows).toEqual([512, 512, 512]);
});

test('begins anew with each recording', async () => {
  const vad = new FakeVad();
  const voice = new VoiceActivity(vad);
  const first = await spansOf(voice, sound(5120, [1024, 5120]));
  expect(await spansOf(voice, sound(5120, [1024, 5120]))).toEqual(first);
  expect(vad.resets).toBe(2);
});

test('nothing is said in nothing', async () => {
  expect(await spansOf(new VoiceActivity(new FakeVad()), sound(0))).toEqual([]);
});

test('lets others in, and ends with whoever goes away', async () => {
  const stop = new AbortController();
  setImmediate(() => stop.abort(new Error('gone')));
  const vad = new FakeVad();
  await expect(spansOf(new VoiceActivity(vad), sound(16_000 * 60), stop.signal)).rejects.toThrow('gone');
  expect(vad.windows.length).toBeLessThan(1000);
});
