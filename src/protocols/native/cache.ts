import type { CacheReport, SnapshotFigures } from '../../core/text-service.ts';
import { json } from '../../http/call.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { nativeFamily } from './errors.ts';

export interface CacheParts {
  readonly cacheReport: () => Promise<CacheReport>;
}

/** Guarded: it shows pieces of what people wrote. */
export const cacheEndpoint: ModelEndpoint<CacheParts> = {
  method: 'GET',
  match: 'ending',
  path: '/api/extra/cache',
  access: 'guarded',
  queued: false,
  summary: 'What is kept of earlier prompts, and where the last prompts parted from it.',
  family: nativeFamily,
  handle: async (_, { cacheReport }) => json(encode(await cacheReport())),
};

function encode({ slots, memory, disk, misses }: CacheReport): object {
  return {
    slots,
    memory: memory && figures(memory),
    disk: disk && figures(disk),
    misses: misses.map(({ time, partedAt, promptTokens, reusedTokens, before, kept, wanted }) => ({
      time: new Date(time).toISOString(),
      parted_at: partedAt,
      prompt_tokens: promptTokens,
      reused_tokens: reusedTokens,
      before,
      kept,
      wanted,
    })),
  };
}

function figures({ snapshots, bytes, health }: SnapshotFigures): object {
  if (!health) return { snapshots, bytes };
  const { otherBytes, failures, lastFailure } = health;
  return { snapshots, bytes, other_bytes: otherBytes, failures, last_failure: lastFailure };
}
