import { createHash } from 'node:crypto';
import { AppError, asAppError } from '../core/errors.ts';
import type { Compaction, Usage } from '../core/events.ts';
import { defaultControls } from '../core/request.ts';
import { compactedPrefix, joinUserTurns, planCompaction, summaryMessage } from './compaction-plan.ts';
import { type Conversation, leadingSystem, type Message, plainText, text, withMessages } from './messages.ts';
import type { ChatRequest, CompactionRequest } from './request.ts';
import type { SummaryWriter } from './summary-model.ts';

/** Compacted beginnings of conversations. A key is the hash of the messages that they replace. */
export interface CompactionStore {
  get(owner: string, key: string): Promise<readonly Message[] | undefined>;
  set(owner: string, key: string, messages: readonly Message[]): void;
}

/** Its generations are those of the chat's own model, in the turn that the request has in the queue. */
interface CompactionDeps extends SummaryWriter {
  /** Another model for summaries. Rejects if it cannot be used; undefined if it is the chat's own. */
  readonly summaryModel?: SummaryByOther | undefined;
  /** What was compacted in earlier turns; missing keeps nothing. */
  readonly store?: CompactionStore | undefined;
  readonly owner: string;
  /** Called before a summary that the client asked for. */
  readonly compacting: () => void;
}

interface SummaryByOther {
  readonly name: string;
  readonly use: (work: (writer: SummaryWriter) => Promise<string>) => Promise<string | undefined>;
}

export interface Compacted {
  readonly request: ChatRequest;
  readonly compaction?: Compaction;
}

/** Largest share of the context that is reserved for the reply. */
const replyShare = 0.25;
/** Share of the limit that a compacted conversation should have, so that the next turns fit without another compaction. */
const targetShare = 0.6;
const maxAttempts = 3;
const maxChunks = 64;

/** The conversation as the model gets it: shortened if necessary. */
export async function compact(request: ChatRequest, deps: CompactionDeps): Promise<Compacted> {
  const { compaction } = request;
  const run = new CompactionRun(request, deps);
  return compaction ? run.summariseAll(compaction) : run.fit();
}

class CompactionRun {
  readonly #context: number;
  /** Largest prompt, so that there is room for a reply. */
  readonly #limit: number;
  readonly #summaryTokens: number;
  /** Why the model of `--compactmodel` did not write the summary. */
  #fallback: string | undefined;
  #usage: Usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

  constructor(
    private readonly request: ChatRequest,
    private readonly deps: CompactionDeps,
  ) {
    const { maxContext, maxTokens } = request.controls;
    this.#context = Math.min(maxContext ?? deps.contextSize, deps.contextSize);
    this.#limit = this.#context - Math.max(1, Math.min(maxTokens, Math.floor(this.#context * replyShare)));
    this.#summaryTokens = Math.max(16, Math.min(2048, Math.floor(this.#context / 8)));
  }

  /** For a client that keeps the summary: it replaces everything but the system prompt. */
  async summariseAll(requested: CompactionRequest): Promise<Compacted> {
    const { request } = this;
    const before = await this.deps.count(request);
    if (before <= Math.min(requested.trigger, this.#limit)) return { request };
    this.deps.compacting();
    const { messages } = request.conversation;
    const system = messages.slice(0, leadingSystem(messages));
    const summarised = messages.length - system.length;
    try {
      const written = await this.#summary(messages, before, requested);
      const summary = written + this.#lastRequest(before);
      const shorter = this.#with([...system, summaryMessage(summary)]);
      if (!requested.pause) await this.#refuseIfTooLong(shorter);
      return { request: shorter, compaction: { summarised, cleared: 0, summary, ...this.#cost() } };
    } catch (error) {
      // What fits without a summary is answered without one.
      if (requested.trigger === 0 || before > this.#limit || asAppError(error).code !== 'compaction-failed')
        throw error;
      return { request, compaction: { summarised: 0, cleared: 0, summary: null, ...this.#cost() } };
    }
  }

  /** The last message of the user word for word, unless it is long: a summary may lose what was asked. */
  #lastRequest(tokens: number): string {
    const { messages } = this.request.conversation;
    const last = messages.findLast(({ role }) => role === 'user');
    const text = last ? plainText(last.content).trim() : '';
    const share = (text.length / charactersOf(this.request.conversation)) * tokens;
    return text === '' || share > this.#limit / 4 ? '' : `\n\nThe last message of the user:\n${text}`;
  }

  /** For clients that know nothing of compaction: the beginning and the last turns stay. */
  async fit(): Promise<Compacted> {
    const { store, owner } = this.deps;
    const all = this.request.conversation.messages;
    const head = all.slice(0, leadingSystem(all));
    const body = all.slice(head.length);
    const known = await this.#known(body);
    const current = known ? [...head, ...known.messages, ...body.slice(known.length)] : all;
    const request = this.#with(current);
    const compaction = known && { summarised: known.length, cleared: 0 };
    const reused = { request, ...(compaction && { compaction }) };
    if (bytesOf(request.conversation) <= this.#limit) return reused;
    const before = await this.deps.count(request);
    if (before <= this.#limit) return reused;
    let last: AppError | undefined;
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const shorter = await this.#shortened(current, before, this.#limit * targetShare ** attempt);
      if (!shorter) break;
      const compacted = this.#with(shorter.messages);
      const tokens = await this.deps.count(compacted);
      if (tokens > this.#limit) {
        last = this.#tooLong(tokens);
        continue;
      }
      const same = commonEnd(all, shorter.messages);
      const key = this.#keys(body).at(body.length - same);
      if (key !== undefined)
        store?.set(owner, key, shorter.messages.slice(head.length, shorter.messages.length - same));
      return { request: compacted, compaction: { ...shorter.report, ...this.#cost() } };
    }
    throw last ?? new AppError('context-overflow', { promptTokens: before, contextSize: this.#context });
  }

  /** The longest beginning of these messages that was compacted before. */
  async #known(body: readonly Message[]) {
    const { store, owner } = this.deps;
    if (!store) return undefined;
    const keys = this.#keys(body);
    for (let length = body.length; length > 0; length -= 1) {
      const messages = await store.get(owner, keys[length] ?? '');
      if (messages) return { length, messages };
    }
    return undefined;
  }

  /** A hash for each beginning, by its number of messages. Another context has room for other beginnings. */
  #keys(body: readonly Message[]): readonly string[] {
    return keysOf(body, this.request.conversation, String(this.#context));
  }

  /** Undefined if nothing can be cleared or summarised. */
  async #shortened(messages: readonly Message[], tokens: number, target: number) {
    const conversation = { ...this.request.conversation, messages };
    const perCharacter = tokens / Math.max(1, charactersOf(conversation));
    const sizes = messages.map((message) => Math.ceil(charactersIn(message) * perCharacter));
    const overhead = tokens - sizes.reduce((sum, size) => sum + size, 0);
    const summary = this.#summaryTokens + 32;
    const plan = planCompaction({ messages, sizes, budget: target - overhead, placeholder: 24, summary });
    if (!plan || plan.clear.length + plan.summarise.length === 0) return undefined;
    // Without the last messages it would not fit either: no summary is worth its time.
    if (plan.size + overhead > this.#limit) throw this.#tooLong(plan.size + overhead);
    const end = (plan.summarise.at(-1) ?? -1) + 1;
    const written = end > 0 ? await this.#summary(messages.slice(0, end), tokens, undefined) : '';
    return {
      messages: joinUserTurns(compactedPrefix(messages, plan, written), messages.slice(plan.end)),
      report: { summarised: plan.summarise.length, cleared: plan.clear.length, ...(end > 0 && { summary: written }) },
    };
  }

  /** `tokens`: of the whole prompt of the request. */
  async #summary(
    messages: readonly Message[],
    tokens: number,
    requested: CompactionRequest | undefined,
  ): Promise<string> {
    const question = questionOf(requested);
    const byOther = await this.#byOtherModel(messages, question);
    if (byOther !== undefined) return byOther;
    const whole = this.#summaryRequest(withQuestion(messages, question));
    // The beginning of this prompt is the cached prompt of the turn before.
    if ((await this.deps.count(whole)) + this.#summaryTokens <= this.#context) return this.#generated(whole);
    const perToken = charactersOf(this.request.conversation) / Math.max(1, tokens);
    const { deps } = this;
    const own = { contextSize: this.#context, count: deps.count, generate: deps.generate };
    const build = (prompt: string) => this.#summaryRequest([{ role: 'user', content: text(prompt) }], []);
    return this.#inPieces(messages, { question, perToken, summaryTokens: this.#summaryTokens, writer: own, build });
  }

  /** The summary of a transcript, in as many pieces as the context of the writer demands. */
  async #inPieces(messages: readonly Message[], pieces: Pieces): Promise<string> {
    const { question, perToken, summaryTokens, writer, build } = pieces;
    const room = writer.contextSize - 2 * summaryTokens - Math.ceil(question.length / perToken) - 64;
    const chunks = inChunks(transcriptWithoutSystem(messages), Math.floor(room * Math.min(perToken, 4) * 0.8));
    if (chunks === undefined) throw failed(`the conversation is more than ${maxChunks} times as long as the context`);
    let summary = '';
    for (const chunk of chunks) {
      const summarySoFar = summary === '' ? '' : `<summary>\n${summary}\n</summary>\n\n`;
      summary = await this.#generated(build(`${summarySoFar}${chunkPrompt(chunk, question)}`), writer);
    }
    return summary;
  }

  /** Undefined if the chat's own model has to write it. A transcript needs neither its tools nor its template. */
  async #byOtherModel(messages: readonly Message[], question: string): Promise<string | undefined> {
    const { summaryModel } = this.deps;
    if (!summaryModel) return undefined;
    try {
      return await summaryModel.use(async (writer) => {
        const summaryTokens = Math.min(this.#summaryTokens, Math.max(16, Math.floor(writer.contextSize / 8)));
        const build = (prompt: string) => transcriptRequest(this.request, prompt, summaryTokens);
        const whole = chunkPrompt(transcriptWithoutSystem(messages), question);
        const tokens = await writer.count(build(whole));
        if (tokens + summaryTokens <= writer.contextSize) return this.#generated(build(whole), writer);
        const perToken = whole.length / tokens;
        return this.#inPieces(messages, { question, perToken, summaryTokens, writer, build });
      });
    } catch (thrown) {
      if (thrown instanceof Error && thrown.name === 'AbortError') throw thrown;
      const error = asAppError(thrown);
      const { reason = error.message } = error.details as { readonly reason?: string };
      this.#fallback = `${summaryModel.name} could not write the summary (${reason.replace(/\.$/, '')}), so the model of the chat wrote it.`;
      return undefined;
    }
  }

  #cost(): Pick<Compaction, 'usage' | 'fallback'> {
    return { usage: this.#usage, ...(this.#fallback !== undefined && { fallback: this.#fallback }) };
  }

  #summaryRequest(messages: readonly Message[], tools = this.request.conversation.tools): ChatRequest {
    const { request } = this;
    return {
      ...request,
      conversation: { ...withMessages(request.conversation, messages), tools },
      continueAssistantTurn: false,
      // The tools stay in the prompt, which has the same beginning then as that of the chat.
      toolChoice: { type: 'none', listed: true },
      output: { type: 'text' },
      reasoning: { effort: 'none', separate: true },
      templateVariables: { ...request.templateVariables, enable_thinking: false },
      controls: {
        ...request.controls,
        maxTokens: this.#summaryTokens,
        overflow: 'refuse',
        grammar: undefined,
        stop: [],
        logprobs: undefined,
        promptLogprobs: undefined,
        reasoning: undefined,
      },
      compaction: undefined,
    };
  }

  async #generated(request: ChatRequest, writer: SummaryWriter = this.deps): Promise<string> {
    const { text, usage, reason } = await writer.generate(request).catch((error: unknown) => {
      if (error instanceof Error && error.name === 'AbortError') throw error;
      throw failed(`the model could not write a summary (${asAppError(error).message.replace(/\.$/, '')})`);
    });
    if (reason === 'aborted') throw new DOMException('The summary was stopped by its client.', 'AbortError');
    this.#usage = {
      promptTokens: this.#usage.promptTokens + usage.promptTokens,
      cachedTokens: this.#usage.cachedTokens + usage.cachedTokens,
      completionTokens: this.#usage.completionTokens + usage.completionTokens,
    };
    const summary = text
      .replace(/^[\s\S]*<summary>/, '')
      .replace(/<\/summary>[\s\S]*$/, '')
      .trim();
    if (summary === '') throw failed('the model wrote an empty summary');
    return summary;
  }

  #with(messages: readonly Message[]): ChatRequest {
    const { request } = this;
    const conversation = withMessages(request.conversation, messages);
    return { ...request, conversation, controls: { ...request.controls, overflow: 'refuse' } };
  }

  async #refuseIfTooLong(request: ChatRequest): Promise<void> {
    const tokens = await this.deps.count(request);
    if (tokens > this.#limit) throw this.#tooLong(tokens);
  }

  #tooLong(promptTokens: number): AppError {
    return new AppError('context-overflow', { promptTokens, contextSize: this.#context, compacted: true });
  }
}

interface Pieces {
  readonly question: string;
  /** Characters. */
  readonly perToken: number;
  readonly summaryTokens: number;
  readonly writer: SummaryWriter;
  readonly build: (prompt: string) => ChatRequest;
}

const transcriptWithoutSystem = (messages: readonly Message[]) => transcript(messages.slice(leadingSystem(messages)));

const chunkPrompt = (text: string, question: string) => `<conversation>\n${text}\n</conversation>\n\n${question}`;

/** For another model: without settings that belong to that of the chat, such as tokens and template variables. */
function transcriptRequest({ parallelToolCalls }: ChatRequest, prompt: string, maxTokens: number): ChatRequest {
  return {
    conversation: { messages: [{ role: 'user', content: text(prompt) }], media: [], tools: [] },
    continueAssistantTurn: false,
    toolChoice: { type: 'none' },
    parallelToolCalls,
    output: { type: 'text' },
    reasoning: { effort: 'none', separate: true },
    templateVariables: { enable_thinking: false },
    memory: '',
    controls: { ...defaultControls, maxTokens, overflow: 'refuse' },
  };
}

const failed = (reason: string): AppError => new AppError('compaction-failed', { reason });

const instructions =
  'Summarise the conversation so far, so that you can go on with it from your summary alone; what you leave out is lost. ' +
  'Write what the user wants, what was done and decided, facts, names, paths and code that are still needed, errors and how ' +
  'they were solved, and what has to be done next. Reply only with the summary as plain text, without calling tools.';

function questionOf(requested: CompactionRequest | undefined): string {
  const own = requested?.instructions;
  if (!own || own.text.trim() === '') return instructions;
  return own.replace ? own.text : `${instructions}\n${own.text}`;
}

function withQuestion(messages: readonly Message[], question: string): readonly Message[] {
  const last = messages.at(-1);
  const message: Message = { role: 'user', content: text(question) };
  if (last?.role !== 'user') return [...messages, message];
  return [...messages.slice(0, -1), ...joinUserTurns([last], [message])];
}

/** Without thinking and ids, which clients may leave out or change. */
function keysOf(body: readonly Message[], { media }: Conversation, seed: string): readonly string[] {
  const keys = [seed];
  for (const message of body) {
    const content = message.content.map((part) => (part.type === 'text' ? part.text : (media[part.index] ?? null)));
    const calls = message.role === 'assistant' ? message.toolCalls?.map(({ name, json }) => [name, json]) : undefined;
    const hash = createHash('sha256').update(keys.at(-1) ?? '');
    keys.push(hash.update(JSON.stringify([message.role, content, calls ?? []])).digest('base64'));
  }
  return keys;
}

/** How many of the last messages are the same objects. */
function commonEnd(first: readonly Message[], second: readonly Message[]): number {
  let count = 0;
  while (count < Math.min(first.length, second.length) && first.at(-1 - count) === second.at(-1 - count)) count += 1;
  return count;
}

function charactersIn(message: Message): number {
  const own = plainText(message.content).length + 16;
  if (message.role !== 'assistant') return own;
  const calls = (message.toolCalls ?? []).map(({ name, json }) => name.length + json.length + 32);
  return own + (message.reasoning ?? '').length + calls.reduce((sum, length) => sum + length, 0);
}

function charactersOf({ messages, tools }: Conversation): number {
  const texts = messages.map(charactersIn).reduce((sum, length) => sum + length, 0);
  return Math.max(1, texts + (tools.length > 0 ? JSON.stringify(tools).length : 0));
}

/** An upper limit of the tokens: none is shorter than a byte. */
function bytesOf({ messages, tools }: Conversation): number {
  return Buffer.byteLength(JSON.stringify([messages, tools]));
}

const speakers = { system: 'System', user: 'User', assistant: 'Assistant', tool: 'Tool result', other: 'Other' };

/** The conversation as text, for a summary of what no longer fits as a conversation. */
function transcript(messages: readonly Message[]): string {
  const lines = messages.flatMap((message) => {
    const text = plainText(message.content);
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
    return [
      ...(text === '' ? [] : [`[${speakers[message.role]}]: ${text}`]),
      ...calls.map(({ name, json }) => `[Assistant calls ${name}]: ${json}`),
    ];
  });
  return lines.join('\n');
}

/** Undefined if there are too many. */
function inChunks(text: string, length: number): readonly string[] | undefined {
  if (length < 1 || text.length / length > maxChunks) return undefined;
  return Array.from({ length: Math.ceil(text.length / length) }, (_, index) =>
    text.slice(index * length, (index + 1) * length),
  );
}
