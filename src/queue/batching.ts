import type { SharingTraits } from '../core/request.ts';
import { defaultSampling } from '../core/sampling-fields.ts';

/** The settings that decide whether requests share a batch. */
export interface BatchingSettings {
  readonly parallelRequests: number;
  /** Every request that can may join: our samplers work per sequence. */
  readonly batchAll: boolean;
  /** A setting is on with which KoboldCpp does not batch requests. */
  readonly blocked: boolean;
}

interface Test {
  readonly reason: string;
  readonly fails: (request: SharingTraits, settings: BatchingSettings) => boolean;
}

/** Checked in this order; the first failure is the one that is logged. */
const tests: readonly Test[] = [
  { reason: 'loaded settings', fails: (_, { blocked }) => blocked },
  { reason: 'media', fails: ({ guidance, media }) => guidance !== undefined || media.length > 0 },
  {
    reason: 'grammar or bans',
    fails: ({ grammar, retainsGrammar, bannedStrings }) =>
      grammar !== undefined || retainsGrammar === true || bannedStrings.length > 0,
  },
  {
    reason: 'samplers set 1',
    fails: ({ sampling }) =>
      sampling.dryMultiplier !== 0 || sampling.mirostat !== 0 || sampling.xtcProbability !== 0 || sampling.nSigma !== 0,
  },
  {
    reason: 'samplers set 2',
    fails: ({ sampling }) => sampling.smoothingFactor !== 0 || sampling.adaptiveTarget > 0,
  },
  // KoboldCpp counts them among the samplers of set 2.
  { reason: 'tool calls', fails: ({ tools }) => tools === true },
  {
    reason: 'samplers set 3',
    fails: ({ sampling }) => sampling.topA !== 0 || sampling.tailFree !== 1 || sampling.dynamicRange !== 0,
  },
  {
    reason: 'sampler order',
    fails: ({ sampling }) => sampling.order.join() !== defaultSampling.order.join(),
  },
  { reason: 'reasoning', fails: ({ reasoning }) => reasoning !== undefined },
];

/** Never shared: guidance runs a second sequence, and a batch takes no pictures. */
const unshareable: readonly Test[] = [
  { reason: 'media', fails: ({ guidance, media }) => (guidance?.scale ?? 1) !== 1 || media.length > 0 },
];

export type Sharing =
  | { readonly type: 'shared' }
  /** It runs alone; `reason` is logged if batching is on. */
  | { readonly type: 'alone'; readonly reason: string | undefined };

/** Whether a request shares a batch with others. */
export function sharingOf(request: SharingTraits, settings: BatchingSettings): Sharing {
  if (settings.parallelRequests <= 1) return { type: 'alone', reason: undefined };
  const failed = (settings.batchAll ? unshareable : tests).find(({ fails }) => fails(request, settings));
  return failed ? { type: 'alone', reason: failed.reason } : { type: 'shared' };
}
