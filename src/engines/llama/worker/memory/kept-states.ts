import { MeasuredRate } from '../../../../core/measured-rate.ts';
import { keptStates } from '../scheduling.ts';
import { type CacheLimits, commonPrefix, type SnapshotEntry } from './snapshot.ts';

const { ageOffsetMs, copiesPerUse, firstCopy, maxMsPerByte, minMeasured, shortMs, maxUnused, unusedPauseMs } =
  keptStates;
const { maxBytes, minBytes, minFreeBytes } = keptStates;

/** A state in memory; `uses` is how often it was restored. */
export type KeptState = Pick<SnapshotEntry, 'tokens' | 'bytes' | 'usedAt'> & { readonly uses: number };

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
  const rest = states.filter((state) => !tooLarge.includes(state));
  const dropped: State[] = [];
  const common = commonLengths([...rest.map(({ tokens }) => tokens), ...inSlots]);
  const value = ({ tokens, uses, usedAt }: State): number => {
    const others = [...rest.map((other) => other.tokens), ...inSlots].filter((other) => other !== tokens);
    const shared = Math.max(0, ...others.map((other) => common(tokens, other)));
    return ((tokens.length - shared) * (1 + uses)) / (Math.max(0, now - usedAt) + ageOffsetMs);
  };
  while (!fits(rest, limits)) {
    const least = lowest(rest, value);
    rest.splice(rest.indexOf(least), 1);
    dropped.push(least);
  }
  // Without a large state, a small one that was dropped before it may fit again.
  for (const state of dropped.toReversed()) {
    if (fits([...rest, state], limits)) rest.push(...dropped.splice(dropped.indexOf(state), 1));
  }
  return [...tooLarge, ...dropped];
}

function fits(states: readonly KeptState[], { bytes, count }: CacheLimits): boolean {
  return states.length <= count && states.reduce((sum, state) => sum + state.bytes, 0) <= bytes;
}

function lowest<State>(states: readonly State[], value: (state: State) => number): State {
  const rated = states.map((state) => ({ state, value: value(state) }));
  return rated.reduce((least, one) => (one.value < least.value ? one : least)).state;
}

/** The common prefix of any two of these sequences; each pair is compared once. */
function commonLengths(sequences: readonly Int32Array[]) {
  const known = new Map<Int32Array, Map<Int32Array, number>>(sequences.map((tokens) => [tokens, new Map()]));
  return (a: Int32Array, b: Int32Array): number => {
    const length = known.get(a)?.get(b) ?? commonPrefix(a, b);
    known.get(a)?.set(b, length);
    known.get(b)?.set(a, length);
    return length;
  };
}

/** How long computing tokens and copying states takes, and whether states are used, as measured so far. */
export class CopyCosts {
  readonly #computed = new MeasuredRate();
  readonly #copied = new MeasuredRate(firstCopy);
  /** Short states since the last one of any length was restored, less those of the pauses since. */
  #unused = { count: 0, at: 0 };

  computed(tokens: number, milliseconds: number): void {
    if (tokens >= minMeasured) this.#computed.add(tokens, milliseconds);
  }

  copied(bytes: number, milliseconds: number): void {
    this.#copied.add(bytes, Math.min(milliseconds, bytes * maxMsPerByte));
  }

  /** A state of this many tokens was kept. */
  kept(tokens: number, now: number): void {
    if (this.#isShort(tokens)) this.#unused = { count: this.#unusedAt(now) + 1, at: now };
  }

  restored(): void {
    this.#unused = { count: 0, at: 0 };
  }

  /** Whether a state of this size is worth keeping for this many tokens. */
  keeps(tokens: number, bytes: number): boolean {
    return this.#computeMs(tokens) > copiesPerUse * this.#copyMs(bytes);
  }

  /** Whether it is short, and none of the last short ones was continued: single requests of many people, or of a program. */
  isUnlikelyUsed(tokens: number, now: number): boolean {
    return this.#isShort(tokens) && this.#unusedAt(now) > maxUnused - 1;
  }

  /** Milliseconds that restoring a state saves if it has this many tokens of a prompt; 0 or less if it takes longer. */
  gain(tokens: number, bytes: number): number {
    return this.#computeMs(tokens) - this.#copyMs(bytes);
  }

  #unusedAt(now: number): number {
    return Math.max(0, this.#unused.count - (now - this.#unused.at) / unusedPauseMs);
  }

  #isShort(tokens: number): boolean {
    return this.#computeMs(tokens) < shortMs;
  }

  /** Until something was computed, a slow machine is assumed. */
  #computeMs(tokens: number): number {
    return tokens * (this.#computed.msPerUnit ?? 1e3);
  }

  #copyMs(bytes: number): number {
    return bytes * (this.#copied.msPerUnit ?? 0);
  }
}

/** Memory before the load, that of the weights, and that of the context when it is full. */
type MemoryFacts = Readonly<Record<'availableBytes' | 'weightBytes' | 'contextBytes', number>>;

/** The memory for states: a part of what the weights and the context leave free. The context counts as at most half of it. */
export function stateBound({ availableBytes, weightBytes, contextBytes }: MemoryFacts): number {
  const left = Math.max(0, availableBytes - weightBytes);
  const free = left - Math.min(contextBytes, left / 2);
  return Math.floor(Math.max(minBytes, Math.min(maxBytes, free - Math.max(minFreeBytes, free / 4))));
}
