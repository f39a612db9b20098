import { type StreamTarget, streamTargets } from '../../bench/stream-targets.ts';

/** How a client ends a task: it reads the reply, or gives up in one of the ways that clients have. */
export type Ending =
  | { readonly type: 'read' }
  /** The connection is cut this long after the request was sent: in the queue, in the prompt or in the reply. */
  | { readonly type: 'disconnect'; readonly afterMs: number }
  /** By the abort endpoint, with the key of the request; texts only. */
  | { readonly type: 'abort'; readonly afterMs: number };

export interface PlannedTask {
  readonly kind: string;
  readonly ending: Ending;
  /** The dialect of a text. */
  readonly target?: StreamTarget;
  readonly tokens: number;
  readonly promptWords: number;
}

/** So many tasks of each kind and so many texts in each dialect, in random order. `random` gives numbers from 0 up to 1. */
export function planDay(kinds: readonly string[], tasksOfEach: number, random: () => number): PlannedTask[] {
  const times = <Value>(make: () => Value): Value[] => Array.from({ length: tasksOfEach }, make);
  const upTo = (max: number): number => 1 + Math.floor(random() * max);
  const among = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value;
  // Short waits are as likely as long ones: both ends of a request are places where something can be lost.
  const moment = (): number => Math.floor(random() ** 3 * 1500);
  const ending = (types: readonly Ending['type'][]): Ending => {
    const type = among(types);
    return type === 'read' ? { type } : { type, afterMs: moment() };
  };
  const texts = streamTargets.flatMap((target) =>
    times(() => ({
      kind: target.name,
      target,
      tokens: upTo(48),
      promptWords: upTo(among([10, 10, 100])),
      ending: ending(['read', 'read', 'disconnect', 'abort']),
    })),
  );
  const tasks = kinds.flatMap((kind) =>
    times(() => ({ kind, tokens: 0, promptWords: 0, ending: ending(['read', 'read', 'disconnect']) })),
  );
  return shuffled([...texts, ...tasks], random);
}

function shuffled<Value>(values: readonly Value[], random: () => number): Value[] {
  const keyed = values.map((value) => ({ value, key: random() }));
  return keyed.sort((one, other) => one.key - other.key).map(({ value }) => value);
}

/** The body of a target with another prompt, wherever the dialect keeps it. */
export function bodyOf(target: StreamTarget, tokens: number, prompt: string, genkey: string): object {
  const body = target.body(tokens);
  const field = ['messages', 'input', 'prompt'].find((name) => Object.hasOwn(body, name)) ?? 'prompt';
  const text = field === 'messages' ? [{ role: 'user', content: prompt }] : prompt;
  return { ...body, [field]: text, genkey };
}
