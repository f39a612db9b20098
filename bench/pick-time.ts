import { defaultSampling, type Sampling } from '../src/core/sampling-fields.ts';
import { dryBreakers } from '../src/sampling/dry.ts';
import { Sampler, type SamplerOptions } from '../src/sampling/sampler.ts';
import { lowest } from './statistics.ts';

const historyLength = 1500;

type Extra = Partial<SamplerOptions> & { readonly vocabularySize: number };

/** Minimum of several runs, without the time to copy the logits. */
export function pickMicroseconds(
  changes: Partial<Sampling>,
  extra: Extra,
  picks: number,
  after?: (token: number) => void,
): number {
  const { vocabularySize } = extra;
  const settings = { ...defaultSampling, ...changes };
  const words = {
    size: vocabularySize,
    piece: (token: number) => pieces[token % pieces.length] as string,
    tokenize: () => [7],
  };
  const sampler = new Sampler(settings, {
    contextSize: 4096,
    seed: 7,
    logitBias: [],
    bannedTokens: [],
    ...(settings.dryBreakers.length > 0 ? { dryBreakers: dryBreakers(settings.dryBreakers, words) } : {}),
    ...extra,
  });
  const sets = Array.from({ length: 8 }, (_, seed) => randomLogits(vocabularySize, seed + 1));
  const history = Int32Array.from(randomLogits(historyLength, 99), (value) => Math.abs(Math.floor(value * 1e4)) % 500);
  const logits = new Float32Array(vocabularySize);
  const timed = (work: (index: number) => void): number => {
    const startedAt = performance.now();
    for (let index = 0; index < picks; index += 1) work(index);
    return ((performance.now() - startedAt) * 1000) / picks;
  };
  const copy = (index: number) => logits.set(sets[index % sets.length] as Float32Array);
  const whole = (index: number) => {
    copy(index);
    const token = sampler.pick(logits, history, historyLength);
    after?.(token);
  };
  timed(whole);
  const runs = Array.from({ length: 7 }, () => ({ whole: timed(whole), copy: timed(copy) }));
  return lowest(runs.map((run) => run.whole)) - lowest(runs.map((run) => run.copy));
}

const pieces = [' the', 'ing', '\n', ' a', '."', 'x', ' said', ':'];

/** Spread like a real model's: most tokens far behind a few. */
function randomLogits(count: number, seed: number): Float32Array {
  let state = seed * 2654435761;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 1) / (2 ** 32 + 1);
  };
  return Float32Array.from(
    { length: count },
    () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()) * 2.5,
  );
}
