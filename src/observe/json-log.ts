import { type ExchangeRecord, perSecond } from './exchange-record.ts';
import type { LogLevel } from './log-tail.ts';
import { printable, shorten } from './printable.ts';
import { errorSentence } from './request-log.ts';
import { type LineFacts, leftOutSentence, streamOutput, Terminal } from './terminal.ts';

/** One line of a log: an object with the time and the level first. */
function logLine(time: Date, { level = 'info', event = 'message', ...fields }: LineFacts): string {
  return JSON.stringify({ time: time.toISOString(), level, event, ...fields });
}

/** The console of `--logformat json`: every line is an object, and there are no status lines. */
export class JsonTerminal extends Terminal {
  constructor(
    stream: Parameters<typeof streamOutput>[0],
    private readonly now: () => Date,
  ) {
    const leftOutLine = (count: number) => logLine(now(), { level: 'warn', text: leftOutSentence(count) });
    super(streamOutput(stream, { moving: false, leftOutLine }));
  }

  /** A line without a text. */
  object(facts: LineFacts): void {
    const { level, ...others } = facts;
    this.log.add(JSON.stringify(others), level);
    this.#write(facts);
  }

  #write(facts: LineFacts): void {
    this.output.write(`${logLine(this.now(), facts)}\n`);
  }

  protected override print(text: string, facts: LineFacts): void {
    // Empty lines only separate.
    if (text !== '') this.#write({ ...facts, text });
  }
}

export type ExchangeLog = ReturnType<typeof exchangeLog>;

/** Writes requests that are over. `content`: whether prompts and replies are shown. */
export function exchangeLog(terminal: Pick<JsonTerminal, 'object'>, { quiet }: { readonly quiet: boolean }) {
  return {
    content: !quiet,
    write: (record: ExchangeRecord): void => terminal.object(requestFacts(record, quiet)),
  };
}

/** The line of a request. Never has keys, queries or headers; prompts and replies only as far as the console shows them. */
export function requestFacts(record: ExchangeRecord, quiet: boolean): LineFacts {
  const { head, status, outcome, error, totals, kinds } = record;
  const worked = record.phases.some(({ name }) => name === 'generation' || name === 'task');
  const refused = !worked && (status ?? 0) >= 400;
  return {
    level: levelOf(record),
    event: refused ? 'refused' : 'request',
    request_id: head.id,
    family: head.family || undefined,
    method: printable(head.method, 20),
    path: head.endpoint || undefined,
    status,
    outcome,
    remote: head.remoteAddress,
    key: record.key,
    model: record.model,
    work: kinds.length > 0 ? kinds : undefined,
    error: error && { code: error.code, message: errorSentence(error, { quiet, limit: 1000 }) },
    duration_ms: rounded(record.durationMs),
    // Work that went on after the response.
    total_ms: record.totalMs - record.durationMs > 1 ? rounded(record.totalMs) : undefined,
    queue_ms: rounded(record.queueMs),
    load_ms: rounded(record.loadMs),
    first_token_ms: rounded(record.firstTokenMs),
    ...(totals.generations > 0 && {
      prompt_ms: rounded(totals.promptMs),
      generation_ms: rounded(totals.generationMs),
      prompt_tokens: totals.promptTokens,
      cached_tokens: totals.cachedTokens,
      completion_tokens: totals.completionTokens,
      prompt_tokens_per_second: rounded(perSecond(totals.processedTokens, totals.promptMs)),
      completion_tokens_per_second: rounded(perSecond(totals.completionTokens, totals.generationMs)),
      finish_reason: record.finishReasons[0],
    }),
    warnings: record.warnings.length > 0 ? record.warnings.map((text) => printable(text)) : undefined,
    ...(quiet ? {} : { prompt: record.prompt, reply: record.reply === '' ? undefined : shorten(record.reply) }),
  };
}

/** Requests that only look something up are of no interest to most. */
function levelOf({ broken, outcome, kinds }: ExchangeRecord): LogLevel {
  if (broken) return 'error';
  if (outcome === 'failed') return 'warn';
  return kinds.length > 0 || outcome === 'client-gone' ? 'info' : 'debug';
}

const rounded = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : Math.round(value * 100) / 100;

/** For errors before there is a console. */
export function failAsJson(stream: { write(text: string): unknown }, now = () => new Date()) {
  return (text: string): void => void stream.write(`${logLine(now(), { level: 'error', text })}\n`);
}
