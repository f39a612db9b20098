import { totalmem } from 'node:os';
import type { Recommendations } from '../core/models-view.ts';
import { recommendedDate, recommendedFor } from '../library/recommended.ts';
import { ownCards } from './own-machine.ts';

/** The models that are recommended for this computer. */
export async function recommendedHere(): Promise<Recommendations> {
  const cardBytes = (await ownCards()).reduce((sum, { totalBytes }) => sum + totalBytes, 0);
  // A container may have less than the machine; without a limit the function names a huge number or 0.
  const machineBytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  const models = recommendedFor({ cardBytes, machineBytes });
  return { date: recommendedDate, memoryBytes: cardBytes || machineBytes, models };
}
