/**
 * Every way a request can fail, said once: status and sentence. A protocol turns the code into its own body;
 * nothing else writes an error to a client.
 */
const catalogue = {
  busy: {
    status: 503,
    sentence: (_: { retryAfterSeconds: number }) => 'Server is busy; please try again later.',
  },
  'rate-limited': {
    status: 503,
    sentence: ({ retryAfterSeconds }: { retryAfterSeconds: number }) =>
      `You are sending requests too quickly. Please try again in ${retryAfterSeconds} seconds.`,
  },
  unauthorized: {
    status: 401,
    sentence: (_: Record<never, never>) => 'Authentication key is missing or invalid.',
  },
  'origin-refused': {
    status: 403,
    sentence: ({ origin }: { origin: string }) =>
      `Pages from ${origin} may not call this server. Start it with --allowedorigins ${origin} to let them.`,
  },
  'host-refused': {
    status: 421,
    sentence: ({ host }: { host: string }) =>
      `This server does not answer to the name ${host}. Start it with --allowedhosts ${host} to allow it.`,
  },
  'not-found': {
    status: 404,
    sentence: ({ method, path }: { method: string; path: string }) => `There is no ${method} ${path} on this server.`,
  },
  'model-not-found': {
    status: 404,
    sentence: ({ model }: { model: string }) => `There is no model ${JSON.stringify(model)} on this server.`,
  },
  'not-stored': {
    status: 404,
    sentence: ({ what, id }: { what: string; id: string }) =>
      `There is no ${what} ${JSON.stringify(id)} on this server.`,
  },
  'missing-parameter': {
    status: 404,
    sentence: ({ parameter, expected }: { parameter: string; expected: string }) =>
      `The query parameter ${parameter} is missing: it must be ${expected}.`,
  },
  'method-not-allowed': {
    status: 405,
    sentence: ({ method, allowed }: { method: string; allowed: string }) =>
      `${method} is not possible here; use ${allowed}.`,
  },
  'payload-too-large': {
    status: 413,
    sentence: ({ limitMegabytes }: { limitMegabytes: number }) =>
      `Payload is too big. Max payload size is ${limitMegabytes}MB.`,
  },
  'disk-full': {
    status: 507,
    sentence: (_: Record<never, never>) =>
      'The disk of the server is full: the files of this request could not be stored. Free some space and send it again.',
  },
  'request-broken': {
    status: 400,
    sentence: ({ reason }: { reason: string }) => `The request could not be read: ${reason}.`,
  },
  'invalid-json': {
    status: 400,
    sentence: ({ reason }: { reason: string }) => `The request body is not valid JSON: ${reason}.`,
  },
  'invalid-field': {
    status: 400,
    sentence: ({ field, expected }: { field: string; expected: string }) => `${field} must be ${expected}.`,
  },
  unsupported: {
    status: 400,
    sentence: ({ feature, instead }: { feature: string; instead: string }) => `${feature} is not possible: ${instead}.`,
  },
  'context-overflow': {
    status: 400,
    sentence: ({ promptTokens, contextSize }: { promptTokens: number; contextSize: number }) =>
      `The prompt has ${promptTokens} tokens, and the context of ${contextSize} must have room for a reply too.`,
  },
  'input-too-long': {
    status: 400,
    sentence: ({ field, tokens, mostTokens }: { field: string; tokens: number; mostTokens: number }) =>
      `${field} is too large: it has ${tokens} tokens, and this model reads at most ${mostTokens}.`,
  },
  'model-missing': {
    status: 503,
    sentence: ({ capability, flag }: { capability: string; flag: string }) =>
      `No ${capability} model is loaded. Start the server with ${flag}.`,
  },
  'model-unavailable': {
    status: 503,
    sentence: ({ sentence }: { sentence: string }) => sentence,
  },
  'model-load-failed': {
    status: 503,
    sentence: ({ model, reason }: { model: string; reason: string }) => `${model} could not be loaded: ${reason}`,
  },
  'model-late': {
    status: 504,
    sentence: ({ model, seconds }: { model: string; seconds: number }) =>
      `${model} was not loaded within ${seconds} s (--reqtimeout). Please try again later.`,
  },
  stopped: {
    status: 409,
    sentence: (_: Record<never, never>) => 'The request was stopped before it was done.',
  },
  'engine-lost': {
    status: 500,
    sentence: ({ capability }: { capability: string }) =>
      `The ${capability} engine stopped in the middle of this request; it is being started again.`,
  },
  'engine-silent': {
    status: 500,
    sentence: ({ capability }: { capability: string }) =>
      `The ${capability} engine did not answer any more, and this request was given up.`,
  },
  'engine-down': {
    status: 503,
    sentence: ({ capability, reason }: { capability: string; reason: string; retryAfterSeconds: number }) =>
      `The ${capability} engine is not there: ${reason}. Please try again later.`,
  },
  'remote-down': {
    status: 503,
    sentence: ({ sentence }: { sentence: string; retryAfterSeconds: number }) => sentence,
  },
  'remote-answer': {
    status: 502,
    sentence: ({ backend, reason }: { backend: string; reason: string }) =>
      `The remote backend at ${backend} sent an answer that cannot be used: ${reason}.`,
  },
  'remote-refused': {
    status: 400,
    sentence: ({ message }: { message: string }) => message,
  },
  'remote-lost': {
    status: 502,
    sentence: ({ host, reason }: { host: string; reason: string }) =>
      `The engine at ${host} broke off in the middle of this reply: ${reason}.`,
  },
  'request-ends-engine': {
    status: 400,
    sentence: ({ capability }: { capability: string }) =>
      `This request ended the ${capability} engine twice and is not tried again. Change it, or restart the server.`,
  },
  'engine-failed': {
    status: 500,
    sentence: ({ capability, reason }: { capability: string; reason: string }) =>
      `The ${capability} engine could not do this: ${reason}.`,
  },
  internal: {
    status: 500,
    sentence: ({ reason }: { reason: string }) => `Something unexpected went wrong here: ${reason}.`,
  },
} satisfies Record<string, { status: number; sentence: (details: never) => string }>;

type Catalogue = typeof catalogue;
export type ErrorCode = keyof Catalogue;
export type ErrorDetails<Code extends ErrorCode> = Parameters<Catalogue[Code]['sentence']>[0];

export class AppError<Code extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'AppError';
  readonly status: number;

  constructor(
    readonly code: Code,
    readonly details: ErrorDetails<Code>,
    options?: ErrorOptions,
  ) {
    super(catalogue[code].sentence(details as never), options);
    this.status = catalogue[code].status;
  }
}

/** What crosses a process boundary; `reviveError` makes the error again on the other side. */
export interface PlainError {
  readonly code: ErrorCode;
  readonly details: unknown;
}

export function plainError(error: unknown): PlainError {
  const { code, details } = asAppError(error);
  return { code, details };
}

export function reviveError({ code, details }: PlainError): AppError {
  return new AppError(code, details as never);
}

/** Whatever was thrown, as an error that has a status and a sentence. */
export function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new AppError('internal', { reason }, { cause: error });
}
