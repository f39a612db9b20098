import type { CardMemory } from '../core/card-memory.ts';
import { gpuBuilds } from '../engines/llama/gpu-builds.ts';
import type { GpuBuild } from '../engines/llama/load-options.ts';
import type { runProbe } from './probe.ts';

interface ProbedCardsParts {
  readonly builds: () => readonly GpuBuild[];
  readonly probe: typeof runProbe;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** A probe starts a process and may take seconds. */
const freshMs = 60_000;

/** The graphics cards of the best build that works here, with their memory within the last minute. */
export function probedCards({ builds, probe, now }: ProbedCardsParts): () => Promise<readonly CardMemory[]> {
  let known: { readonly at: number; readonly cards: Promise<readonly CardMemory[]> } | undefined;
  const look = async (): Promise<readonly CardMemory[]> => {
    const installed = builds();
    for (const build of gpuBuilds.auto.filter((one) => one !== 'none' && installed.includes(one))) {
      const result = await probe(`llama ${build}`);
      const cards = result.type === 'loaded' ? (result.devices ?? []).filter(({ graphics }) => graphics) : [];
      if (cards.length > 0) return cards.map((card) => ({ ...card, description: card.name }));
    }
    return [];
  };
  return () => {
    if (!known || now() - known.at > freshMs) known = { at: now(), cards: look() };
    return known.cards;
  };
}
