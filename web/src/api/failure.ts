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
    const found = messageOf(fields[name]);
    if (found !== undefined) return found;
  }
  return undefined;
}

const statusMessages: Readonly<Record<number, string>> = {
  401: 'The server needs an API key.',
  403: 'The server does not allow this request.',
  404: 'The server does not support this request.',
  413: 'The request is too large for this server.',
  429: 'Too many requests. Wait a moment and try again.',
  503: 'The server is busy. Try again in a moment.',
};

export async function failureOf(response: Response): Promise<Failure> {
  const text = await response.text().catch(() => '');
  const said = response.headers.get('content-type')?.includes('json') ? messageOf(parsed(text)) : undefined;
  const wait = Number(response.headers.get('retry-after') ?? Number.NaN);
  const message = said ?? statusMessages[response.status] ?? `The server returned status ${response.status}.`;
  return new Failure(message, response.status, Number.isFinite(wait) ? wait : undefined);
}

/** A message for people about anything that was thrown. */
export function sentenceOf(thrown: unknown): string {
  if (thrown instanceof Failure) return thrown.message;
  if (thrown instanceof TypeError) return 'The server is not responding. Check that it is running.';
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
