/** Of our own making, where a server can no longer answer itself. */
export const cutCode = -32_099;

/** What an error of the client library means for the connection. */
export interface Loss {
  readonly reason: string;
  /** Of JSON-RPC, where the server itself has answered with an error. */
  readonly code?: number;
  readonly data?: unknown;
  /** The server is gone, or has forgotten the session. */
  readonly lost: boolean;
  /** Nothing of the request was taken in. */
  readonly untouched: boolean;
  /** An HTTP server does not want to be greeted in this way. */
  readonly refused: boolean;
}

/** By the form of the error and not by its class: what is thrown depends on where in the library it happened. */
export function lossOf(error: unknown): Loss {
  const { code, status, data, message, cause } = fields(error);
  const reason = reasonOf(message, cause);
  if (typeof code === 'number') {
    return { reason: message, code, data, lost: code === cutCode, untouched: false, refused: false };
  }
  const answered = status ?? fields(data).status;
  if (typeof answered === 'number') {
    return {
      reason: `it answered with HTTP status ${answered}`,
      // 404 is how a server says that it does not know the session; the others speak for one that is not there.
      lost: answered === 404 || [502, 503, 504].includes(answered),
      untouched: answered === 404,
      refused: answered >= 400 && answered < 500,
    };
  }
  const refusedConnection = causeCodes(error).includes('ECONNREFUSED');
  const lost = code === 'CONNECTION_CLOSED' || code === 'NOT_CONNECTED' || refusedConnection || isNetworkFailure(error);
  return { reason, lost, untouched: refusedConnection, refused: false };
}

function fields(value: unknown): {
  readonly code?: unknown;
  readonly status?: unknown;
  readonly data?: unknown;
  readonly message: string;
  readonly cause?: unknown;
} {
  if (typeof value !== 'object' || value === null) return { message: String(value) };
  return { message: '', ...value, ...(value instanceof Error ? { message: value.message, cause: value.cause } : {}) };
}

/** `fetch failed` alone says nothing; what stands behind it does. */
function reasonOf(message: string, cause: unknown): string {
  const behind = cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code ?? '') : '';
  return behind === '' ? message : `${message} (${behind})`;
}

function causeCodes(error: unknown): readonly unknown[] {
  const codes: unknown[] = [];
  let one: unknown = error;
  for (let depth = 0; depth < 5 && typeof one === 'object' && one !== null; depth += 1) {
    codes.push((one as { code?: unknown }).code);
    const { errors, cause } = one as { errors?: unknown; cause?: unknown };
    if (Array.isArray(errors)) codes.push(...errors.map((each: { code?: unknown } | null) => each?.code));
    one = cause;
  }
  return codes;
}

/** The way in which `fetch` says that there was no answer at all. */
function isNetworkFailure(error: unknown): boolean {
  return error instanceof TypeError && /fetch failed|terminated|network/i.test(error.message);
}
