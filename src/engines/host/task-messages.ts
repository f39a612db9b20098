import type { PlainError } from '../../core/errors.ts';

/** How long a worker whose channel was closed may go on. */
export const closingMs = 2000;

/**
 * What server and worker say to each other where an engine does one task after the other and knows no more about them than
 * that they begin, tell something and end. Bytes travel as attachments of a task or of what it tells.
 */
export type ToTaskWorker<Options, Task> =
  | { readonly type: 'load'; readonly options: Options }
  | { readonly type: 'begin'; readonly id: number; readonly task: Task }
  | { readonly type: 'abort'; readonly id: number }
  /** The reader has taken so many bytes of what the task has told: as many more may follow. */
  | { readonly type: 'taken'; readonly id: number; readonly bytes: number };

export type FromTaskWorker<Facts, Told> =
  | { readonly type: 'progress'; readonly fraction: number }
  | { readonly type: 'loaded'; readonly facts: Facts }
  /** Without a reason where native code has said it on the standard error. */
  | { readonly type: 'load-failed'; readonly reason: string | null }
  | { readonly type: 'note'; readonly text: string }
  | { readonly type: 'told'; readonly id: number; readonly told: Told }
  | { readonly type: 'ended'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly error: PlainError };
