import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { LoadOptions } from '../../load-options.ts';
import type { Loaded } from '../model.ts';
import type { Slot } from '../slot.ts';
import { DiskStore } from './disk-store.ts';
import { type KeeperParts, SnapshotKeeper } from './keeper.ts';
import { MemoryStore } from './memory-store.ts';

/** Snapshots in memory take as much of it as they like below this; beyond it the oldest go. */
const memoryBytes = 8 * 2 ** 30;

/** The keeper that the options ask for; undefined when they ask for none. */
export async function openKeeper(
  { native, options, context }: Loaded,
  slots: readonly Slot[],
  exclusively: KeeperParts['exclusively'],
): Promise<SnapshotKeeper | undefined> {
  const { smartCache, diskCache } = options;
  if (smartCache <= 0 && !diskCache) return undefined;
  const now = () => Date.now();
  const memory = smartCache > 0 ? new MemoryStore({ count: smartCache, bytes: memoryBytes }, now) : undefined;
  const disk = diskCache
    ? await DiskStore.open({ ...diskCache, fingerprint: await fingerprint(options, native.version()), now })
    : undefined;
  const canRewind = context.memory === 'plain';
  return new SnapshotKeeper({ slots, memory, disk, canRewind, exclusively });
}

/** Both ends of the file and its length tell models apart; the settings are those that shape the state. */
async function fingerprint(options: LoadOptions, library: string): Promise<string> {
  const { cacheType, flashAttention, rope, contextSize, contextSizeGiven, trainedContextOverride, lora } = options;
  const { metadataOverrides, fullSlidingWindow, addBos } = options;
  const settings = { cacheType, flashAttention, rope, lora, metadataOverrides, fullSlidingWindow, addBos };
  const stretch = contextSizeGiven ? { contextSize, trainedContextOverride } : { trainedContextOverride };
  const hash = createHash('sha256').update(JSON.stringify([library, settings, stretch]));
  const file = await open(options.model, 'r');
  try {
    const { size } = await file.stat();
    const part = Buffer.alloc(Math.min(size, 2 ** 20));
    for (const position of [0, size - part.length]) {
      await file.read(part, 0, part.length, position);
      hash.update(part);
    }
    return hash.update(String(size)).digest('hex');
  } finally {
    await file.close();
  }
}
