import { AppError } from '../../core/errors.ts';
import { tryParseJson } from '../../core/json.ts';
import { listAt, objectAt, textAt } from './json.ts';

/** `unreachable`: no connection; `unwilling`: overloaded (429, 503); `refused`: an invalid request; `failed`: rest. */
export type FailureType = 'unreachable' | 'unwilling' | 'refused' | 'failed';

/** Why a backend failed a request before any output was sent to the client. */
export class RemoteFailure extends Error {
  constructor(
    readonly type: FailureType,
    readonly host: string,
    message: string,
    readonly facts: {
      readonly status?: number;
      readonly retryAfterSeconds?: number;
      /** The failure is a stale keep-alive connection, which does not mean that the backend is down. */
      readonly stale?: boolean;
      /** No connection could be made. */
      readonly unconnected?: boolean;
      /** Scheme, host and port; may be shown to clients. */
      readonly origin?: string;
    } = {},
  ) {
    super(message);
  }

  /** Whether the request may be retried on another backend. */
  get isPassing(): boolean {
    return this.type === 'unreachable' || this.type === 'unwilling' || (this.facts.status ?? 0) === 500;
  }

  /** Whether the backend answers, but does not have what was requested. A wrong key says nothing about that. */
  get isMissing(): boolean {
    const { status } = this.facts;
    return (this.type === 'failed' || this.type === 'refused') && status !== 401 && status !== 403;
  }
}

const usualRetrySeconds = 5;
/** Upper bound for Retry-After. */
const maxRetrySeconds = 60;
const maxMessageLength = 1000;

/** Maps a status other than 2xx to a failure, with the message of the body. */
export function statusFailure(
  host: string,
  answer: { status: number; retryAfter?: string | undefined; body: string; origin?: string },
): RemoteFailure {
  const { status, retryAfter, body, origin } = answer;
  const message = messageOf(body) || `it answered ${status}`;
  const seconds = Math.min(Math.ceil(Number(retryAfter)), maxRetrySeconds);
  const retry = seconds > 0 ? { retryAfterSeconds: seconds } : {};
  return new RemoteFailure(typeOf(status), host, message, { status, ...retry, ...(origin && { origin }) });
}

function typeOf(status: number): FailureType {
  if (status === 429 || status === 503) return 'unwilling';
  if (status === 502 || status === 504) return 'unreachable';
  // A wrong key or a missing path is a configuration error, not the client's.
  if (status === 401 || status === 403 || status === 404 || status === 405) return 'failed';
  return status >= 400 && status < 500 ? 'refused' : 'failed';
}

/** Error message of a body, in any of the forms that backends use. */
export function messageOf(body: string): string {
  const value = tryParseJson(body);
  if (value === undefined) return plain(body);
  const { error, errors, message, detail } = objectAt(value);
  const details = listAt(detail).map((one) => textAt(objectAt(one).msg) ?? '');
  // Beside another message, `error` has only its type.
  const candidates = [
    objectAt(error).message,
    errors,
    message,
    detail,
    objectAt(detail).msg,
    details.join('; '),
    error,
  ];
  return plain(candidates.map(textAt).find((text) => text !== undefined && text !== '') ?? '');
}

function plain(text: string): string {
  // HTML pages have no usable message.
  if (/^\s*</.test(text)) return '';
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > maxMessageLength ? `${line.slice(0, maxMessageLength)}…` : line;
}

/** The error for the client: the backend's message if the request was invalid; never its key or path. */
export function clientError(failure: unknown, capability: string): AppError {
  if (failure instanceof AppError) return failure;
  if (!(failure instanceof RemoteFailure)) {
    const reason = failure instanceof Error ? failure.message : String(failure);
    return new AppError('engine-failed', { capability, reason });
  }
  const { type, host, message, facts } = failure;
  const backend = facts.origin ?? host;
  if (type === 'refused') return new AppError('remote-refused', { message });
  if (type !== 'failed') {
    const sentence = `The remote backend at ${backend} ${problemOf(type, message)}.`;
    return new AppError('remote-down', { sentence, retryAfterSeconds: facts.retryAfterSeconds ?? usualRetrySeconds });
  }
  const reason = withoutEnd(message);
  // Without a status: the response could not be parsed.
  if (facts.status === undefined) return new AppError('remote-answer', { backend, reason });
  return new AppError('engine-failed', { capability, reason: `${host} says: ${reason}` });
}

/** What is wrong with a backend, as the end of a sentence that begins with its address. */
export function problemOf(type: FailureType, message: string): string {
  const reason = withoutEnd(message);
  if (type === 'unreachable') return `is not reachable: ${reason}`;
  return type === 'unwilling' ? `takes no requests now: ${reason}` : `cannot be used: ${reason}`;
}

/** Made to fit into a sentence. */
export function withoutEnd(message: string): string {
  return message.replace(/\.$/, '');
}
