type Body = Readonly<Record<string, never>>;

/** Where each dialect writes its sentence; undefined where the form is not its own. */
function sentence(path: string, body: Body): unknown {
  const { error, type, detail } = body as Record<string, unknown> as {
    error?: { message?: unknown; type?: unknown };
    type?: unknown;
    detail?: { msg?: unknown };
  };
  if (path.startsWith('/v1/messages')) return type === 'error' && error?.type ? error.message : undefined;
  if (['/api/chat', '/api/generate', '/api/embed', '/api/embeddings'].includes(path)) return error;
  if (path.startsWith('/api/'))
    return 'success' in body || 'value' in body ? 'a helper says it in numbers' : detail?.msg;
  return error?.message;
}

export interface SeenAnswer {
  readonly status: number;
  /** Its content type. */
  readonly type: string;
  readonly text: string;
}

/** What is wrong with the answer of a dialect to whatever it was sent, if anything. */
export function answerFault(path: string, { status, type, text }: SeenAnswer): string | undefined {
  if (![200, 400, 404, 413].includes(status)) return `status ${status}`;
  if (type.startsWith('text/event-stream')) return text.endsWith('\n\n') ? undefined : 'a frame without an end';
  if (type.startsWith('application/x-ndjson')) {
    const last = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '') as { done?: boolean; error?: string };
    return last.done || last.error ? undefined : 'lines without an end';
  }
  const body = JSON.parse(text) as Body;
  if (status === 200) return undefined;
  const told = sentence(path, body);
  return typeof told === 'string' && told.length > 8 ? undefined : 'no sentence in the form of its dialect';
}
