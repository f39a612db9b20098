import type { PlainError } from '../../core/errors.ts';
import type { LoadMessage } from './engine-process.ts';

/** How long a worker may go on after its channel was closed. */
export const closingMs = 2000;

/** Messages between the server and a worker that does tasks. Bytes are attachments of a task or of an event. */
export type ToTaskWorker<Options, Task> =
  | { readonly type: 'load'; readonly options: Options }
  | { readonly type: 'begin'; readonly id: number; readonly task: Task }
  | { readonly type: 'abort'; readonly id: number }
  /** The reader has taken this many bytes of the events: as many more may follow. */
  | { readonly type: 'taken'; readonly id: number; readonly bytes: number };

export type FromTaskWorker<Facts, Told> = LoadMessage<Facts> | TaskMessage<Told>;

export type TaskMessage<Told> =
  | { readonly type: 'told'; readonly id: number; readonly told: Told }
  | { readonly type: 'ended'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly error: PlainError };
