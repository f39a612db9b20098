import type { PlainError } from '../../core/errors.ts';
import type { Attachments } from './channel.ts';
import type { LoadMessage } from './engine-process.ts';

/** How long a worker may go on after its channel was closed. */
export const closingMs = 2000;

/** Where the bytes of a task or an event belong, each as a path of keys. They are attachments, because JSON cannot hold them. */
interface BytesAt {
  readonly bytesAt?: readonly (readonly string[])[];
}

/** Messages between the server and a worker that does tasks. */
export type ToTaskWorker<Options, Task> =
  | { readonly type: 'load'; readonly options: Options }
  | ({ readonly type: 'begin'; readonly id: number; readonly task: Task } & BytesAt)
  | { readonly type: 'abort'; readonly id: number }
  /** The reader has taken this many bytes of the events: as many more may follow. */
  | { readonly type: 'taken'; readonly id: number; readonly bytes: number };

export type FromTaskWorker<Facts, Told> = LoadMessage<Facts> | TaskMessage<Told>;

export type TaskMessage<Told> =
  | ({ readonly type: 'event'; readonly id: number; readonly event: Told } & BytesAt)
  | { readonly type: 'ended'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly error: PlainError };

/** Takes the bytes out of a task or an event. */
export function detached<Value>(value: Value): BytesAt & { readonly value: Value; readonly attachments: Attachments } {
  const attachments: Uint8Array[] = [];
  const bytesAt: (readonly string[])[] = [];
  const bare = (one: unknown, path: () => readonly string[]): unknown => {
    if (typeof one !== 'object' || one === null) return one;
    if (one instanceof Uint8Array) {
      attachments.push(one);
      bytesAt.push(path());
      return null;
    }
    if (Array.isArray(one)) return one.map((each, index) => bare(each, () => [...path(), String(index)]));
    const entries = Object.entries(one).map(([key, each]) => [key, bare(each, () => [...path(), key])]);
    return Object.fromEntries(entries);
  };
  const whole = bare(value, () => []) as Value;
  return { value: whole, attachments, ...(bytesAt.length > 0 && { bytesAt }) };
}

/** Puts the attachments back where they belong. */
export function attached<Value>(value: Value, { bytesAt = [] }: BytesAt, attachments: Attachments): Value {
  for (const [index, path] of bytesAt.entries()) {
    const holder = path.slice(0, -1).reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], value);
    (holder as Record<string, unknown>)[path.at(-1) ?? ''] = attachments[index];
  }
  return value;
}

export function byteLength(attachments: Attachments): number {
  return attachments.reduce((sum, bytes) => sum + bytes.byteLength, 0);
}
