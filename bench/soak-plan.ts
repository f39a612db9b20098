import { type StreamTarget, streamTargets } from './stream-targets.ts';

/** How one request of the soak ends: as it should, or in one of the ways that clients have of giving up. */
export type Ending =
  | { readonly type: 'read' }
  /** The connection is cut this long after the request was sent: in the queue, in the prompt or in the text. */
  | { readonly type: 'disconnect'; readonly afterMs: number }
  | { readonly type: 'abort'; readonly afterMs: number };

export interface PlannedRequest {
  readonly target: StreamTarget;
  readonly tokens: number;
  readonly promptWords: number;
  readonly ending: Ending;
}

const endings: readonly ((afterMs: number) => Ending)[] = [
  () => ({ type: 'read' }),
  () => ({ type: 'read' }),
  (afterMs) => ({ type: 'disconnect', afterMs }),
  (afterMs) => ({ type: 'abort', afterMs }),
];

/** `random` gives numbers from 0 up to 1. */
export function planRequest(random: () => number): PlannedRequest {
  const among = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value;
  const upTo = (most: number): number => 1 + Math.floor(random() * most);
  return {
    target: among(streamTargets),
    tokens: upTo(96),
    promptWords: upTo(among([10, 10, 200])),
    // Short waits are as likely as long ones: both ends of a request are places where something can be lost.
    ending: among(endings)(Math.floor(random() ** 3 * 1500)),
  };
}

/** The body of a target with another prompt, wherever the dialect keeps it. */
export function bodyOf({ target, tokens }: PlannedRequest, prompt: string, genkey: string): object {
  const body = target.body(tokens);
  const place = ['messages', 'input', 'prompt'].find((name) => Object.hasOwn(body, name)) ?? 'prompt';
  const text = place === 'messages' ? [{ role: 'user', content: prompt }] : prompt;
  return { ...body, [place]: text, genkey };
}

/** The same numbers for the same seed, so that a soak that went wrong can be gone through again. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
