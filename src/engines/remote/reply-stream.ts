import { ReasoningSplitter } from '../../chat/reasoning.ts';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent, Timings, TokenChoice, TokenLogprob, Usage } from '../../core/events.ts';
import { tryParseJson } from '../../core/json.ts';
import { listAt, numberAt, objectAt, textAt, valueAt } from './json.ts';

export interface ReplyStreamOptions extends ThinkingOptions {
  readonly form: 'chat' | 'text';
  readonly host: string;
  /** Token limit of the request. */
  readonly maxTokens: number;
  readonly newCallId: () => string;
  readonly now: () => number;
  /** Called for each `prompt_progress`, before the events of its chunk. */
  readonly reading?: (progress: RemoteProgress) => void;
}

/** How far a backend has processed the prompt; those from its cache count as processed. */
export type RemoteProgress = Readonly<Record<'total' | 'cached' | 'processed', number>>;

/** How far a reply may exceed its token limit. Only ends runaway replies: chunks are not tokens, and some count no reasoning. */
const slack = { factor: 2, tokens: 64, thinkingTokens: 65_536, characters: 65_536 };
const shortToken = 4;
const longToken = 256;

type Ending = Pick<GenerationEvent & { readonly type: 'finish' }, 'reason' | 'cause' | 'stopText'>;
type Fields = ReturnType<typeof objectAt>;

/** An error event within a stream, with its status if it has one. */
export class StreamError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** Converts the chunks of a reply to neutral events, except for the start event. An invalid chunk ends the reply. */
export class ReplyStream {
  readonly #thinking: Thinking;
  readonly #calls: ToolCalls;
  readonly #askedAt: number;
  #firstAt: number | undefined;
  #pieces = 0;
  #thinkingPieces = 0;
  /** Estimated tokens: one per chunk, or less for short chunks. */
  #weight = 0;
  #characters = 0;
  #reason: string | undefined;
  #stopText: string | undefined;
  #usage: Fields | undefined;
  #timings: Fields | undefined;
  #done = false;

  constructor(private readonly options: ReplyStreamOptions) {
    this.#thinking = new Thinking(options);
    this.#calls = new ToolCalls(options.newCallId);
    this.#askedAt = options.now();
  }

  /** Whether the last event has come. */
  get isDone(): boolean {
    return this.#done;
  }

  /** Parses one event of the stream. Throws `StreamError` for an error event. */
  read(data: string): readonly GenerationEvent[] {
    if (data === '[DONE]') {
      this.#done = true;
      return [];
    }
    const value = tryParseJson(data);
    if (value === undefined) throw lost(this.options.host, 'it sent something that is no JSON');
    const chunk = objectAt(value);
    if (chunk.error !== undefined && chunk.error !== null) throw streamErrorOf(chunk.error);
    if (chunk.prompt_progress) this.options.reading?.(progressOf(chunk.prompt_progress));
    if (chunk.usage) this.#usage = objectAt(chunk.usage);
    if (chunk.timings) this.#timings = objectAt(chunk.timings);
    const choice = objectAt(listAt(chunk.choices)[0]);
    this.#reason = textAt(choice.finish_reason) ?? this.#reason;
    this.#stopText = textAt(choice.stop_reason) ?? this.#stopText;
    const deltas = this.options.form === 'chat' ? this.#delta(choice) : this.#text(choice);
    const events = chunk.warnings ? [...deltas, ...warningsOf(chunk.warnings)] : deltas;
    if (events.length > 0) this.#firstAt ??= this.options.now();
    return events;
  }

  /** The finish event. A stream that broke off has none. */
  finish(): readonly GenerationEvent[] {
    if (!this.#done && this.#reason === undefined) throw lost(this.options.host, 'its stream ended without an end');
    if (this.#reason === 'abort') throw lost(this.options.host, 'it gave the request up');
    return this.#end(this.#causes());
  }

  /** Whether the reply exceeds its token limit by a wide margin. */
  get isPastLimit(): boolean {
    const thinking = this.#thinkingPieces > 0 ? slack.thinkingTokens : 0;
    const most = slack.factor * this.options.maxTokens + slack.tokens + thinking;
    const tokens = numberAt(this.#usage?.completion_tokens) ?? this.#weight;
    return tokens > most || this.#characters > longToken * most + slack.characters;
  }

  /** Finish of a reply that exceeded its limit. */
  cut(): readonly GenerationEvent[] {
    return this.#end({ reason: 'length', cause: 'limit' });
  }

  aborted(): readonly GenerationEvent[] {
    return this.#end({ reason: 'aborted', cause: 'aborted' });
  }

  #delta(choice: Fields): readonly GenerationEvent[] {
    // A backend that ignores `stream` sends the whole message.
    const delta = objectAt(choice.delta ?? choice.message);
    const logprobs = choice.logprobs ? chatLogprobs(choice.logprobs) : undefined;
    const reasoning = textAt(delta.reasoning_content) ?? textAt(delta.reasoning) ?? '';
    const text = textAt(delta.content) ?? textAt(delta.refusal) ?? '';
    if (text !== '' && reasoning === '' && delta.tool_calls === undefined) return this.#content(text, logprobs);
    const events: GenerationEvent[] = [];
    if (reasoning !== '') {
      this.#thinkingPieces += 1;
      this.#weigh(reasoning.length);
      events.push(...this.#thinking.reasoning(reasoning, text === '' ? logprobs : undefined));
    }
    if (text !== '') events.push(...this.#content(text, logprobs));
    if (delta.tool_calls) {
      const called = this.#calls.read(delta.tool_calls);
      this.#weigh(called.reduce((sum, event) => sum + (event.type === 'tool-delta' ? event.json.length : 0), 0));
      events.push(...called);
    }
    return events;
  }

  #text(choice: Fields): readonly GenerationEvent[] {
    const text = textAt(choice.text) ?? '';
    const logprobs = choice.logprobs ? completionLogprobs(choice.logprobs) : undefined;
    return text === '' && !logprobs ? [] : this.#content(text, logprobs);
  }

  #content(text: string, logprobs: ReturnType<typeof chatLogprobs>): readonly GenerationEvent[] {
    this.#pieces += 1;
    this.#weigh(text.length);
    return this.#thinking.text(text, logprobs);
  }

  #weigh(characters: number): void {
    this.#weight += characters === 0 ? 1 : Math.min(1, characters / shortToken);
    this.#characters += characters;
  }

  #causes(): Ending {
    if (this.#reason === 'length') return { reason: 'length', cause: 'limit' };
    const reason = this.#calls.count > 0 ? 'tool-calls' : 'stop';
    if (this.#stopText === undefined) return { reason, cause: 'end-token' };
    return { reason, cause: 'stop-text', stopText: this.#stopText };
  }

  #end(ending: Ending): readonly GenerationEvent[] {
    const finish: GenerationEvent = { type: 'finish', ...ending, usage: this.#usageBody(), timings: this.#times() };
    return [...this.#thinking.end(), ...this.#calls.end(), finish];
  }

  /** Without usage figures, chunks are counted as tokens. */
  #usageBody(): Usage {
    const usage = this.#usage ?? {};
    const reasoning = numberAt(valueAt(usage, 'completion_tokens_details', 'reasoning_tokens'));
    const thought = reasoning ?? (this.#thinkingPieces || undefined);
    return {
      promptTokens: numberAt(usage.prompt_tokens) ?? 0,
      cachedTokens: numberAt(valueAt(usage, 'prompt_tokens_details', 'cached_tokens')) ?? 0,
      completionTokens: numberAt(usage.completion_tokens) ?? this.#pieces + this.#thinkingPieces,
      ...(thought === undefined ? {} : { reasoningTokens: thought }),
    };
  }

  /** As reported by the backend, otherwise as measured here. */
  #times(): Timings {
    const now = this.options.now();
    const reported = this.#timings ?? {};
    const usage = this.#usageBody();
    const firstAt = this.#firstAt ?? now;
    return {
      initMs: 0,
      promptMs: numberAt(reported.prompt_ms) ?? firstAt - this.#askedAt,
      generationMs: numberAt(reported.predicted_ms) ?? now - firstAt,
      processedTokens: numberAt(reported.prompt_n) ?? Math.max(0, usage.promptTokens - usage.cachedTokens),
    };
  }
}

function warningsOf(warnings: unknown): readonly GenerationEvent[] {
  return listAt(warnings).flatMap((text) =>
    typeof text === 'string' ? [{ type: 'warning', code: 'remote', text }] : [],
  );
}

function progressOf(value: unknown): RemoteProgress {
  const { total, cache, processed } = objectAt(value);
  const all = Math.max(0, numberAt(total) ?? 0);
  const cached = Math.min(all, Math.max(0, numberAt(cache) ?? 0));
  return { total: all, cached, processed: Math.min(all, Math.max(cached, numberAt(processed) ?? 0)) };
}

export function lost(host: string, reason: string): AppError {
  return new AppError('remote-lost', { host, reason });
}

/** A string, or an object with a message and perhaps a status. */
function streamErrorOf(error: unknown): StreamError {
  const { message, code, status, type } = objectAt(error);
  const text = textAt(error) ?? textAt(message) ?? textAt(type) ?? 'it sent an error without a message';
  return new StreamError(text, numberAt(code) ?? numberAt(status) ?? 500);
}

/** Most backends do not send token ids. */
const unknownToken = -1;

/** Logprobs of chats, `{"content": [...]}`; undefined if there are none. */
function chatLogprobs(logprobs: unknown): readonly TokenLogprob[] | undefined {
  const entries = listAt(objectAt(logprobs).content);
  return entries.length === 0 ? undefined : entries.map(tokenOf);
}

/** Logprobs of completions: in the form of chats, or in the legacy form of parallel lists. */
function completionLogprobs(logprobs: unknown): readonly TokenLogprob[] | undefined {
  const chat = chatLogprobs(logprobs);
  if (chat) return chat;
  const { tokens, token_logprobs: figures, top_logprobs: tops, token_ids: ids } = objectAt(logprobs);
  const texts = listAt(tokens);
  if (texts.length === 0) return undefined;
  return texts.map((text, index) => {
    const others = Object.entries(objectAt(listAt(tops)[index]));
    const top = others.map(([other, figure]) => choiceOf(other, figure, unknownToken));
    const own = choiceOf(textAt(text) ?? '', listAt(figures)[index], numberAt(listAt(ids)[index]) ?? unknownToken);
    return { ...own, top: top.sort((a, b) => b.logprob - a.logprob) };
  });
}

function tokenOf(entry: unknown): TokenLogprob {
  return { ...entryOf(entry), top: listAt(objectAt(entry).top_logprobs).map(entryOf) };
}

function entryOf(entry: unknown): TokenChoice {
  const { token, logprob, bytes, id } = objectAt(entry);
  const choice = choiceOf(textAt(token) ?? '', logprob, numberAt(id) ?? unknownToken);
  const sent = listAt(bytes).filter((byte) => typeof byte === 'number');
  return sent.length > 0 ? { ...choice, bytes: sent } : choice;
}

function choiceOf(text: string, logprob: unknown, token: number): TokenChoice {
  return { token, text, bytes: [...Buffer.from(text)], logprob: numberAt(logprob) ?? Number.NEGATIVE_INFINITY };
}

interface ThinkingOptions {
  /** Whether the client requested reasoning separate from the text. */
  readonly separate: boolean;
  /** Whether the backend always separates it. */
  readonly parted: boolean;
}

type Figures = readonly TokenLogprob[] | undefined;

/** Converts reasoning to the form that the client requested: tags in the text become events, or events become tags. */
class Thinking {
  readonly #splitter: ReasoningSplitter | undefined;
  #tagOpen = false;

  constructor(private readonly options: ThinkingOptions) {
    if (!options.separate || options.parted) return;
    this.#splitter = new ReasoningSplitter({ prompt: '', encapsulate: true });
  }

  text(text: string, logprobs: Figures): GenerationEvent[] {
    const content = this.#closed() + text;
    if (!this.#splitter) return [textDelta(content, logprobs)];
    return withFigures(this.#splitter.push(content), logprobs);
  }

  reasoning(text: string, logprobs: Figures): GenerationEvent[] {
    if (this.options.separate) return [{ type: 'reasoning-delta', text, ...(logprobs ? { logprobs } : {}) }];
    const content = this.#tagOpen ? text : `<think>\n${text}`;
    this.#tagOpen = true;
    return [textDelta(content, logprobs)];
  }

  /** Flushes buffered text. */
  end(): GenerationEvent[] {
    const open = this.#closed();
    return [...(open === '' ? [] : [textDelta(open, undefined)]), ...(this.#splitter?.finish() ?? [])];
  }

  #closed(): string {
    if (!this.#tagOpen) return '';
    this.#tagOpen = false;
    return '\n</think>\n\n';
  }
}

function textDelta(text: string, logprobs: Figures): GenerationEvent {
  return logprobs ? { type: 'text-delta', text, logprobs } : { type: 'text-delta', text };
}

/** Logprobs go with the first part; if there is none, with an empty one. */
function withFigures(pieces: readonly GenerationEvent[], logprobs: Figures): GenerationEvent[] {
  if (!logprobs) return [...pieces];
  const [first, ...rest] = pieces;
  return first ? [{ ...first, logprobs } as GenerationEvent, ...rest] : [textDelta('', logprobs)];
}

/** Assembles tool calls from deltas. Ids tell calls apart if a backend sends index 0 for all of them. */
class ToolCalls {
  count = 0;
  /** `sentIndex` is the index as sent by the backend, which may start at any number. */
  #open: { readonly sentIndex: number; readonly id: string; readonly index: number } | undefined;
  /** Arguments that arrived before the name. */
  readonly #early = new Map<number, string>();

  constructor(private readonly newId: () => string) {}

  read(entries: unknown): GenerationEvent[] {
    // Some backends send a single call without a list.
    const list = Array.isArray(entries) ? entries : [entries];
    return list.flatMap((entry, position) => this.#entry(objectAt(entry), position));
  }

  end(): GenerationEvent[] {
    const open = this.#open;
    this.#open = undefined;
    return open ? [{ type: 'tool-end', index: open.index }] : [];
  }

  #entry(entry: Fields, position: number): GenerationEvent[] {
    const sentIndex = numberAt(entry.index) ?? position;
    const id = textAt(entry.id) || undefined;
    const called = objectAt(entry.function);
    const name = textAt(called.name) || undefined;
    const json = argumentsOf(called.arguments);
    const goesOn =
      this.#open?.sentIndex === sentIndex && (id === undefined || id === this.#open.id || name === undefined);
    if (goesOn) return this.#delta(json);
    if (name === undefined) {
      this.#early.set(sentIndex, (this.#early.get(sentIndex) ?? '') + json);
      return [];
    }
    const ended = this.end();
    const call = { sentIndex, id: id ?? this.newId(), index: this.count };
    this.#open = call;
    this.count += 1;
    const before = this.#early.get(sentIndex) ?? '';
    this.#early.delete(sentIndex);
    return [...ended, { type: 'tool-start', index: call.index, id: call.id, name }, ...this.#delta(before + json)];
  }

  #delta(json: string): GenerationEvent[] {
    return json === '' || !this.#open ? [] : [{ type: 'tool-delta', index: this.#open.index, json }];
  }
}

/** A JSON string; some backends send the object itself. */
function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : '';
}
