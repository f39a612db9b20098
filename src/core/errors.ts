const error = <Details>(status: number, sentence: (details: Details) => string) => ({ status, sentence });

type NoDetails = Record<never, never>;

/**
 * Every way a request can fail: status and sentence. A protocol turns the code into its own body; nothing else writes an error
 * to a client.
 */
const catalogue = {
  busy: error(503, (_: { retryAfterSeconds: number }) => 'Server is busy; please try again later.'),
  'rate-limited': error(
    503,
    ({ retryAfterSeconds }: { retryAfterSeconds: number }) =>
      `You are sending requests too quickly. Please try again in ${retryAfterSeconds} seconds.`,
  ),
  unauthorized: error(401, (_: NoDetails) => 'Authentication key is missing or invalid.'),
  'origin-refused': error(
    403,
    ({ origin }: { origin: string }) =>
      `Pages from ${origin} may not call this server. Start it with --allowedorigins ${origin} to let them.`,
  ),
  'host-refused': error(
    421,
    ({ host }: { host: string }) =>
      `This server does not answer to the name ${host}. Start it with --allowedhosts ${host} to allow it.`,
  ),
  'not-found': error(
    404,
    ({ method, path }: { method: string; path: string }) => `There is no ${method} ${path} on this server.`,
  ),
  'model-not-found': error(
    404,
    ({ model }: { model: string }) => `There is no model ${JSON.stringify(model)} on this server.`,
  ),
  'not-stored': error(
    404,
    ({ what, id }: { what: string; id: string }) => `There is no ${what} ${JSON.stringify(id)} on this server.`,
  ),
  'missing-parameter': error(
    404,
    ({ parameter, expected }: { parameter: string; expected: string }) =>
      `The query parameter ${parameter} is missing: it must be ${expected}.`,
  ),
  'method-not-allowed': error(
    405,
    ({ method, allowed }: { method: string; allowed: string }) => `${method} is not possible here; use ${allowed}.`,
  ),
  'payload-too-large': error(
    413,
    ({ limitMegabytes }: { limitMegabytes: number }) => `Payload is too big. Max payload size is ${limitMegabytes}MB.`,
  ),
  'disk-full': error(
    507,
    (_: NoDetails) =>
      'The disk of the server is full: the files of this request could not be stored. Free some space and send it again.',
  ),
  'request-broken': error(400, ({ reason }: { reason: string }) => `The request could not be read: ${reason}.`),
  'invalid-json': error(400, ({ reason }: { reason: string }) => `The request body is not valid JSON: ${reason}.`),
  'invalid-field': error(
    400,
    ({ field, expected }: { field: string; expected: string }) => `${field} must be ${expected}.`,
  ),
  unsupported: error(
    400,
    ({ feature, instead }: { feature: string; instead: string }) => `${feature} is not possible: ${instead}.`,
  ),
  'context-overflow': error(
    400,
    ({ promptTokens, contextSize }: { promptTokens: number; contextSize: number }) =>
      `The prompt has ${promptTokens} tokens, and the context of ${contextSize} must have room for a reply too.`,
  ),
  'input-too-long': error(
    400,
    ({ field, tokens, mostTokens }: { field: string; tokens: number; mostTokens: number }) =>
      `${field} is too large: it has ${tokens} tokens, and this model reads at most ${mostTokens}.`,
  ),
  'model-missing': error(
    503,
    ({ capability, flag }: { capability: string; flag: string }) =>
      `No ${capability} model is loaded. Start the server with ${flag}.`,
  ),
  'model-unavailable': error(503, ({ sentence }: { sentence: string }) => sentence),
  'model-load-failed': error(
    503,
    ({ model, reason }: { model: string; reason: string }) => `${model} could not be loaded: ${reason}`,
  ),
  'model-late': error(
    504,
    ({ model, seconds }: { model: string; seconds: number }) =>
      `${model} was not loaded within ${seconds} s (--reqtimeout). Please try again later.`,
  ),
  stopped: error(409, (_: NoDetails) => 'The request was stopped before it was done.'),
  'engine-lost': error(
    500,
    ({ capability }: { capability: string }) =>
      `The ${capability} engine stopped in the middle of this request; it is being started again.`,
  ),
  'engine-silent': error(
    500,
    ({ capability }: { capability: string }) =>
      `The ${capability} engine did not answer any more, and this request was given up.`,
  ),
  'engine-down': error(
    503,
    ({ capability, reason }: { capability: string; reason: string; retryAfterSeconds: number }) =>
      `The ${capability} engine is not there: ${reason}. Please try again later.`,
  ),
  'remote-down': error(503, ({ sentence }: { sentence: string; retryAfterSeconds: number }) => sentence),
  'remote-answer': error(
    502,
    ({ backend, reason }: { backend: string; reason: string }) =>
      `The remote backend at ${backend} sent an answer that cannot be used: ${reason}.`,
  ),
  'remote-refused': error(400, ({ message }: { message: string }) => message),
  'remote-lost': error(
    502,
    ({ host, reason }: { host: string; reason: string }) =>
      `The engine at ${host} broke off in the middle of this reply: ${reason}.`,
  ),
  'request-ends-engine': error(
    400,
    ({ capability }: { capability: string }) =>
      `This request ended the ${capability} engine twice and is not tried again. Change it, or restart the server.`,
  ),
  'engine-failed': error(
    500,
    ({ capability, reason }: { capability: string; reason: string }) =>
      `The ${capability} engine could not do this: ${reason}.`,
  ),
  internal: error(500, ({ reason }: { reason: string }) => `Something unexpected went wrong here: ${reason}.`),
};

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

/** An error as sent between processes; `reviveError` restores it. */
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

/** Any thrown value as an error with a status and a sentence. */
export function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new AppError('internal', { reason }, { cause: error });
}

/** A rejected request. */
export interface Refused {
  readonly error: AppError;
  readonly status: number;
  /** Both empty for a connection that sent no valid request. */
  readonly method: string;
  readonly path: string;
  readonly remoteAddress: string;
}
