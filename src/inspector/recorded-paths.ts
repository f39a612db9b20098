import type { ExchangeHead } from '../core/exchange-watch.ts';

/** Families that are no API of models: pages and their files, documents, administration. */
const silentFamilies: ReadonlySet<string> = new Set(['pages', 'noscript', 'fidelity', 'admin', 'launcher']);

/** Endpoints that clients call again and again while they wait, or that only keep what clients store. */
const silentEndpoints: ReadonlySet<string> = new Set([
  '/api/extra/generate/check',
  '/api/extra/tokencount',
  '/v1/chat/completions/input_tokens',
  '/chat/completions/input_tokens',
  '/api/extra/last_logprobs',
  '/api/extra/multiplayer/status',
  '/api/extra/multiplayer/getstory',
  '/api/extra/multiplayer/setstory',
  '/api/extra/sync/list',
  '/api/extra/sync/load',
  '/api/extra/sync/save',
  '/api/extra/data/list',
  '/api/extra/data/load',
  '/api/extra/data/save',
  '/api/extra/requests',
  '/api/extra/requests/',
]);

/** Paths of APIs: a wrong one is worth to be seen. */
const apiPath = /^\/(v1|api|sdapi)\//;

/**
 * Whether a request is recorded: those that send something to an API, and those of any kind for a path of an API that does not exist.
 * Reading (`GET /v1/models`, `/health`, `/metrics`, pages and their files) is not: browsers and apps do it all the time.
 */
export function isRecorded({ method, path, family, endpoint }: ExchangeHead): boolean {
  if (silentFamilies.has(family) || silentEndpoints.has(endpoint)) return false;
  // Each response of a spoken conversation.
  if (family === 'realtime') return true;
  const unknown = endpoint === '' || endpoint === '/v1/';
  if (unknown) return method !== 'OPTIONS' && apiPath.test(path);
  return method === 'POST' || method === 'PUT' || method === 'PATCH' || method === 'DELETE';
}
