import { isObject } from '../core/json.ts';

/** A Parley that answers on this machine. */
export type RunningServer = NonNullable<Awaited<ReturnType<typeof runningServer>>>;

const timeoutMs = 5000;
/** The one model of a server has this prefix for clients of KoboldCpp; every name means it. */
const ownPrefix = /^koboldcpp\//;

/** The Parley at this address; undefined if nothing or another program answers there. Throws if it needs a key. */
export async function runningServer(url: string, key: string | undefined, ask: typeof fetch = fetch) {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const get = async (path: string) => {
    const reply = await ask(`${url}${path}`, { headers, signal: AbortSignal.timeout(timeoutMs) });
    return { status: reply.status, body: (await reply.json().catch(() => undefined)) as unknown };
  };
  const version = await get('/api/extra/version').catch(() => undefined);
  if (!isObject(version?.body) || !isObject(version.body.parley)) return undefined;
  if (version.body.protected === true && key === undefined)
    throw new Error(`The server at ${url} has a password: add --password KEY.`);
  const list = await get('/v1/models');
  if (list.status === 401 || list.status === 403) throw new Error(`The server at ${url} refused the password.`);
  const { body: context } = await get('/api/extra/true_max_context_length');
  const entries = isObject(list.body) && Array.isArray(list.body.data) ? (list.body.data as unknown[]) : [];
  // The default model comes first.
  const models = entries.flatMap((entry) =>
    isObject(entry) && typeof entry.id === 'string' ? [entry.id.replace(ownPrefix, '')] : [],
  );
  const contextSize = isObject(context) && typeof context.value === 'number' ? context.value : 0;
  return { url, models, contextSize, webSearch: version.body.websearch === true };
}
