import { jsonIn } from './loose.ts';
import { texts } from './texts.ts';

/** A failed call, with a message for people; `status` is missing if there was no response. */
export class Failure extends Error {
  readonly status: number | undefined;
  /** `Retry-After`, in seconds. */
  readonly retryAfter: number | undefined;

  constructor(message: string, status?: number, retryAfter?: number) {
    super(message);
    this.name = 'Failure';
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** The error message, wherever the API puts it: `error.message`, `error`, `detail.msg`, `detail[0].msg`, `message`. */
export function messageOf(body: unknown): string | undefined {
  if (typeof body === 'string') return body.trim() === '' ? undefined : body;
  if (Array.isArray(body)) return messageOf(body[0]);
  if (typeof body !== 'object' || body === null) return undefined;
  const fields = body as Record<string, unknown>;
  for (const name of ['error', 'detail', 'message', 'msg']) {
    const message = messageOf(fields[name]);
    if (message !== undefined) return message;
  }
  return undefined;
}

export async function failureOf(response: Response): Promise<Failure> {
  const text = await response.text().catch(() => '');
  const serverMessage = response.headers.get('content-type')?.includes('json') ? messageOf(jsonIn(text)) : undefined;
  const wait = Number(response.headers.get('retry-after') ?? Number.NaN);
  const message = serverMessage ?? texts.status[response.status] ?? texts.otherStatus(response.status);
  return new Failure(message, response.status, Number.isFinite(wait) ? wait : undefined);
}

/** A message for people about anything that was thrown. */
export function sentenceOf(thrown: unknown): string {
  if (thrown instanceof Failure) return thrown.message;
  if (thrown instanceof TypeError) return texts.unreachable;
  return thrown instanceof Error ? thrown.message : String(thrown);
}
