import type { IncomingHttpHeaders } from 'node:http';
import type { AppError } from '../core/errors.ts';
import type { Form, FormLimits } from './form.ts';

/** One request as a handler sees it: its body is read and bounded, its target split, its client known. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The parts of a body that has several, where the endpoint takes such; `body` is empty then. */
  readonly form?: Form;
  /** Aborts when the client goes away, in whatever phase, over TLS too. */
  readonly signal: AbortSignal;
  readonly remoteAddress: string;
  /** Whether the right key came along; always true when no password is set. */
  readonly authorized: boolean;
}

export type Reply =
  | { readonly status: number; readonly headers?: Headers; readonly body: string | Uint8Array }
  | {
      readonly status: number;
      readonly headers?: Headers;
      /** Whole frames or lines, or pieces of a file: a filler may be written between any two texts. */
      readonly stream: AsyncIterable<string | Uint8Array>;
      readonly keepAlive?: KeepAlive;
      readonly statusComments?: StatusComments;
    };

/** What to write when the stream has been silent for so long, so that nobody on the way takes it for dead. */
export interface KeepAlive {
  readonly milliseconds: number;
  readonly filler: string;
}

/** What is to be said beside the stream while it has not begun, between two of its frames. */
export interface StatusComments {
  readonly milliseconds: number;
  /** Asked at once and then again and again; empty when there is nothing to say, undefined when there never will be. */
  next(): string | undefined;
}

export type Headers = Readonly<Record<string, string>>;

/** A family of endpoints that shares one manner of saying that something went wrong. */
export interface Family {
  readonly name: string;
  readonly title: string;
  errorReply(error: AppError): Reply;
}

/** Who may ask for an endpoint. */
export interface AccessRule {
  /**
   * `open` answers without the key; `guarded` generates, changes something or shows what somebody made; `admin` asks for
   * more than the key, in its own handler.
   */
  readonly access: 'open' | 'guarded' | 'admin';
  /** Whether it makes or changes something: then pages of other sites may not call it, whatever its access. */
  readonly changes?: boolean;
  /** Whether `--legacyopenpaths` opens it. */
  readonly legacyOpen?: boolean;
  /** Whether the key may also come as `?key=`. */
  readonly keyInQuery?: boolean;
}

/** An endpoint as lists and documents show it. */
export interface EndpointInfo extends AccessRule {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `rest` is what nobody knows below a path, by any method: how a family says that something is not there. */
  readonly match: 'exact' | 'ending' | 'prefix' | 'rest';
  readonly path: string;
  /** Counts against `--ratelimit`. */
  readonly rateLimited: boolean;
  /** What HEAD is answered with, where it asks for something that is not there; 200 otherwise. */
  readonly probeStatus?: number;
  /** Also takes a body of several parts, within the usual limits or these. */
  readonly form?: Partial<FormLimits>;
  readonly summary: string;
  readonly family: Family;
}

export interface Endpoint extends EndpointInfo {
  readonly handle: (call: Call) => Reply | Promise<Reply>;
}

export function json(value: unknown, status = 200, headers: Headers = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) };
}
