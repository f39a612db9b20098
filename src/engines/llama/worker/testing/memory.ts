import type { Context, MemoryKind } from '../memory/context.ts';

interface Row {
  readonly token: number;
  readonly position: number;
  readonly hasLogits: boolean;
}

export const fakeWindow = 4;
const fakeSpare = 3;

/**
 * A context that records the token at each position of its one sequence, like the real cache. Besides that
 * it holds what other kinds of memory hold: the tokens of a window, or all tokens that went into a state.
 */
export function fakeMemory({ kind = 'plain' as MemoryKind, canShift = true } = {}) {
  const cache: number[] = [];
  /** Tokens by position: those of the window, or those that made the state. */
  let part: { start: number; tokens: number[] } = { start: 0, tokens: [] };
  let batch: Row[] = [];
  const end = () => part.start + part.tokens.length;
  const compute = (rows: readonly Row[]) => {
    for (const { token, position } of rows) {
      cache[position] = token;
      part.tokens.push(token);
      if (kind !== 'window' || part.tokens.length <= fakeWindow + fakeSpare) continue;
      part.tokens.shift();
      part.start += 1;
    }
  };
  const cut = (position: number) => {
    if (position <= part.start) part = { start: position, tokens: [] };
    else part.tokens.length = Math.min(part.tokens.length, position - part.start);
  };
  const context = {
    memory: kind,
    savesAll: kind !== 'window',
    spare: kind === 'window' ? 1 : 0,
    add: (token: number, position: number, _sequence: number, hasLogits: boolean) =>
      batch.push({ token, position, hasLogits }) - 1,
    reaches: (_sequence: number, position: number) =>
      kind === 'plain' ||
      position === 0 ||
      end() <= position ||
      (kind === 'window' && part.start <= Math.max(0, position - fakeWindow + 1)),
    forget: (_sequence: number, from: number) => {
      if (kind === 'state' && from > 0 && from < end()) return false;
      cache.length = Math.min(cache.length, from);
      cut(Math.min(from, end()));
      if (from === 0) part = { start: 0, tokens: [] };
      return true;
    },
    state: () => {
      const start = kind === 'window' ? Math.max(part.start, end() - fakeWindow) : part.start;
      return Uint8Array.of(start, ...part.tokens.slice(start - part.start));
    },
    restore: (_sequence: number, [start = 0, ...tokens]: Uint8Array) => {
      part = { start, tokens };
      return true;
    },
    shift: (_sequence: number, from: number, count: number) => {
      if (canShift) cache.splice(from, count);
      return canShift;
    },
  } as unknown as Context;
  return {
    context,
    cache,
    /** The tokens that the next one would attend to, besides the cache. */
    seen: (): readonly number[] => {
      const from = kind === 'window' ? Math.max(0, end() - fakeWindow + 1) : 0;
      return from < part.start ? ['missing' as never] : part.tokens.slice(from - part.start);
    },
    batch: () => batch,
    decode: () => {
      compute(batch);
      batch = [];
    },
    lose: () => {
      // Half of the batch reached the cache before it was given up.
      compute(batch.slice(0, batch.length / 2));
      batch = [];
    },
  };
}
