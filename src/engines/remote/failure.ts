import { AppError } from '../../core/errors.ts';
import { listAt, objectAt, parsedJson, textAt } from './json.ts';

/**
 * `unreachable`: no connection, or one that broke; `unwilling`: it takes no work now (429, 503); `refused`: it does not like the
 * request; `failed`: it could not do it.
 */
export type FailureType = 'unreachable' | 'unwilling' | 'refused' | 'failed';

/** Why an engine elsewhere did not do what it was asked to, before anything of it could be passed on. */
export class RemoteFailure extends Error {
  constructor(
    readonly type: FailureType,
    readonly host: string,
    message: string,
    readonly facts: {
      readonly status?: number;
      readonly retryAfterSeconds?: number;
      /** On a connection that had been kept open and was closed over there meanwhile: that says nothing of the engine. */
      readonly stale?: boolean;
      /** Scheme, host and port, as clients are told. */
      readonly origin?: string;
    } = {},
  ) {
    super(message);
  }

  /** Whether another engine may be asked the same. */
  get isPassing(): boolean {
    return this.type === 'unreachable' || this.type === 'unwilling' || (this.facts.status ?? 0) === 500;
  }
}

const usualRetrySeconds = 5;
/** A Retry-After may say any number; nobody is left alone for longer than this. */
const longestRetrySeconds = 60;
const longestMessage = 1000;

/** What a status other than 2xx means, with the words that came with it. */
export function statusFailure(
  host: string,
  {
    status,
    retryAfter,
    body,
    origin,
  }: {
    readonly status: number;
    readonly retryAfter?: string | undefined;
    readonly body: string;
    readonly origin?: string;
  },
): RemoteFailure {
  const message = messageOf(body) || `it answered ${status}`;
  const seconds = Number(retryAfter);
  const known =
    Number.isFinite(seconds) && seconds > 0
      ? { retryAfterSeconds: Math.min(Math.ceil(seconds), longestRetrySeconds) }
      : {};
  return new RemoteFailure(typeOf(status), host, message, {
    status,
    ...known,
    ...(origin === undefined ? {} : { origin }),
  });
}

function typeOf(status: number): FailureType {
  if (status === 429 || status === 503) return 'unwilling';
  if (status === 502 || status === 504) return 'unreachable';
  // That the key is wrong is nothing that the client could change; nor is a path that is not there.
  if (status === 401 || status === 403 || status === 404 || status === 405) return 'failed';
  return status >= 400 && status < 500 ? 'refused' : 'failed';
}

/** The words of an error in any of the forms that engines have for it. */
export function messageOf(body: string): string {
  const value = parsedJson(body);
  if (value === undefined) return plain(body);
  const { error, errors, message, detail } = objectAt(value);
  const details = listAt(detail).map((one) => textAt(objectAt(one).msg) ?? '');
  const places = [objectAt(error).message, errors, error, message, detail, objectAt(detail).msg, details.join('; ')];
  return plain(places.map(textAt).find((text) => text !== undefined && text !== '') ?? '');
}

function plain(text: string): string {
  // A page for people has no sentence to offer.
  if (/^\s*</.test(text)) return '';
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > longestMessage ? `${line.slice(0, longestMessage)}…` : line;
}

/** What the client is told: the words of the other side where the request was wrong, never its key or path. */
export function clientError(failure: unknown, capability: string): AppError {
  if (failure instanceof AppError) return failure;
  if (!(failure instanceof RemoteFailure)) {
    const reason = failure instanceof Error ? failure.message : String(failure);
    return new AppError('engine-failed', { capability, reason });
  }
  const { type, host, message, facts } = failure;
  const retryAfterSeconds = facts.retryAfterSeconds ?? usualRetrySeconds;
  switch (type) {
    case 'refused':
      return new AppError('remote-refused', { message });
    case 'unreachable':
    case 'unwilling':
      return new AppError('remote-down', {
        sentence: `The remote backend at ${facts.origin ?? host} ${problemOf(type, message)}.`,
        retryAfterSeconds,
      });
    case 'failed':
      // Without a status it did answer, but not with anything that could be an answer.
      if (facts.status === undefined) {
        return new AppError('remote-answer', { backend: facts.origin ?? host, reason: withoutEnd(message) });
      }
      return new AppError('engine-failed', { capability, reason: `${host} says: ${withoutEnd(message)}` });
  }
}

/** What is wrong with a backend, as the end of a sentence that begins with its address. */
export function problemOf(type: FailureType, message: string): string {
  const words = withoutEnd(message);
  if (type === 'unreachable') return `is not reachable: ${words}`;
  return type === 'unwilling' ? `takes no requests now: ${words}` : `cannot be used: ${words}`;
}

/** It becomes part of a sentence. */
function withoutEnd(message: string): string {
  return message.replace(/\.$/, '');
}
