import { type CacheLimits, commonPrefix, type SnapshotEntry } from './snapshot.ts';

/** A state in memory; `uses` is how often it was restored. */
export type KeptState = Pick<SnapshotEntry, 'tokens' | 'bytes' | 'usedAt'> & { readonly uses: number };

/** Added to every age: among the states of one minute, length and use decide. */
const ageOffsetMs = 60_000;

/**
 * The states to drop so that the rest is within the limits, the least valuable first. The value of a state is the number of tokens
 * that would have to be computed again without it (those that no other state and no slot has), times its uses, divided by its age. So a
 * long chat outlives the short requests between its turns, and not for ever.
 */
export function statesToDrop<State extends KeptState>(
  states: readonly State[],
  inSlots: readonly Int32Array[],
  limits: CacheLimits,
  now: number,
): readonly State[] {
  // A state that is too large by itself does not drive out others.
  const tooLarge = states.filter(({ bytes }) => bytes > limits.bytes);
  const kept = states.filter((state) => !tooLarge.includes(state));
  const gone: State[] = [];
  const common = commonLengths([...kept.map(({ tokens }) => tokens), ...inSlots]);
  const value = ({ tokens, uses, usedAt }: State): number => {
    const others = [...kept.map((other) => other.tokens), ...inSlots].filter((other) => other !== tokens);
    const shared = Math.max(0, ...others.map((other) => common(tokens, other)));
    return ((tokens.length - shared) * (1 + uses)) / (Math.max(0, now - usedAt) + ageOffsetMs);
  };
  while (!fits(kept, limits)) {
    const least = lowest(kept, value);
    kept.splice(kept.indexOf(least), 1);
    gone.push(least);
  }
  // After a large one has gone, a small one that went before it may fit again.
  for (const state of gone.toReversed()) {
    if (fits([...kept, state], limits)) kept.push(...gone.splice(gone.indexOf(state), 1));
  }
  return [...tooLarge, ...gone];
}

function fits(states: readonly KeptState[], { bytes, count }: CacheLimits): boolean {
  return states.length <= count && states.reduce((sum, state) => sum + state.bytes, 0) <= bytes;
}

function lowest<State>(states: readonly State[], value: (state: State) => number): State {
  const rated = states.map((state) => ({ state, value: value(state) }));
  return rated.reduce((least, one) => (one.value < least.value ? one : least)).state;
}

/** The common prefix of any two of these texts; each is compared once. */
function commonLengths(texts: readonly Int32Array[]) {
  const known = new Map<Int32Array, Map<Int32Array, number>>(texts.map((text) => [text, new Map()]));
  return (a: Int32Array, b: Int32Array): number => {
    const length = known.get(a)?.get(b) ?? commonPrefix(a, b);
    known.get(a)?.set(b, length);
    known.get(b)?.set(a, length);
    return length;
  };
}

/** Copied out, copied in again, and as much for the states that are never used again. */
const copiesPerUse = 3;
/** Assumed until the first copy: one gigabyte a second. */
const firstCopy = { amount: 2 ** 24, milliseconds: 16 };
/** A copy that seems slower than 500 megabytes a second had to wait for other programs, which cost the computing as much. */
const maxMsPerByte = 2e-6;
/** How much the earlier measurements count beside a new one. */
const remembered = 0.8;
/** The time of fewer tokens is mostly that of a single step. */
const minMeasured = 32;

/** What is computed in less than this is short: losing it is hardly noticed, while copying hundreds of such states is. */
const momentMs = 1000;
/** How many short states are kept after a state was last restored, and the pause after which one more is kept. */
const unusedShortStates = { atOnce: 32, pauseMs: 20_000 };

/** What computing tokens and copying states takes here, and whether states are used, as seen so far. */
export class CopyCosts {
  #computed: Measured | undefined;
  #copied: Measured = firstCopy;
  /** Short states since the last one of any length was restored, less those of the pauses since. */
  #unused = { count: 0, at: 0 };

  computed(tokens: number, milliseconds: number): void {
    if (tokens >= minMeasured) this.#computed = added(this.#computed, tokens, milliseconds);
  }

  copied(bytes: number, milliseconds: number): void {
    this.#copied = added(this.#copied, bytes, Math.min(milliseconds, bytes * maxMsPerByte));
  }

  /** A state of so many tokens was kept. */
  kept(tokens: number, now: number): void {
    if (this.#isShort(tokens)) this.#unused = { count: this.#unusedAt(now) + 1, at: now };
  }

  restored(): void {
    this.#unused = { count: 0, at: 0 };
  }

  /** Whether a state of this size should be kept for the sake of so many tokens. */
  keeps(tokens: number, bytes: number): boolean {
    return this.#computeMs(tokens) > copiesPerUse * this.#copyMs(bytes);
  }

  /** Whether it is short, and nobody has come back to the last ones: single requests of many people, or of a program. */
  isUnlikelyUsed(tokens: number, now: number): boolean {
    return this.#isShort(tokens) && this.#unusedAt(now) > unusedShortStates.atOnce - 1;
  }

  /** Milliseconds that restoring a state gains if so many tokens need no computing; 0 or less if it takes longer. */
  gain(tokens: number, bytes: number): number {
    return this.#computeMs(tokens) - this.#copyMs(bytes);
  }

  #unusedAt(now: number): number {
    return Math.max(0, this.#unused.count - (now - this.#unused.at) / unusedShortStates.pauseMs);
  }

  #isShort(tokens: number): boolean {
    return this.#computeMs(tokens) < momentMs;
  }

  /** A slow machine is assumed before anything was computed. */
  #computeMs(tokens: number): number {
    return tokens * (this.#computed ? this.#computed.milliseconds / this.#computed.amount : 1e3);
  }

  #copyMs(bytes: number): number {
    return (bytes * this.#copied.milliseconds) / this.#copied.amount;
  }
}

type Measured = Readonly<Record<'amount' | 'milliseconds', number>>;

function added(before: Measured = { amount: 0, milliseconds: 0 }, amount: number, milliseconds: number): Measured {
  return {
    amount: remembered * before.amount + amount,
    milliseconds: remembered * before.milliseconds + Math.max(0, milliseconds),
  };
}

/** The most that is kept, however much is free. */
export const maxStateBytes = 8 * 2 ** 30;
/** What is kept in any case: short chats, which matter to no machine. */
export const minStateBytes = 64 * 2 ** 20;
/** What is left free at least: a quarter, or this much. */
const minFreeBytes = 2 ** 30;

/** Memory of this machine before the load, and what the model needs of it: its weights, and its context when it is full. */
type MemoryFacts = Readonly<Record<'availableBytes' | 'weightBytes' | 'contextBytes', number>>;

/** The memory for states beside a model: of what it leaves free. A context that takes all of that leaves half. */
export function stateBound({ availableBytes, weightBytes, contextBytes }: MemoryFacts): number {
  const beside = Math.max(0, availableBytes - weightBytes);
  const free = beside - Math.min(contextBytes, beside / 2);
  return Math.floor(Math.max(minStateBytes, Math.min(maxStateBytes, free - Math.max(minFreeBytes, free / 4))));
}
