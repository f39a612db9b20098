import { AppError } from '../../../core/errors.ts';
import type { RemoteAddress } from './address.ts';

/** The server at the other end, as far as HTTP goes. */
export interface Web {
  readonly url: string;
  /** JSON; undefined where the server does not have this path. */
  find(path: string): Promise<unknown>;
  get(path: string, signal?: AbortSignal): Promise<unknown>;
  bytes(path: string, signal: AbortSignal): Promise<Uint8Array>;
  post(path: string, body: object, signal?: AbortSignal): Promise<unknown>;
  upload(path: string, form: FormData, signal: AbortSignal): Promise<unknown>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Nobody waits longer for a list. */
const listMs = 15_000;
/** More of what a server says about its trouble helps nobody. */
const longestWords = 300;

export function webOf({ url, key }: RemoteAddress, ask: typeof fetch = fetch): Web {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const reach = async (path: string, init: RequestInit): Promise<Response> => {
    try {
      return await ask(`${url}${path}`, { ...init, headers: { ...headers, ...init.headers } });
    } catch (error) {
      init.signal?.throwIfAborted();
      throw away(url, error);
    }
  };
  const answered = async (path: string, init: RequestInit): Promise<Response> => {
    const reply = await reach(path, init);
    if (reply.ok) return reply;
    throw refused(url, reply.status, await reply.text().catch(() => ''));
  };
  const json = async (reply: Response): Promise<unknown> => {
    try {
      return await reply.json();
    } catch (error) {
      throw failed(`${url} answered with something that is no JSON`, error);
    }
  };
  const posting = (body: object): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return {
    url,
    headers,
    find: async (path) => {
      const reply = await reach(path, { signal: AbortSignal.timeout(listMs) });
      if (reply.status === 401 || reply.status === 403) throw refused(url, reply.status, '');
      return reply.ok ? reply.json().catch(() => undefined) : undefined;
    },
    get: async (path, signal = AbortSignal.timeout(listMs)) => json(await answered(path, { signal })),
    bytes: async (path, signal) => new Uint8Array(await (await answered(path, { signal })).arrayBuffer()),
    post: async (path, body, signal) => json(await answered(path, { ...posting(body), ...(signal && { signal }) })),
    upload: async (path, form, signal) => json(await answered(path, { method: 'POST', body: form, signal })),
  };
}

function away(url: string, error: unknown): AppError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as NodeJS.ErrnoException).code ?? (cause instanceof Error ? cause.message : String(cause));
  const reason = `${url} (--sdremote) could not be reached (${code})`;
  return new AppError('engine-down', { capability: 'image', reason, retryAfterSeconds: 10 }, { cause: error });
}

function refused(url: string, status: number, body: string): AppError {
  if (status === 401 || status === 403) return failed(`${url} (--sdremote) wants another key; give it as key=env:NAME`);
  return failed(`${url} (--sdremote) answered with ${status}${wordsOf(body)}`);
}

function failed(reason: string, cause?: unknown): AppError {
  return new AppError('engine-failed', { capability: 'image', reason }, { cause });
}

/** Servers of these kinds put their sentence in various places. */
function wordsOf(body: string): string {
  const said = sentenceIn(body).replace(/\s+/g, ' ').trim().replace(/\.$/, '').slice(0, longestWords);
  return said === '' ? '' : `: ${said}`;
}

function sentenceIn(body: string): string {
  try {
    const { detail, error, errors, message } = JSON.parse(body) as Record<string, unknown>;
    const places = [(detail as { msg?: unknown } | undefined)?.msg, detail, errors, message];
    const inside = (error as { message?: unknown } | undefined)?.message;
    return [...places, inside, error].find((each): each is string => typeof each === 'string' && each !== '') ?? '';
  } catch {
    return '';
  }
}
