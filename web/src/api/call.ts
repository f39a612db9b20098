import { addressOf } from './address.ts';
import { Failure, failureOf } from './failure.ts';
import { currentKey, ownerHeaders, requestKey } from './key.svelte.ts';

export interface CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON, except forms. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** The server keeps the stream under this name, whatever happens to the connection. */
  readonly streamName?: string;
  /** Background calls fail with 401 instead of opening the key dialog. */
  readonly background?: boolean;
}

/** A successful response. Opens the key dialog on status 401; throws a `Failure` for other errors. */
export async function call(path: string, options: CallOptions = {}): Promise<Response> {
  const { body, signal, streamName, background = false } = options;
  const method = options.method ?? (body === undefined ? 'GET' : 'POST');
  const key = currentKey();
  const isForm = body instanceof FormData;
  const response = await fetch(addressOf(path), {
    method,
    headers: {
      ...ownerHeaders(),
      ...(key ? { authorization: `Bearer ${key}` } : {}),
      ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
      ...(streamName === undefined ? {} : { 'x-parley-resumable': streamName }),
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  });
  if (response.ok) return response;
  if (response.status === 401 && !background && (await requestKey())) return call(path, options);
  throw await failureOf(response);
}

export async function read<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
  return (await call(path, options)).json() as Promise<Answer>;
}

/** Ends a generation on the server, where it would go on without its connection. */
export function abortGeneration(genkey: string): void {
  call('api/extra/abort', { body: { genkey }, background: true }).catch(() => {});
}

/** Asks the server to change something. Throws its reason if it does not. */
export async function command<Answer extends object>(path: string, body: object): Promise<Answer> {
  const answer = await read<Answer & { readonly success: boolean; readonly error?: string }>(path, { body });
  if (!answer.success) throw new Failure(answer.error ?? '');
  return answer;
}
