import { randomBytes } from 'node:crypto';
import { text as collected } from 'node:stream/consumers';
import type { BatchWork, SentReply } from '../batches/runner.ts';
import type { Settings } from '../config/flags.ts';
import type { BatchSender } from '../core/batches.ts';
import { AppError, asAppError } from '../core/errors.ts';
import { tryParseJson } from '../core/json.ts';
import { findNamed } from '../core/model-names.ts';
import type { ModelMemory, ModelsView } from '../core/models-view.ts';
import type { ObserveRequest, RequestObserver } from '../core/request-observer.ts';
import type { ClientKey, Endpoint, Reply } from '../http/call.ts';
import { reportIdentity } from '../http/guard.ts';
import { router } from '../http/router.ts';
import type { Keyring } from '../keys/keyring.ts';
import type { UsageLog } from '../keys/usage-log.ts';
import { modelAlias } from '../models/residence.ts';

interface BatchWorkOptions {
  readonly settings: Settings;
  readonly endpoints: readonly Endpoint[];
  readonly keys?: Pick<Keyring, 'list'> | undefined;
  readonly usage?: Pick<UsageLog, 'overLimit'> | undefined;
  readonly models?: Pick<ModelsView, 'list' | 'byName'> | undefined;
  readonly memory?: Pick<ModelMemory, 'list'> | undefined;
  /** Logs and metrics, which follow these requests as others. */
  readonly observeRequest?: ObserveRequest | undefined;
  /** Milliseconds since the last request of a person; 0 while there is one. */
  readonly idleMs: () => number;
  readonly isStopping: () => boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A batch may evict a model that was not used for this long. */
const spareModelMs = 5 * 60_000;
/** Interval at which limits and loaded models are checked. */
const checkMs = 10_000;
const retryMs = 5000;
/** Server errors after which a retry may succeed. */
const retryable = ['engine-lost', 'engine-silent'];

/** Sends requests of batches through the endpoints, as HTTP requests are, in the name of their sender. */
export function batchWork(options: BatchWorkOptions): BatchWork {
  const { settings, keys, usage, models, memory, idleMs } = options;
  const routes = router(options.endpoints);
  const aliasOf = modelAlias(settings, () => memory?.list() ?? []);

  function keyOf({ key }: BatchSender): ClientKey | undefined {
    if (key === undefined) return undefined;
    const rules = keys?.list().find(({ name }) => name === key);
    const isValid = rules && (rules.expires === undefined || rules.expires > options.now());
    if (!isValid) throw new AppError('unauthorized', {});
    return rules;
  }

  const send: BatchWork['send'] = async ({ endpoint: path, sender }, { body }, { signal, giveWay }) => {
    const endpoint = routes.find('POST', path);
    const id = `req_${randomBytes(12).toString('hex')}`;
    if (!endpoint) throw new Error(`there is no endpoint ${path}`);
    const headers = { 'content-type': 'application/json' };
    const { address: remoteAddress } = sender;
    const bytes = Buffer.from(JSON.stringify(body));
    const watch = options.observeRequest?.({
      id,
      method: 'POST',
      path,
      family: endpoint.dialect.name,
      endpoint: endpoint.path,
      recorded: false,
      remoteAddress,
      headers,
    });
    let failure: AppError | undefined;
    let reply: Reply;
    try {
      const key = keyOf(sender);
      reportIdentity(watch, key ? { type: 'key', key } : { type: 'owner', password: false });
      watch?.received?.(bytes);
      const { scope } = endpoint;
      if (key && scope && !key.scopes.includes(scope)) throw new AppError('scope-missing', { scope });
      refuseStreams(bytes);
      reply = await endpoint.handle({
        id,
        method: 'POST',
        path,
        query: new URLSearchParams(),
        headers,
        body: bytes,
        signal,
        remoteAddress,
        authorized: true,
        ...(key && { key }),
        watch,
        giveWay,
      });
    } catch (error) {
      failure = asAppError(error);
      if (!signal.aborted) watch?.errored?.(failure);
      reply = endpoint.dialect.errorReply(failure, id);
    }
    try {
      const text = await textOf(reply);
      watch?.replied?.(reply.status, reply.headers ?? {});
      watch?.ended?.(signal.aborted ? 'client-gone' : 'sent');
      return { ...retriesOf(reply, failure), status: reply.status, requestId: id, body: tryParseJson(text) ?? text };
    } catch (error) {
      watch?.ended?.('failed');
      throw error;
    }
  };

  /** Whether the model of a request is in memory; also if it does not matter. */
  async function isLoaded(path: string, name: string | undefined): Promise<boolean> {
    const held = (memory?.list() ?? []).filter(({ state }) => ['ready', 'loading'].includes(state.type));
    if (held.length === 0) return true;
    if (path.endsWith('/embeddings') && held.some(({ kind }) => kind === 'embedding')) return true;
    const texts = held.filter(({ kind }) => kind === 'text');
    if (!models?.byName || name === undefined) return texts.length > 0;
    const listed = await listedModel(name);
    const base = listed?.preset?.base ?? listed?.name;
    return texts.some((text) => text.name === base);
  }

  async function listedModel(name: string) {
    const list = (await models?.list()) ?? [];
    const named = (own: string) => findNamed(list, ({ id, name: one, aliases = [] }) => [id, one, ...aliases], own);
    const alias = aliasOf(name);
    return named(name) ?? (alias === undefined ? undefined : named(alias));
  }

  return {
    send,
    delay: async ({ endpoint, sender }, { body }) => {
      const { key } = sender;
      const rules = key === undefined ? undefined : keys?.list().find(({ name }) => name === key);
      if (rules && usage?.overLimit(rules)) return checkMs;
      if (idleMs() >= spareModelMs) return 0;
      const model = typeof body.model === 'string' ? body.model.trim() || undefined : undefined;
      return (await isLoaded(endpoint, model)) ? 0 : checkMs;
    },
    modelProblem: async (path, name) => {
      if (!models?.byName || path.endsWith('/embeddings') || name === undefined || name.trim() === '') return undefined;
      const isKnown = (await listedModel(name.trim())) !== undefined;
      return isKnown ? undefined : new AppError('model-not-found', { model: name }).message;
    },
    maxLineBytes: settings.maxrequestsize * 2 ** 20,
    concurrency: Math.max(2, Math.min(64, settings.parallelrequests)),
    isStopping: options.isStopping,
  };
}

/** A batch has no reader for a stream, and a response in the background is a batch of its own. */
function refuseStreams(body: Buffer): void {
  const sent = tryParseJson(body.toString()) as Readonly<Record<string, unknown>>;
  for (const field of ['stream', 'background'])
    if (sent[field] === true) {
      const details = { feature: `${field} in a batch`, instead: 'leave it out', field };
      throw new AppError('unsupported', details);
    }
}

function retriesOf({ status, headers = {} }: Reply, failure: AppError | undefined): Pick<SentReply, 'retryMs'> {
  const isRetryable = [502, 503, 504].includes(status) || retryable.includes(failure?.code ?? '');
  if (!isRetryable || headers['x-should-retry'] === 'false') return {};
  const seconds = Number(headers['retry-after']);
  return { retryMs: seconds > 0 ? Math.min(seconds * 1000, 60_000) : retryMs };
}

async function textOf(reply: Reply): Promise<string> {
  if ('stream' in reply) return collected(reply.stream);
  return typeof reply.body === 'string' ? reply.body : Buffer.from(reply.body).toString();
}

/** When a person last used the server: only requests that wait in the queue count. */
export function lastUse(now: () => number) {
  let running = 0;
  let last = Number.NEGATIVE_INFINITY;
  const watch = (): RequestObserver => ({
    queued: () => {
      running += 1;
      last = now();
    },
    left: () => {
      running -= 1;
      last = now();
    },
  });
  return { watch, idleMs: () => (running > 0 ? 0 : now() - last) };
}
