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

  isDetected = () => this.#begun !== undefined;
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
  for await (const step of voice.listen(inPieces(samples), { signal, watch })) spans.push(...step.spans);
  return spans;
}

/** As they come: none of the borders is one of ours. */
function inPieces(samples: Float32Array): Float32Array[] {
  const count = Math.ceil(samples.length / 7001);
  return Array.from({ length: count }, (_, index) => samples.subarray(index * 7001, (index + 1) * 7001));
}

function sound(length: number, ...loud: readonly (readonly [number, number])[]): Float32Array {
  const samples = new Float32Array(length);
  for (const [start, end] of loud) samples.fill(1, start, end);
  return samples;
}

test('VoiceActivity: finds speech, also at the end of the recording', async () => {
  const spans = await spansOf(new VoiceActivity(new FakeVad()), sound(10_240, [1024, 2048], [9728, 10_240]));
  expect(spans).toEqual([
    { start: 1024, end: 2048 },
    { start: 9728, end: 10_240 },
  ]);
});

test('VoiceActivity: sends whole windows, the last one padded with silence', async () => {
  const vad = new FakeVad();
  await spansOf(new VoiceActivity(vad), sound(1300));
  expect(vad.windows).toEqual([512, 512, 512]);
});

test('VoiceActivity: resets for each recording', async () => {
  const vad = new FakeVad();
  const voice = new VoiceActivity(vad);
  const first = await spansOf(voice, sound(5120, [1024, 5120]));
  expect(await spansOf(voice, sound(5120, [1024, 5120]))).toEqual(first);
  expect(vad.resets).toBe(2);
});

test('VoiceActivity: reports speech without pauses in parts of some 30 seconds', async () => {
  const spans = await spansOf(new VoiceActivity(new FakeVad()), sound(16_000 * 120, [0, 16_000 * 120]));
  expect(spans.length).toBeGreaterThanOrEqual(3);
  expect(Math.max(...spans.map(({ start, end }) => end - start))).toBeLessThanOrEqual(16_000 * 34);
  expect(spans.reduce((sum, { start, end }) => sum + end - start, 0)).toBe(16_000 * 120);
});

test('VoiceActivity: no span starts before the settled sample, and silence settles soon', async () => {
  const samples = sound(16_000 * 90, [16_000, 32_000], [16_000 * 40, 16_000 * 75]);
  let settled = 0;
  let heard = 0;
  const voice = new VoiceActivity(new FakeVad());
  for await (const step of voice.listen(inPieces(samples), { signal: new AbortController().signal, watch })) {
    for (const { start } of step.spans) expect(start).toBeGreaterThanOrEqual(settled);
    settled = step.settled;
    heard += 32_768;
    if (heard === 32_768 * 10) expect(settled).toBeGreaterThan(heard - 2 * 16_000);
  }
});

test('VoiceActivity: finds nothing in an empty recording', async () => {
  expect(await spansOf(new VoiceActivity(new FakeVad()), sound(0))).toEqual([]);
});

test('VoiceActivity: yields to the event loop and stops on abort', async () => {
  const stop = new AbortController();
  setImmediate(() => stop.abort(new Error('gone')));
  const vad = new FakeVad();
  await expect(spansOf(new VoiceActivity(vad), sound(16_000 * 60), stop.signal)).rejects.toThrow('gone');
  expect(vad.windows.length).toBeLessThan(1000);
});
