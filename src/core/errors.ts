type Texts<Names extends string> = Readonly<Record<Names, string>>;
type NoDetails = Record<never, never>;

const withStatus = <Sentences extends Readonly<Record<string, (details: never) => string>>>(
  status: number,
  sentences: Sentences,
) =>
  Object.fromEntries(Object.entries(sentences).map(([code, sentence]) => [code, { status, sentence }])) as {
    readonly [Code in keyof Sentences]: { readonly status: number; readonly sentence: Sentences[Code] };
  };

/** `day`: the next one, such as 2026-11-19. */
type KeyTokensUsed = { tokens: number; day: string; retryAfterSeconds: number };

/** `compacted`: also after the conversation was compacted. */
type ContextOverflow = { promptTokens: number; contextSize: number; compacted?: boolean };

/** `unsupported`: of a kind that has no text for us; `invalid`: damaged, or beyond a limit; `interrupted`: perhaps no fault of its own. */
type UnreadableDocument = {
  name: string;
  reason: string;
  kind: 'unsupported' | 'invalid' | 'interrupted';
  /** Of a request that brings it along. */
  field?: string;
};

/** `field`: that of the request which names it, with what it must be. */
type NotStored = { what: string; id: string; field?: string; expected?: string };

export const evenCompacted = 'even after the conversation was compacted';

/**
 * Every way a request can fail: status and sentence. A protocol turns the code into its own body; nothing else writes an error
 * to a client.
 */
const catalogue = {
  ...withStatus(400, {
    'request-broken': ({ reason }: Texts<'reason'>) => `The request could not be read: ${reason}.`,
    'invalid-json': ({ reason }: Texts<'reason'>) => `The request body is not valid JSON: ${reason}.`,
    'invalid-field': ({ field, expected }: Texts<'field' | 'expected'>) => `${field} must be ${expected}.`,
    unsupported: ({ feature, instead }: Texts<'feature' | 'instead'>) => `${feature} is not possible: ${instead}.`,
    'context-overflow': ({ promptTokens, contextSize, compacted }: ContextOverflow) =>
      `The prompt has ${promptTokens} tokens${compacted ? `, ${evenCompacted}` : ''}, and the context of ${contextSize} must have room for a reply too.`,
    'input-too-long': ({ field, tokens, maxTokens }: { field: string; tokens: number; maxTokens: number }) =>
      `${field} is too large: it has ${tokens} tokens, and this model reads at most ${maxTokens}.`,
    'event-refused': ({ sentence }: { sentence: string; wireCode: string; field?: string }) => sentence,
    'remote-refused': ({ message }: Texts<'message'>) => message,
    'stream-number': ({ number, last }: { number: number; last: number }) =>
      `This stream has no event ${number}: its last one so far is ${last}.`,
    'request-ends-engine': ({ capability }: Texts<'capability'>) =>
      `This request ended the ${capability} engine twice and is not tried again. Change it, or restart the server.`,
  }),
  ...withStatus(401, { unauthorized: (_: NoDetails) => 'Authentication key is missing or invalid.' }),
  ...withStatus(403, {
    'admin-only': (_: NoDetails) =>
      'Only an administrator may do this. Start the server with --admin, and send the key of --adminpassword if it has one.',
    'scope-missing': ({ scope }: Texts<'scope'>) => `This key may not be used here: it lacks the scope ${scope}.`,
    'invitation-unknown': (_: NoDetails) =>
      'This invitation is unknown here. Open the link as it was sent, or ask for a new one.',
    'origin-refused': ({ origin }: Texts<'origin'>) =>
      `${origin === 'null' ? 'Pages without an origin (local files, sandboxed frames)' : `Pages from ${origin}`} may not call ` +
      `this server. Start it with --allowedorigins ${origin} to let them.`,
  }),
  ...withStatus(404, {
    'not-found': ({ method, path }: Texts<'method' | 'path'>) => `There is no ${method} ${path} on this server.`,
    'model-not-found': ({ model }: Texts<'model'>) => `There is no model ${JSON.stringify(model)} on this server.`,
    'not-stored': ({ what, id, field, expected }: NotStored) =>
      `There is no ${what} ${JSON.stringify(id)} on this server.${field && expected ? ` ${field} must be ${expected}.` : ''}`,
    'file-gone': ({ name }: Texts<'name'>) => `${name} is not there any more on the machine of the server.`,
    'stream-missing': ({ id }: Texts<'id'>) =>
      `There is no stream ${JSON.stringify(id)} for this client. Streams are kept until five minutes after their end, and not ` +
      'when the server restarts. Send the request again.',
    'missing-parameter': ({ parameter, expected }: Texts<'parameter' | 'expected'>) =>
      `The query parameter ${parameter} is missing: it must be ${expected}.`,
  }),
  ...withStatus(405, {
    'method-not-allowed': ({ method, allowed }: Texts<'method' | 'allowed'>) =>
      `${method} is not possible here; use ${allowed}.`,
  }),
  ...withStatus(409, {
    stopped: (_: NoDetails) => 'The request was stopped before it was done.',
    'name-taken': ({ name }: Texts<'name'>) =>
      `There is a person ${name} already. Choose another name, or remove the other one first.`,
    'person-expired': ({ name }: Texts<'name'>) =>
      `The key of ${name} has expired: an administrator can give it another end, in the list of people.`,
    'file-replaced': ({ name }: Texts<'name'>) =>
      `${name} is not sent: something else is in its place, such as a link or a pipe. Put the file itself there.`,
    'file-changed': ({ name }: Texts<'name'>) => `${name} changed while it was read. Send the request again.`,
    'not-replayable': ({ reason }: Texts<'reason'>) => `The request cannot be shown in this dialect: ${reason}`,
  }),
  ...withStatus(410, {
    'invitation-used': (_: NoDetails) =>
      'This invitation was used already or is too old: each works once, and for a short time. Ask for a new one.',
    'stream-forgotten': ({ first }: { first: number }) =>
      `The events of this stream before ${first} are no longer kept: it is too long. Read on from there, or send the request again.`,
    'stream-broken': (_: NoDetails) =>
      'This stream was cut off by an error, and there is nothing after these events. Send the request again.',
  }),
  ...withStatus(413, {
    'payload-too-large': ({ limitMegabytes }: { limitMegabytes: number }) =>
      `Payload is too big. Max payload size is ${limitMegabytes}MB.`,
    'file-too-large': ({ limitMegabytes }: { limitMegabytes: number }) =>
      `The file is too large: at most ${limitMegabytes} MB are stored (--filelimit).`,
  }),
  ...withStatus(421, {
    'host-refused': ({ host }: Texts<'host'>) =>
      `This server does not answer to the name ${host}. Start it with --allowedhosts ${host} to allow it.`,
  }),
  ...withStatus(422, {
    'document-unreadable': ({ name, reason }: UnreadableDocument) => `${name} cannot be read: ${reason}.`,
  }),
  ...withStatus(426, {
    'upgrade-required': ({ path }: Texts<'path'>) => `${path} is a WebSocket: open it with ws: or wss:.`,
  }),
  ...withStatus(429, {
    'too-many-tries': ({ retryAfterSeconds }: { retryAfterSeconds: number }) =>
      `Too many wrong tries. Please try again in ${retryAfterSeconds} seconds.`,
    'key-rate-limited': ({ retryAfterSeconds }: { retryAfterSeconds: number }) =>
      `This key is over its rate. Please try again in ${retryAfterSeconds} seconds.`,
    'key-tokens-used': ({ tokens, day, retryAfterSeconds: seconds }: KeyTokensUsed) =>
      `This key has used its ${tokens} tokens of today. It can be used again from ${day} 00:00 on the clock of the server, in ${seconds > 5400 ? `${Math.round(seconds / 3600)} hours` : `${Math.ceil(seconds / 60)} minutes`}.`,
  }),
  ...withStatus(500, {
    'engine-lost': ({ capability }: Texts<'capability'>) =>
      `The ${capability} engine stopped in the middle of this request; it is being started again.`,
    'engine-silent': ({ capability }: Texts<'capability'>) =>
      `The ${capability} engine did not answer any more, and this request was given up.`,
    'compaction-failed': ({ reason }: Texts<'reason'>) =>
      `The conversation could not be compacted: ${reason}. Send the request again, or start a new conversation.`,
    'engine-failed': ({ capability, reason }: Texts<'capability' | 'reason'>) =>
      `The ${capability} engine could not do this: ${reason}.`,
    internal: ({ reason }: Texts<'reason'>) => `Something unexpected went wrong here: ${reason}.`,
  }),
  ...withStatus(502, {
    'remote-answer': ({ backend, reason }: Texts<'backend' | 'reason'>) =>
      `The remote backend at ${backend} sent an answer that cannot be used: ${reason}.`,
    'remote-lost': ({ host, reason }: Texts<'host' | 'reason'>) =>
      `The engine at ${host} broke off in the middle of this reply: ${reason}.`,
  }),
  ...withStatus(503, {
    busy: (_: { retryAfterSeconds: number }) => 'Server is busy; please try again later.',
    'rate-limited': ({ retryAfterSeconds }: { retryAfterSeconds: number }) =>
      `You are sending requests too quickly. Please try again in ${retryAfterSeconds} seconds.`,
    'model-missing': ({ capability, flag, byName }: Texts<'capability' | 'flag'> & { byName?: boolean }) =>
      byName
        ? `No ${capability} model is loaded. Name one of GET /v1/models in the field "model" of the request, or start the server with ${flag}.`
        : `No ${capability} model is loaded. Start the server with ${flag}.`,
    'model-unavailable': ({ sentence }: Texts<'sentence'>) => sentence,
    'model-load-failed': ({ model, reason }: Texts<'model' | 'reason'>) => `${model} could not be loaded: ${reason}`,
    'engine-down': ({ capability, reason }: { capability: string; reason: string; retryAfterSeconds: number }) =>
      `The ${capability} engine is not there: ${reason}. Please try again later.`,
    'remote-down': ({ sentence }: { sentence: string; retryAfterSeconds: number }) => sentence,
    stopping: (_: NoDetails) => 'The server is stopping. Please try again when it is back.',
  }),
  ...withStatus(504, {
    'model-late': ({ model, seconds }: { model: string; seconds: number }) =>
      `${model} was not loaded within ${seconds} s (--reqtimeout). Please try again later.`,
  }),
  ...withStatus(507, {
    'disk-full': (_: NoDetails) =>
      'The disk of the server is full: the files of this request could not be stored. Free some space and send it again.',
    'storage-full': ({ limitMegabytes }: { limitMegabytes: number }) =>
      `All files together would take more than ${limitMegabytes} MB (--filespace). Delete some that are not needed any more.`,
  }),
};

type Catalogue = typeof catalogue;
export type ErrorCode = keyof Catalogue;
type ErrorDetails<Code extends ErrorCode> = Parameters<Catalogue[Code]['sentence']>[0];

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

export const reviveError = ({ code, details }: PlainError): AppError => new AppError(code, details as never);

export function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (isDiskFull(error)) return new AppError('disk-full', {}, { cause: error });
  const reason = error instanceof Error ? error.message : String(error);
  return new AppError('internal', { reason }, { cause: error });
}

/** Also a limit on the size of files. */
export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as { readonly code?: string } | undefined)?.code ?? '');
}

export interface Refused {
  readonly error: AppError;
  readonly status: number;
  /** Both empty for a connection that sent no valid request. */
  readonly method: string;
  readonly path: string;
  readonly remoteAddress: string;
  /** The `x-request-id` of its response; missing for a connection that sent no valid request. */
  readonly id?: string;
}
