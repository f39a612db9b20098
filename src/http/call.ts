import type { IncomingHttpHeaders } from 'node:http';
import type { AppError } from '../core/errors.ts';
import type { KeyScope } from '../core/people.ts';
import type { RequestObserver } from '../core/request-observer.ts';
import type { Form, FormOptions } from './form.ts';

/** A request as a handler gets it, with its body read. */
export interface Call {
  /** Sent to the client as `x-request-id`. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** A multipart body, if the endpoint accepts one; `body` is then empty. */
  readonly form?: Form;
  /** Aborts when the client disconnects, in any phase. */
  readonly signal: AbortSignal;
  readonly remoteAddress: string;
  /** It came by HTTPS. */
  readonly encrypted?: boolean;
  /** Whether the right key was sent; always true without a password. */
  readonly authorized: boolean;
  /** The key of `--keyfile` that was sent. */
  readonly key?: ClientKey;
  /** The id of the session whose cookie was sent, if that is how the sender is known. */
  readonly session?: string;
  /** Whether that session was opened with `--adminpassword`. */
  readonly isAdmin?: boolean;
  /** Set for a request of a batch, which gives way to all others; see `RequestContext`. */
  readonly giveWay?: () => void;
  /** Follows the request, for logs, metrics and the inspector. */
  readonly watch?: RequestObserver | undefined;
}

/** A key of `--keyfile`: what it may do, and its share of the queue. */
export interface ClientKey {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly weight: number;
  readonly tokensPerDay?: number;
  readonly shared?: boolean;
}

export type Reply =
  | { readonly status: number; readonly headers?: Headers; readonly body: string | Uint8Array }
  | {
      readonly status: number;
      readonly headers?: Headers;
      /** Whole frames or lines, or pieces of a file. Fillers are written between two texts. */
      readonly stream: AsyncIterable<string | Uint8Array>;
      readonly keepAlive?: KeepAlive;
      readonly statusComments?: StatusComments;
    };

/** What to write after this much silence, so that no proxy closes the connection. */
export interface KeepAlive {
  readonly milliseconds: number;
  readonly filler: string;
  /** Instead of the filler, until the first piece of the stream. */
  readonly initialFiller?: string;
  /** Written instead of the filler, while there is any. */
  progress?(): string | undefined;
  /** Whether to begin with a filler: the client has waited for the headers already. */
  readonly immediately?: boolean;
}

/** Comments that are written while a stream has not begun. */
export interface StatusComments {
  readonly milliseconds: number;
  /** Polled, at once and then periodically. Empty: nothing new. Undefined: no more comments. */
  next(): string | undefined;
}

export type Headers = Readonly<Record<string, string>>;

/** An API: endpoints with one error format. */
export interface Dialect {
  readonly name: string;
  readonly title: string;
  /** Imitates another product. The API documentation has it only on request. */
  readonly emulation?: true;
  /** `requestId`: where the dialect has the id in its body. */
  errorReply(error: AppError, requestId?: string): Reply;
}

export interface AccessRule {
  /** `open` needs no key; `guarded` generates, changes or shows content; `admin` checks further in its handler. */
  readonly access: 'open' | 'guarded' | 'admin';
  /** Creates or changes something: pages of other sites may not call it, whatever its access. */
  readonly changes?: boolean;
  /** Scope that a key of `--keyfile` needs; without one every key will do. */
  readonly scope?: KeyScope;
  readonly legacyOpen?: boolean;
  /** Refused with status 403 without `--admin`, and without the key of `--adminpassword` where there is one. */
  readonly adminOnly?: boolean;
  /** Whether the key may also come as `?key=`. */
  readonly keyInQuery?: boolean;
  /** Whether the key may also come as a subprotocol of a WebSocket. */
  readonly keyInProtocol?: boolean;
}

export interface EndpointInfo extends AccessRule {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `folder`: each file directly in it, below any prefix. `rest`: every unknown path below this one, for the 404 of a dialect. */
  readonly match: 'exact' | 'ending' | 'folder' | 'prefix' | 'rest';
  readonly path: string;
  /** Counts against `--ratelimit`. */
  readonly rateLimited: boolean;
  /** Whether the inspector keeps its requests; by default those that send something. */
  readonly recorded?: boolean;
  /** Status of HEAD; 200 by default. */
  readonly probeStatus?: number;
  /** Accepts a multipart body, with these limits. */
  readonly form?: FormOptions;
  /** Of two endpoints with one path, the one with this header answers the requests that have it. In lower case. */
  readonly header?: string;
  readonly summary: string;
  readonly dialect: Dialect;
}

export interface Endpoint extends EndpointInfo {
  readonly handle: (call: Call) => Reply | Promise<Reply>;
}

export function json(value: unknown, status = 200, headers: Headers = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) };
}
