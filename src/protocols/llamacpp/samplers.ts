import type { SamplerStage, Sampling } from '../../core/sampling-fields.ts';
import { described, type Read, wrong } from '../fields/readers.ts';
import { oneOrMoreTexts } from '../fields/schemas.ts';

interface SamplerName {
  readonly letter: string;
  readonly names: readonly string[];
  /** Where it has a place in the ordered chain; the others have a fixed place of their own. */
  readonly stage?: SamplerStage;
  /** What leaving it out of the list means. */
  readonly off: Partial<Sampling>;
}

/** Two of the stages hold two samplers of this dialect each; then only the one that is named stays on. */
const known: readonly SamplerName[] = [
  { letter: 'e', names: ['penalties'], stage: 'repetition', off: {} },
  { letter: 'd', names: ['dry'], off: { dryMultiplier: 0 } },
  { letter: 's', names: ['top_n_sigma', 'top-n-sigma'], stage: 'temperature', off: { nSigma: 0 } },
  { letter: 'k', names: ['top_k', 'top-k'], stage: 'top-k', off: {} },
  { letter: 'y', names: ['typ_p', 'typical_p', 'typical', 'typ-p', 'typ'], stage: 'typical', off: {} },
  { letter: 'p', names: ['top_p', 'top-p', 'nucleus'], stage: 'top-p', off: { topP: 1 } },
  { letter: 'm', names: ['min_p', 'min-p'], stage: 'top-p', off: { minP: 0 } },
  { letter: 'x', names: ['xtc'], off: { xtcProbability: 0 } },
  {
    letter: 't',
    names: ['temperature', 'temp'],
    stage: 'temperature',
    off: { temperature: 1, dynamicRange: 0, smoothingFactor: 0 },
  },
  { letter: 'a', names: ['adaptive_p', 'adaptive-p'], off: { adaptiveTarget: -1 } },
];

/** The samplers that a request names, in its order and no others; a name that nobody knows is passed over. */
export function withSamplers(sampling: Sampling, named: readonly SamplerName[] | undefined): Sampling {
  if (named === undefined) return sampling;
  const off = known.filter((sampler) => !named.includes(sampler)).map((sampler) => sampler.off);
  const order = [...new Set(named.flatMap(({ stage }) => stage ?? []))];
  return Object.assign({ ...sampling }, ...off, { order });
}

/** The other way round: the samplers of this dialect in the order in which they run. */
export function samplerNames({ order }: Sampling): readonly string[] {
  const staged = order.flatMap((stage) => stageNames[stage] ?? []);
  return ['dry', ...staged, 'xtc'];
}

const stageNames: Partial<Record<SamplerStage, readonly string[]>> = {
  repetition: ['penalties'],
  'top-k': ['top_k'],
  typical: ['typ_p'],
  'top-p': ['top_p', 'min_p'],
  temperature: ['temperature', 'top_n_sigma'],
};

export const readSamplers: Read<readonly SamplerName[]> = described(oneOrMoreTexts, (value, path) => {
  if (typeof value === 'string') return [...value].flatMap((one) => known.find(({ letter }) => letter === one) ?? []);
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) {
    return value.flatMap((one) => known.find(({ names }) => names.includes(one)) ?? []);
  }
  throw wrong(path, 'an array of names, or a text of letters');
});
