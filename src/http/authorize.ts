import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../core/errors.ts';
import type { Endpoint, Reply } from './call.ts';
import { errorRefusal, refusal } from './error-reply.ts';
import type { Guard } from './guard.ts';
import { notFoundPage } from './pages.ts';
import { methods, type Router, sentPath } from './router.ts';

/** The head of a request; nothing more is needed to decide who answers it, and whether. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** How many Host headers it has. */
  readonly hosts: number;
  readonly remoteAddress: string;
}

export type Authorization =
  /** `error` is there where it is a refusal. */
  | { readonly type: 'answered'; readonly reply: Reply; readonly error?: AppError }
  | { readonly type: 'handle'; readonly endpoint: Endpoint };

export interface AuthorizeParts {
  readonly router: Router<Endpoint>;
  readonly guard: Guard;
  readonly rate: RateLimit;
  readonly now: () => number;
}

/** In this order: host, method, path, origin, key, rate. Whatever is refused is refused before its body is read. */
export function authorize({ router, guard, rate, now }: AuthorizeParts, head: RequestHead): Authorization {
  const { method, path, headers } = head;
  const endpoint = router.find(method, path);

  // A proxy in front may have looked at another one than we would.
  if (head.hosts > 1)
    return refused(new AppError('request-broken', { reason: 'it has several Host headers' }), endpoint);
  const hostRefused = guard.refuseHost(headers, endpoint);
  if (hostRefused) return refused(hostRefused, endpoint);
  if (method === 'HEAD' || method === 'OPTIONS') {
    const status = method === 'HEAD' ? probeStatus(router, path) : 200;
    return answered({ status, headers: { 'content-type': 'text/html' }, body: '' });
  }
  if (!isKnownMethod(method))
    return answered(refusal(501, `${method} is not possible on this server.`, 'not_implemented'));
  if (!endpoint)
    return elsewhere(router, head) ?? refused((method === 'POST' ? tooSoon() : undefined) ?? notFound(head), undefined);
  if (method === 'GET' && path === '/lcpp' && sentPath(head.target) === '/lcpp') return answered(toSlash);

  const error =
    guard.refuseOrigin(headers, endpoint) ??
    guard.refuseKey(headers, endpoint, head.target) ??
    (endpoint.rateLimited ? tooSoon() : undefined);
  return error ? refused(error, endpoint) : { type: 'handle', endpoint };

  function tooSoon(): AppError | undefined {
    const retryAfterSeconds = rate.take(head.remoteAddress, now());
    return retryAfterSeconds > 0 ? new AppError('rate-limited', { retryAfterSeconds }) : undefined;
  }
}

function probeStatus(router: Router<Endpoint>, path: string): number {
  const [known] = router.methods(path);
  return (known && router.find(known, path)?.probeStatus) ?? 200;
}

/** The page at `/lcpp/` names its parts relative to itself, which only works with the slash. */
const toSlash: Reply = { status: 302, headers: { location: '/lcpp/', 'content-type': 'text/html' }, body: '' };

/** A path that exists for other methods is refused in the words of who answers there; or a page does not exist. */
function elsewhere(router: Router<Endpoint>, head: RequestHead): Authorization | undefined {
  const methods = router.methods(head.path);
  const [other] = methods;
  const endpoint = other && router.find(other, head.path);
  if (endpoint) {
    const allow = methods.join(', ');
    const error = new AppError('method-not-allowed', { method: head.method, allowed: allow });
    const reply = endpoint.family.errorReply(error);
    return { type: 'answered', reply: { ...reply, headers: { ...reply.headers, allow } }, error };
  }
  return head.method === 'GET' ? answered(notFoundPage(head.path)) : undefined;
}

function notFound({ method, path }: RequestHead): AppError {
  return new AppError('not-found', { method, path });
}

function refused(error: AppError, endpoint: Endpoint | undefined): Authorization {
  return { type: 'answered', reply: endpoint ? endpoint.family.errorReply(error) : errorRefusal(error), error };
}

function answered(reply: Reply): Authorization {
  return { type: 'answered', reply };
}

function isKnownMethod(method: string): boolean {
  return (methods as readonly string[]).includes(method);
}

/**
 * One accepted request per client address and so many seconds. The clock starts when a request is accepted, not when it
 * ends, and a refused one does not start it anew.
 */
interface RateLimit {
  /** Whole seconds still to wait; 0 means that the request is accepted, and remembered. */
  take(address: string, now: number): number;
}

export function rateLimit(seconds: number, remembered = 10_000): RateLimit {
  const span = seconds * 1000;
  // Kept in the order of acceptance: what is too old, or too much, stands at the front.
  const acceptedAt = new Map<string, number>();

  const forget = (now: number): void => {
    for (const [address, at] of acceptedAt) {
      if (acceptedAt.size < remembered && now - at < span) return;
      acceptedAt.delete(address);
    }
  };

  return {
    take(address, now) {
      if (span <= 0) return 0;
      const at = acceptedAt.get(address);
      if (at !== undefined && now - at < span) return Math.max(1, Math.ceil((at + span - now) / 1000));
      acceptedAt.delete(address);
      forget(now);
      acceptedAt.set(address, now);
      return 0;
    },
  };
}
