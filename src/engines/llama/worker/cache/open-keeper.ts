import type { Loaded } from '../load/model.ts';
import type { Slot } from '../memory/slot.ts';
import { DiskStore } from './disk-store.ts';
import { isAlive } from './file-names.ts';
import { computerName, fingerprint } from './fingerprint.ts';
import { type KeeperParts, SnapshotKeeper } from './keeper.ts';
import { MemoryStore } from './memory-store.ts';

/** Snapshots in memory take as much of it as they like below this; beyond it the oldest go. */
const memoryBytes = 8 * 2 ** 30;

/** The keeper that the options ask for; undefined when they ask for none. */
export async function openKeeper(
  { native, options, context, info }: Loaded,
  slots: readonly Slot[],
  exclusively: KeeperParts['exclusively'],
  tell: (sentence: string) => void,
): Promise<SnapshotKeeper | undefined> {
  const { smartCache, diskCache } = options;
  if (smartCache <= 0 && !diskCache) return undefined;
  const now = () => Date.now();
  const memory = smartCache > 0 ? new MemoryStore({ count: smartCache, bytes: memoryBytes }, now) : undefined;
  const disk = diskCache
    ? await DiskStore.open({
        ...diskCache,
        fingerprint: await fingerprint(options, computerName(native.version(), options, info)),
        now,
        processes: { own: process.pid, alive: isAlive },
        tell,
      })
    : undefined;
  const canRewind = context.memory === 'plain' && context.savesAll;
  return new SnapshotKeeper({ slots, memory, disk, canRewind, exclusively });
}
