import type { PlainError } from '../../core/errors.ts';

/** How long a worker may go on after its channel was closed. */
export const closingMs = 2000;

/** Messages between the server and a worker that does tasks. Bytes are attachments of a task or of an event. */
export type ToTaskWorker<Options, Task> =
  | { readonly type: 'load'; readonly options: Options }
  | { readonly type: 'begin'; readonly id: number; readonly task: Task }
  | { readonly type: 'abort'; readonly id: number }
  /** The reader has taken this many bytes of the events: as many more may follow. */
  | { readonly type: 'taken'; readonly id: number; readonly bytes: number };

export type FromTaskWorker<Facts, Told> =
  | { readonly type: 'progress'; readonly fraction: number }
  | { readonly type: 'loaded'; readonly facts: Facts }
  /** Without a reason if native code wrote it to standard error. */
  | { readonly type: 'load-failed'; readonly reason: string | null }
  | { readonly type: 'note'; readonly text: string }
  | { readonly type: 'told'; readonly id: number; readonly told: Told }
  | { readonly type: 'ended'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly error: PlainError };
