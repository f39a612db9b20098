import { Polled } from './polled.svelte.ts';

/** A pack of `GET /api/admin/packs`: an optional engine. */
export interface PackEntry {
  readonly name: string;
  readonly brings: string;
  readonly licence: string;
  readonly bytes: number;
  readonly state: 'absent' | 'broken' | 'outdated' | 'installed';
  /** False for a pack that was installed after the present model was prepared. */
  readonly in_use: boolean;
  readonly job: {
    readonly state: 'waiting' | 'running' | 'failed';
    readonly done_bytes: number;
    readonly total_bytes: number;
    readonly reason: string | null;
  } | null;
}

export const packs = new Polled<'packs', PackEntry>(
  'api/admin/packs',
  'packs',
  ({ job }) => job !== null && job.state !== 'failed',
);
