import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { Aborted } from '../core/abort.ts';
import { AppError, asAppError, type Refused } from '../core/errors.ts';
import type { ObserveRequest, RequestObserver } from '../core/request-observer.ts';
import { deferred } from '../core/synchronization.ts';
import { plainAddress } from './address.ts';
import { type AuthorizeDeps, authorize } from './authorize.ts';
import { readBody } from './body.ts';
import type { BodyBudget } from './body-budget.ts';
import type { Call, Endpoint, Reply } from './call.ts';
import { errorRefusal, refusal } from './error-reply.ts';
import { type FormReading, isForm, readForm } from './form.ts';
import { type Identity, reportIdentity } from './guard.ts';
import { type RequestScope, requestScope } from './request-scope.ts';
import { discard, type RespondDeps, send } from './respond.ts';
import type { ResumableCall, ResumableStreams } from './resumable-streams.ts';
import { plainPath, queryOf } from './router.ts';
import { watchWrites } from './stream.ts';

export interface RequestDeps extends AuthorizeDeps, RespondDeps {
  readonly maxRequestMegabytes: number;
  readonly bodies: BodyBudget;
  /** Whether uncaught exceptions are assigned to requests; `scopesRequests` explains the cost. */
  readonly scopeRequests: boolean;
  readonly stallMilliseconds: number;
  readonly openUpload?: FormReading['openFile'];
  readonly newId: () => string;
  readonly observeRequest?: ObserveRequest | undefined;
  /** Without it no stream can be resumed. */
  readonly streams?: ResumableStreams | undefined;
  /** Called for each rejected request. */
  readonly onRefused?: ((refused: Refused) => void) | undefined;
  /** Unexpected errors; the client has its response, or its connection was ended. */
  readonly onError: (error: unknown, request: FailedRequest) => void;
}

/** `id`: its `x-request-id`; missing for a failure outside of requests. */
interface FailedRequest extends Pick<Call, 'method' | 'path'> {
  readonly id?: string;
}

interface Incoming {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Its signal aborts when the client is gone. */
  readonly controller: AbortController;
  /** The client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean;
  /** Set if its stream continues without the client. */
  resumable?: ResumableCall | undefined;
}

interface Answer {
  readonly reply: Reply;
  readonly linger: boolean;
  /** Called when the response is sent, or the client is gone. */
  readonly afterwards?: () => Promise<void>;
}

/** One request from its head to the end of its response. Never rejects: a failure is a response or a closed socket. */
export function handleRequest(deps: RequestDeps, incoming: Incoming): Promise<void> {
  const { response, controller } = incoming;
  const { promise: fault, reject: fail } = deferred<never>();
  fault.catch(() => undefined);
  const scope: RequestScope = {
    fail(error) {
      if (response.writableEnded || controller.signal.aborted) {
        if (!incoming.resumable?.running) return false;
        deps.onError(error, { method: incoming.request.method ?? '', path: plainPath(incoming.request.url ?? '') });
        incoming.resumable.fail(error);
        return true;
      }
      fail(error);
      // The response comes first: an aborted request gets none.
      setImmediate(() => {
        controller.abort(new Aborted('unread'));
        incoming.resumable?.fail(error);
      });
      return true;
    },
  };
  const handle = () => handleWithin(deps, incoming, fault);
  return deps.scopeRequests ? requestScope.run(scope, handle) : handle();
}

async function handleWithin(deps: RequestDeps, incoming: Incoming, fault: Promise<never>): Promise<void> {
  const { request, response, controller } = incoming;
  const { signal } = controller;
  const method = request.method ?? '';
  const path = plainPath(request.url ?? '');
  const id = deps.newId();
  const endpoint = deps.router.find(method, path, request.headers);
  const remoteAddress = plainAddress(request.socket.remoteAddress);
  const watch = deps.observeRequest?.({
    id,
    method,
    path,
    family: endpoint?.dialect.name ?? '',
    endpoint: endpoint?.path ?? '',
    recorded: endpoint?.recorded,
    remoteAddress,
    headers: request.headers,
  });
  let isCut = false;
  response.once('close', () => watch?.ended?.(response.writableFinished ? 'sent' : isCut ? 'failed' : 'client-gone'));
  const respondent = { request, response, signal, id, watch };
  try {
    const arrived = { id, method, path, endpoint, remoteAddress, watch, fault };
    const { reply, linger, afterwards } = await answer(deps, incoming, arrived);
    const sent = send(deps, { ...respondent, linger }, reply).finally(afterwards);
    await ('stream' in reply ? Promise.race([sent, fault]) : sent);
  } catch (error) {
    if (signal.aborted) return;
    isCut = response.headersSent;
    const known = asAppError(error);
    // A stream of bytes that was stopped on request has no other way to end.
    if (known.code !== 'stopped') deps.onError(error, { method, path, id });
    watch?.errored?.(known);
    const reply = errorRefusal(known);
    // What was written before the failure is still sent; the missing end shows that the response is incomplete.
    if (response.headersSent) request.socket.once('close', watchWrites(request.socket, deps).cancel).destroySoon();
    else await send(deps, { ...respondent, linger: false }, reply).catch(() => response.destroy());
  }
}

/** `headers` has only the first of several Host headers. */
function hostCount({ rawHeaders }: IncomingMessage): number {
  return rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name)).length;
}

interface ArrivedRequest extends Pick<Call, 'id' | 'method' | 'path' | 'remoteAddress'> {
  readonly endpoint: Endpoint | undefined;
  readonly watch: RequestObserver | undefined;
  readonly fault: Promise<never>;
}

async function answer(deps: RequestDeps, incoming: Incoming, arrived: ArrivedRequest): Promise<Answer> {
  const { request, response, controller, expectsContinue } = incoming;
  const { signal } = controller;
  const { headers, url: target = '' } = request;
  const { id, method, path, remoteAddress, watch, fault } = arrived;
  const authorization = authorize(deps, { ...arrived, target, headers, hosts: hostCount(request) });
  const verdict = authorization instanceof Promise ? await authorization : authorization;
  const report = (error: AppError, { status }: Reply) => {
    watch?.errored?.(error);
    deps.onRefused?.({ error, status, method, path, remoteAddress, id });
  };
  if (verdict.type === 'answered') {
    if (verdict.error) report(verdict.error, verdict.reply);
    return { reply: verdict.reply, linger: !expectsContinue };
  }

  const { endpoint, identity } = verdict;
  reportIdentity(watch, identity);
  let awaitsContinue = expectsContinue;
  const begin = (): void => {
    if (awaitsContinue) response.writeContinue();
    awaitsContinue = false;
  };
  const { stallMilliseconds, startTimer } = deps;
  const share = deps.bodies.open();
  response.once('close', share.release);
  const maxBytes = deps.maxRequestMegabytes * 1024 * 1024;
  const bounds = { bytes: maxBytes, stallMilliseconds, startTimer, begin };
  const { form } = endpoint;
  const isSentForm = form !== undefined && isForm(request);
  const read = isSentForm
    ? await readForm(request, {
        ...bounds,
        bytes: form.bytes ?? maxBytes,
        folder: form.folder,
        limits: form,
        openFile: deps.openUpload,
      })
    : await readBody(request, { ...bounds, take: share.take });
  const handle = async (call: Call, afterwards?: () => Promise<void>): Promise<Answer> => {
    const resumable = deps.streams?.accept(call);
    incoming.resumable = resumable;
    const own = resumable ? { ...call, signal: resumable.signal } : call;
    const reply = await handled(deps, endpoint, own, { report, fault });
    const settled = resumable?.settle(reply, afterwards);
    if (settled?.taken) return { reply: settled.reply, linger: false };
    return { reply, linger: false, ...(afterwards ? { afterwards } : {}) };
  };
  const refused = (error: AppError, linger: boolean): Answer => {
    const reply = endpoint.dialect.errorReply(error, id);
    report(error, reply);
    return { reply, linger };
  };
  const encrypted = (request.socket as Partial<TLSSocket>).encrypted === true;
  const sender = { ...senderOf(identity), remoteAddress, encrypted };
  const common = { id, method, path, query: queryOf(target), headers, signal, ...sender, watch };
  const megabytes = Math.floor(((isSentForm ? form.bytes : undefined) ?? maxBytes) / 1024 / 1024);
  switch (read.type) {
    case 'whole':
      watch?.received?.(read.body);
      return handle({ ...common, body: read.body });
    case 'form':
      watch?.received?.(emptyBody);
      return handle({ ...common, body: emptyBody, form: read.form }, read.remove);
    case 'broken':
      return refused(new AppError('request-broken', { reason: read.reason }), true);
    case 'disk-full':
      return refused(new AppError('disk-full', {}), true);
    case 'too-large':
      return refused(new AppError('payload-too-large', { limitMegabytes: megabytes }), !awaitsContinue);
    case 'crowded':
      return refused(new AppError('busy', { retryAfterSeconds: 5 }), true);
    case 'stalled':
      return { reply: refusal(408, 'The request was not sent to its end in time.', 'request_timeout'), linger: false };
    case 'disconnected':
      throw new AppError('request-broken', { reason: 'the connection ended in its middle' });
  }
}

function senderOf(identity: Identity): Pick<Call, 'authorized' | 'key' | 'session' | 'isAdmin'> {
  const { type } = identity;
  const session = type !== 'nobody' && identity.session !== undefined ? { session: identity.session } : {};
  if (type === 'key') return { authorized: true, key: identity.key, ...session };
  return { authorized: type !== 'nobody', ...session, ...(type === 'owner' && identity.isAdmin && { isAdmin: true }) };
}

const emptyBody = Buffer.alloc(0);

async function handled(
  deps: RequestDeps,
  endpoint: Endpoint,
  call: Call,
  { report, fault }: { readonly report: (error: AppError, reply: Reply) => void; readonly fault: Promise<never> },
): Promise<Reply> {
  try {
    const reply = Promise.resolve(endpoint.handle(call));
    fault.catch(() => reply.then(discard)).catch(() => undefined);
    return await Promise.race([reply, fault]);
  } catch (thrown) {
    const error = asAppError(thrown);
    const { id, signal, method, path } = call;
    if (error.code === 'internal' && !signal.aborted) {
      call.watch?.errored?.(error);
      deps.onError(thrown, { method, path, id });
    }
    const reply = endpoint.dialect.errorReply(error, id);
    if (error.code !== 'internal' && !signal.aborted) report(error, reply);
    return reply;
  }
}
