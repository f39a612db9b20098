import type { GenerationEvent } from '../../core/events.ts';
import { encodeTimings, runningTimings } from './usage.ts';

/** What the chunks of one reply have in common in both streams of this dialect. */
export interface ChunkShape {
  /** The beginning of every chunk. */
  readonly head: string;
  readonly index: number;
  /** Figures on every chunk instead of the last one only. */
  readonly timingsPerToken: boolean;
  /** The last chunk is that of the usage, so that the figures of the end belong there. */
  readonly includeUsage: boolean;
  readonly now: () => number;
}

/** What stands behind the choices of a chunk: figures, and at the end the warnings. */
export interface ChunkNotes {
  /** Keeps what an event without a chunk of its own adds to the later ones. */
  take(event: GenerationEvent & { type: 'start' | 'warning' }): void;
  middle(event: GenerationEvent): string;
  last(event: GenerationEvent & { type: 'finish' }): string;
}

export function chunkNotes({ timingsPerToken, includeUsage, now }: ChunkShape): ChunkNotes {
  const figures = timingsPerToken ? runningTimings(now) : undefined;
  const warnings: string[] = [];
  return {
    take(event) {
      if (event.type === 'warning') warnings.push(event.text);
      else figures?.(event);
    },
    middle: (event) => (figures ? `,"timings":${JSON.stringify(figures(event))}` : ''),
    last(event) {
      const timings = includeUsage ? '' : `,"timings":${JSON.stringify(encodeTimings([event], 1))}`;
      return warnings.length > 0 ? `${timings},"warnings":${JSON.stringify(warnings)}` : timings;
    },
  };
}
