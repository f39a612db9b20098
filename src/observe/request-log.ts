import type { AbortCause } from '../core/abort.ts';
import type { AppError, ErrorCode, Refused } from '../core/errors.ts';
import type { CacheMiss, FinishCause, GenerationEvent } from '../core/events.ts';
import { withoutQuote } from '../core/hide-secrets.ts';
import type { GenerationRequest, PromptProgress } from '../core/request.ts';
import { clock, printable, printableText, shorten } from './printable.ts';
import type { RateLimitedLog } from './rate-limited-log.ts';
import type { Terminal } from './terminal.ts';

interface RequestLogOptions {
  readonly terminal: Terminal;
  /** Hides prompts and replies. */
  readonly quiet: boolean;
  /** Requests run in parallel: lines begin with the number of their request. */
  readonly several: boolean;
  /** Turns with long prompts have a line of their own, which says what was not cached. */
  readonly turnsReported?: boolean;
  readonly now: () => Date;
}

/** Tokens from which on a prompt is that of a long conversation. */
export const longPrompt = 1000;

/** Minimum time between two updates of the status line. */
const statusEveryMs = 100;

interface Watched {
  readonly number: number;
  /** Whether it may be batched. */
  readonly shared: boolean;
  readonly text: string;
  readonly requestId?: string | undefined;
}

interface Begun {
  readonly contextSize: number;
  maxTokens: number;
}

/** KoboldCpp's numbers. */
const stopNumbers: Record<FinishCause, number> = { limit: 0, aborted: 0, 'end-token': 1, 'stop-text': 2 };

const abortSentences: Record<AbortCause, string> = {
  'client-gone': 'the client went away',
  key: 'it was stopped by its key',
  'no-key': 'it was stopped by the abort endpoint, without a key',
  cancelled: 'it was cancelled',
  shutdown: 'the server is stopping',
  unread: 'nobody reads it any more',
};

/** A line per finished request, with its speeds; on a terminal also the progress of the running one. */
export class RequestLog {
  #tokens = 0;
  #maxTokens = 0;
  readonly #begun = new WeakMap<Watched, Begun>();
  readonly #logged = new WeakSet<AppError>();
  #statusAt = 0;

  constructor(private readonly options: RequestLogOptions) {}

  /** Whether this error was logged. */
  wasLogged(error: AppError): boolean {
    return this.#logged.has(error);
  }

  sharingRefused(reason: string, { number }: Watched): void {
    this.options.terminal.line(`Batching disabled due to ${reason} (#${number})`);
  }

  begun(request: GenerationRequest, job: Watched, contextSize: number): void {
    this.#tokens = 0;
    this.#begun.set(job, { contextSize: request.maxContext ?? contextSize, maxTokens: 0 });
    if (this.options.quiet) return;
    const { prompt, memory, maxTokens, stop } = request;
    const input = { prompt: shorten(prompt), ...(memory && { memory: shorten(memory) }), max_length: maxTokens, stop };
    this.options.terminal.line();
    this.#line(job, `Input: ${printableText(JSON.stringify(input))}`);
  }

  promptProgress({ done, total }: PromptProgress): void {
    this.options.terminal.status(`Processing Prompt [BATCH] (${done} / ${total} tokens)`);
  }

  aborted(job: Watched, by: AbortCause): void {
    if (this.#begun.has(job)) this.#line(job, `(Generation stopped: ${abortSentences[by]})`);
    else this.options.terminal.line(`#${job.number} left the queue: ${abortSentences[by]}`);
  }

  abortAsked(genkey: string, deferred: boolean): void {
    this.options.terminal.line(deferred ? `Deferred Abort for GenKey: ${printable(genkey)}` : 'Generation Aborted');
  }

  event(event: GenerationEvent, job: Watched): void {
    switch (event.type) {
      case 'start': {
        this.#maxTokens = event.maxTokens;
        const isReported = this.options.turnsReported && event.promptTokens >= longPrompt;
        if (event.miss && !isReported) this.#line(job, cacheMissLine(event.miss, this.options.quiet));
        const begun = this.#begun.get(job);
        if (begun) begun.maxTokens = event.maxTokens;
        return;
      }
      case 'text-delta':
      case 'reasoning-delta':
        this.#generating();
        return;
      case 'warning':
        this.#line(job, `[${printable(event.text, 1000)}]`);
        return;
      case 'finish':
        this.#finished(event, job);
        return;
      case 'error':
        this.#logged.add(event.error);
        this.#line(job, `Request failed: ${printable(event.error.message, 1000)}${named(job.requestId)}`);
        return;
    }
  }

  #finished(event: GenerationEvent & { type: 'finish' }, job: Watched): void {
    const begun = this.#begun.get(job);
    // A request that never ran has no figures; its abort was logged.
    if (!begun) return;
    if (event.cause === 'end-token') this.#line(job, '(EOS token triggered!)');
    if (event.cause === 'stop-text') {
      this.#line(job, `(Stop sequence triggered: ${printable(JSON.stringify(event.stopText))})`);
    }
    this.#line(job, this.#summary(event, job, begun));
    if (!this.options.quiet) this.#line(job, `Output: ${printableText(shorten(job.text))}`);
  }

  #line({ number }: Watched, text: string): void {
    this.options.terminal.line(this.options.several ? `#${number} ${text}` : text);
  }

  #generating(): void {
    this.#tokens += 1;
    if (!this.options.terminal.interactive) return;
    const now = this.options.now().getTime();
    // Either way: the clock may be set back.
    if (Math.abs(now - this.#statusAt) < statusEveryMs) return;
    this.#statusAt = now;
    this.options.terminal.status(`Generating (${this.#tokens} / ${this.#maxTokens} tokens)`);
  }

  #summary({ usage, timings, cause }: GenerationEvent & { type: 'finish' }, job: Watched, begun: Begun): string {
    const { promptTokens, completionTokens } = usage;
    const { initMs, promptMs, generationMs, processedTokens } = timings;
    const { number, shared } = job;
    const used = `CtxLimit:${promptTokens + completionTokens}/${begun.contextSize}`;
    const total = initMs + promptMs + generationMs;
    return [
      `[${clock(this.options.now())}] ${shared ? `BatchRequest:${number}` : used}`,
      `Init:${seconds(initMs)}`,
      `Processed:${processedTokens} in ${seconds(promptMs)} (${speed(processedTokens, promptMs)})`,
      `Generated:${completionTokens}/${begun.maxTokens} in ${seconds(generationMs)} (${speed(completionTokens, generationMs)})`,
      `Total:${seconds(total)}`,
      ...(shared ? [`Stop:${stopNumbers[cause]}`] : []),
    ].join(', ');
  }
}

/** Why a prompt is processed again; usually a line near its start that changes each time. */
function cacheMissLine({ partedAt, promptTokens, reusedTokens, kept, wanted }: CacheMiss, quiet: boolean): string {
  const difference = quiet
    ? ''
    : `: ${printable(JSON.stringify(wanted))} instead of ${printable(JSON.stringify(kept))}`;
  return `[Cache: ${reusedTokens} of ${promptTokens} tokens reused, the prompt differs at token ${partedAt}${difference}]`;
}

/** The id that the client has too (`x-request-id`). */
const named = (requestId: string | undefined): string => (requestId === undefined ? '' : ` (${requestId})`);

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)}s`;
const speed = (tokens: number, ms: number): string => `${ms > 0 ? ((tokens * 1000) / ms).toFixed(2) : '0.00'}T/s`;

/** A line per task of the other engine kinds: its duration, or its error. */
export class TaskLog {
  constructor(
    private readonly terminal: Terminal,
    /** The word for each kind. */
    private readonly nouns: Readonly<Record<string, string>>,
  ) {}

  ended(
    {
      number,
      kind,
      requestId,
      isBackground = false,
    }: Pick<Watched, 'number' | 'requestId'> & {
      readonly kind: string;
      readonly isBackground?: boolean;
    },
    milliseconds: number,
    error: AppError | undefined,
  ): void {
    // Its sender reports failures.
    if (isBackground) return;
    const what = `${this.nouns[kind] ?? kind} #${number}`;
    const seconds = `${(milliseconds / 1000).toFixed(2)} s`;
    if (!error) this.terminal.line(`${what} took ${seconds}`);
    else if (error.code === 'stopped') this.terminal.line(`${what} was stopped after ${seconds}`);
    else this.terminal.line(`${what} failed after ${seconds}: ${printable(error.message, 1000)}${named(requestId)}`);
  }
}

interface RefusalLogOptions {
  readonly log: RateLimitedLog;
  /** Hides content of requests. */
  readonly quiet: boolean;
  readonly now: () => Date;
  /** Whether the request log has this error. */
  readonly wasLogged: (error: AppError) => boolean;
}

/** The flag that is concerned, if the message does not name it. */
const hints: Partial<Record<ErrorCode, string>> = {
  busy: 'all places of --multiuser are taken',
  'rate-limited': '--ratelimit',
  unauthorized: 'the key is that of --password or one of --keyfile',
  'payload-too-large': '--maxrequestsize allows more',
};

const maxLoggedNames = 1000;

/** A line per rejected request; of those that an unknown host name or origin caused, a line per name. */
export class RefusalLog {
  readonly #loggedNames = new Set<string>();

  constructor(private readonly options: RefusalLogOptions) {}

  refused(refused: Refused): void {
    const { log, now, wasLogged, quiet } = this.options;
    if (wasLogged(refused.error) || this.#isRepeated(refused.error)) return;
    const { error, status, method, path, remoteAddress, id } = refused;
    const what = method === '' ? 'a connection' : `${method} ${printable(path)}`;
    const hint = hints[error.code];
    const line = `Refused ${what} from ${remoteAddress || 'nowhere'}: ${status} ${errorSentence(error, { quiet })}`;
    log.log(error.code, `[${clock(now())}] ${line}${hint ? ` (${hint})` : ''}${named(id)}`);
  }

  #isRepeated({ code, message }: AppError): boolean {
    if (code !== 'host-refused' && code !== 'origin-refused') return false;
    const names = this.#loggedNames;
    if (names.has(message)) return true;
    if (names.size >= maxLoggedNames) names.clear();
    names.add(message);
    return false;
  }
}

/** The message of the JSON parser quotes the request, which may hold a token. */
export function errorSentence(error: AppError, { quiet, limit }: { readonly quiet: boolean; readonly limit?: number }) {
  if (error.code !== 'invalid-json') return printable(error.message, limit);
  if (quiet) return 'The request body is not valid JSON.';
  return `${printable(withoutQuote(error.message).replace(/\.$/, ''), limit)}.`;
}
