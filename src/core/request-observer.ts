import type { AppError } from './errors.ts';
import type { GenerationEvent } from './events.ts';
import type { GenerationRequest } from './request.ts';
import type { UsageCounts } from './usage.ts';

/** What is known of a request when its head has arrived. */
export interface ObservedRequest {
  /** Sent to the client as `x-request-id`. */
  readonly id: string;
  readonly method: string;
  /** As sent, without its query. */
  readonly path: string;
  /** Of the endpoint; empty for a path that no endpoint has. */
  readonly family: string;
  /** The path of the endpoint in its table. Few values, unlike `path`. */
  readonly endpoint: string;
  /** Whether the inspector keeps it, where the row of the endpoint says so. */
  readonly recorded?: boolean | undefined;
  readonly remoteAddress: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export type ResponseEnd =
  /** The whole response was written. */
  | 'sent'
  /** The client disconnected before. */
  | 'client-gone'
  /** The response was cut off by an error. */
  | 'failed';

/**
 * Follows one request from its head to the last byte of its response. HTTP reports what it reads and writes, the queue reports
 * turns and events. Its methods are called once unless they say otherwise; they must not throw or block.
 *
 * The work of a request may outlive its response (responses in the background, kept generations): jobs that were `queued` before
 * `ended` report until they `left`.
 */
export interface RequestObserver {
  /** The W3C trace context for requests to other servers that this one causes. */
  readonly traceparent?: string | undefined;
  /**
   * The client may call the endpoint. `key` is the name of its key in `--keyfile`. `known`: it has the password or a key, or none is
   * needed on this server; others reach open endpoints only. `password`: it has sent the password.
   */
  authorized?(key: string | undefined, known: boolean, password?: boolean): void;
  /** The body is read; empty for a multipart body, whose files may be on the disk. */
  received?(body: Uint8Array): void;
  /** The text model of the call, by the name that replies have. Again for a call that is repeated with another model. */
  modelSelected?(name: string): void;
  /** What the dialect made of the body: the neutral request, or a list of them for several texts. */
  decoded?(request: unknown): void;
  /** The conversation was changed before its prompt was made; `changes` are sentences. */
  rearranged?(changes: readonly string[]): void;
  /** A job of this kind is admitted to the queue. Once for each job. */
  queued?(kind: string): void;
  /** Its turn came after this many milliseconds in the queue. Once for each job. */
  dequeued?(waitedMs: number): void;
  /** The engine of this model was loaded after this many milliseconds, or could not be. Once for each generation or task. */
  engineReady?(kind: string, model: string, waitedMs: number, error: unknown): void;
  /** An engine of this kind begins. Once for each task. */
  taskBegun?(kind: string): void;
  taskEnded?(kind: string, error: AppError | undefined, milliseconds: number): void;
  /** A generation begins, with its final prompt. Once for each generation; those of one job follow one another. */
  generationBegun?(request: GenerationRequest, contextSize: number, job: number): void;
  /** Once for each event of each generation. `request` is the one that it began with. */
  event?(event: GenerationEvent, job: number, request: GenerationRequest): void;
  /** Once for each event of each reply of a chat, as its dialect gets it: with thinking and calls apart from the text. */
  replyEvent?(reply: number, event: GenerationEvent): void;
  /** An engine has done this much work. Once for each result. */
  used?(counts: Partial<UsageCounts>): void;
  /** The job is over; nothing more is reported of it. Once for each job. */
  left?(): void;
  /** Why the request was refused, or why its response was cut off. */
  errored?(error: AppError): void;
  /** The response begins. */
  replied?(status: number, headers: Readonly<Record<string, string>>): void;
  /** Once for each write. */
  wrote?(piece: string | Uint8Array): void;
  /** The last call of HTTP. The work goes on if the stream can be taken up again (`x-parley-resumable`). */
  ended?(how: ResponseEnd): void;
}

/** Starts to observe a request; undefined if there is no observer. */
export type ObserveRequest = (head: ObservedRequest) => RequestObserver | undefined;
