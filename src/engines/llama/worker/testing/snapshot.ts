import type { Snapshot } from '../memory/snapshot.ts';

/** A snapshot identified by its first token, which also fills its state. */
export function snapshot(first: number, bytes = 100): Snapshot {
  return {
    tokens: Int32Array.of(first, 2, 3),
    state: new Uint8Array(bytes).fill(first),
    checkpoints: [
      { index: 1, state: Uint8Array.of(first, 1) },
      { index: 2, state: Uint8Array.of(first, 2, 2) },
    ],
  };
}
