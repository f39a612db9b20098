import { asAppError } from '../../core/errors.ts';
import type { Call, Endpoint } from '../../http/call.ts';
import { queryOf, router } from '../../http/router.ts';
import { callOf } from './doubles.ts';

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly bytes: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came.
  readonly json: any;
}

/** Asks whoever answers this target, as the server would: refusals are in the shape of their dialect. */
export async function asked(
  endpoints: readonly Endpoint[],
  method: string,
  target: string,
  body: unknown = '',
  own: Partial<Call> = {},
): Promise<Answered> {
  const path = target.replace(/\?.*$/, '');
  const endpoint = router(endpoints).find(method, path);
  if (!endpoint) throw new Error(`nobody answers ${method} ${path}`);
  const call = callOf(path, body, { method, query: queryOf(target), ...own });
  const reply = await Promise.resolve()
    .then(() => endpoint.handle(call))
    .catch((error: unknown) => endpoint.dialect.errorReply(asAppError(error)));
  const pieces: Buffer[] = [];
  if ('stream' in reply) for await (const piece of reply.stream) pieces.push(Buffer.from(piece));
  else pieces.push(Buffer.from(reply.body));
  const bytes = Buffer.concat(pieces);
  const text = bytes.toString('utf8');
  const isJson = /^application\/json/.test(reply.headers?.['content-type'] ?? '');
  return {
    status: reply.status,
    headers: reply.headers ?? {},
    text,
    bytes,
    json: isJson ? JSON.parse(text) : undefined,
  };
}
