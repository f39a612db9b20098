import { AppError, asAppError } from '../core/errors.ts';
import type { Call, Endpoint, Reply } from './call.ts';
import { errorRefusal, refusal } from './error-reply.ts';
import type { Guard, Identity } from './guard.ts';
import { notFoundPage } from './pages.ts';
import { methods, type Router, sentPath } from './router.ts';

interface RequestHead extends Pick<Call, 'id' | 'method' | 'path' | 'headers' | 'remoteAddress'> {
  readonly endpoint: Endpoint | undefined;
  readonly target: string;
  /** How many Host headers it has. */
  readonly hosts: number;
}

type Authorization =
  /** `error` is set if the reply is a refusal. */
  | { readonly type: 'answered'; readonly reply: Reply; readonly error?: AppError }
  | { readonly type: 'handle'; readonly endpoint: Endpoint; readonly identity: Identity };

export interface AuthorizeDeps {
  readonly router: Router<Endpoint>;
  readonly guard: Guard;
  readonly rate: ReturnType<typeof rateLimit>;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Whether the server is stopping and takes no new requests. */
  readonly stopping: () => boolean;
}

/** Checks host, method, path, origin, key and rate, in this order, before the body is read. A promise only for an unknown key. */
export function authorize(
  { router, guard, rate, now, stopping }: AuthorizeDeps,
  head: RequestHead,
): Authorization | Promise<Authorization> {
  const { method, path, headers, endpoint } = head;

  // A proxy in front may have checked another one than we would.
  if (head.hosts > 1)
    return refused(new AppError('request-broken', { reason: 'it has several Host headers' }), endpoint);
  const hostRefused = guard.refuseHost(headers, endpoint);
  if (hostRefused) return refused(hostRefused, endpoint);
  const preflightRefused = method === 'OPTIONS' ? refusedPreflight(head) : undefined;
  if (preflightRefused) return preflightRefused;
  if (method === 'HEAD' || method === 'OPTIONS') {
    const [known] = method === 'HEAD' ? router.methods(path) : [];
    const status = (known && router.find(known, path)?.probeStatus) ?? 200;
    return answered({ status, headers: { 'content-type': 'text/html' }, body: '' });
  }
  if (!methods.some((known) => known === method))
    return answered(refusal(501, `${method} is not possible on this server.`, 'not_implemented'));
  if (!endpoint)
    return notRouted(router, head) ?? refused((method === 'POST' ? tooSoon() : undefined) ?? notFound(head), undefined);
  if (method === 'GET' && path === '/lcpp' && sentPath(head.target) === '/lcpp') return answered(toSlash);

  const originRefused = guard.refuseOrigin(headers, endpoint);
  if (originRefused) return refused(originRefused, endpoint);
  const identity = guard.identify(headers, endpoint, { target: head.target, address: head.remoteAddress });
  return identity instanceof Promise
    ? identity.then(decide, (error: unknown) => refused(asAppError(error), endpoint))
    : decide(identity);

  /** The browser of a foreign page asks first, and sends the request itself only if it is let in. */
  function refusedPreflight({ headers, path }: RequestHead): Authorization | undefined {
    const requested = headers['access-control-request-method'];
    const known = requested === undefined ? undefined : router.find(requested, path);
    const error = known && guard.refuseOrigin(headers, known);
    return error && refused(error, known);
  }

  function refused(error: AppError, known: Endpoint | undefined): Authorization {
    const reply = known ? known.dialect.errorReply(error, head.id) : errorRefusal(error);
    return { type: 'answered', reply, error };
  }

  function decide(identity: Identity): Authorization {
    const known = endpoint as Endpoint;
    const refusedKey = guard.refuseKey(identity, known, known.rateLimited ? 'work' : 'request');
    const stopped = stopping() ? new AppError('stopping', {}) : undefined;
    const crowded = () => guard.refuseTokens(identity, known.scope) ?? tooSoon();
    const error = refusedKey ?? stopped ?? (known.rateLimited ? crowded() : undefined);
    return error ? refused(error, known) : { type: 'handle', endpoint: known, identity };
  }

  function tooSoon(): AppError | undefined {
    const retryAfterSeconds = rate(head.remoteAddress, now());
    return retryAfterSeconds > 0 ? new AppError('rate-limited', { retryAfterSeconds }) : undefined;
  }
}

/** The page at `/lcpp/` has relative links, which need the slash. */
const toSlash: Reply = { status: 302, headers: { location: '/lcpp/', 'content-type': 'text/html' }, body: '' };

/** 405 in the format of the endpoint that the path has for another method, or a page for people. */
function notRouted(router: Router<Endpoint>, head: RequestHead): Authorization | undefined {
  const allowed = router.methods(head.path);
  const [other] = allowed;
  const endpoint = other && router.find(other, head.path);
  if (endpoint) {
    const allow = allowed.join(', ');
    const error = new AppError('method-not-allowed', { method: head.method, allowed: allow });
    const reply = endpoint.dialect.errorReply(error, head.id);
    return { type: 'answered', reply: { ...reply, headers: { ...reply.headers, allow } }, error };
  }
  return head.method === 'GET' ? answered(notFoundPage(head.path)) : undefined;
}

const notFound = ({ method, path }: RequestHead): AppError => new AppError('not-found', { method, path });

const answered = (reply: Reply): Authorization => ({ type: 'answered', reply });

/** One accepted request per address and span of time; rejected ones do not extend it. Returns the seconds left, 0 if accepted. */
export function rateLimit(seconds: number, remembered = 10_000) {
  const span = seconds * 1000;
  // In the order of acceptance: entries to drop are at the front.
  const acceptedAt = new Map<string, number>();

  return (address: string, now: number): number => {
    if (span <= 0) return 0;
    const at = acceptedAt.get(address);
    if (at !== undefined && now - at < span) return Math.max(1, Math.ceil((at + span - now) / 1000));
    acceptedAt.delete(address);
    for (const [oldest, since] of acceptedAt) {
      if (acceptedAt.size < remembered && now - since < span) break;
      acceptedAt.delete(oldest);
    }
    acceptedAt.set(address, now);
    return 0;
  };
}
