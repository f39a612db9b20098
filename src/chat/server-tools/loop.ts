import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { ToolCall } from '../../core/fold.ts';
import { isObject, tryParseJson } from '../../core/json.ts';
import type { Medium } from '../../core/request.ts';
import { type ServedResult, type ServedTool, ToolCallError, type ToolServers } from '../../core/tool-servers.ts';
import { type Step, withEarlier } from '../generation-steps.ts';
import { type Content, type Conversation, type Message, type Tool, text, wordsOf } from '../messages.ts';
import type { ChatRequest } from '../request.ts';

/** The tools that the server runs itself (`--mcpserverloop`). */
export interface ServerTools {
  readonly servers: ToolServers;
  /** How many rounds of calls the model may make before it has to answer. */
  readonly turns: number;
  readonly startTimer: (milliseconds: number, passed: () => void) => { cancel(): void };
  /** Called for each tool that ran, for the log, because these calls need no confirmation. */
  readonly ran?: (name: string, failed: boolean) => void;
}

type Emit = (event: GenerationEvent) => void;

interface LoopParts extends ServerTools {
  /** One reply of the model. */
  readonly answer: (request: ChatRequest, emit: Emit) => Promise<void>;
  readonly emit: Emit;
  /** Lets other requests use the engine while tools run. */
  readonly rest: () => void;
  readonly stopped: AbortSignal;
  /** The media that the model accepts. */
  readonly inputs: { readonly image: boolean; readonly audio: boolean };
  readonly contextSize: number;
}

const keepAliveMs = 10_000;
const mostCharacters = 32_000;

/** Whether the server runs its tools: not with tools or a grammar of the client, a continued reply, no output, or no calls. */
export function wantsServerTools({ conversation, toolChoice, continueAssistantTurn, controls }: ChatRequest): boolean {
  const continues = continueAssistantTurn && conversation.messages.at(-1)?.role === 'assistant';
  const bound = controls.grammar !== undefined || controls.promptLogprobs !== undefined || controls.maxTokens === 0;
  return conversation.tools.length === 0 && toolChoice.type === 'auto' && !continues && !bound;
}

export async function withServerTools(
  request: ChatRequest,
  servers: ToolServers,
  contextSize: number,
  signal?: AbortSignal,
): Promise<ChatRequest> {
  const tools = fitting((await servers.list(signal)).map(chatTool), contextSize);
  return { ...request, conversation: { ...request.conversation, tools } };
}

/** Of JSON, a low estimate. */
const charactersPerToken = 3;

/** As many tools as fit into half of the context: servers may list any number of them. */
function fitting(tools: readonly Tool[], contextSize: number): readonly Tool[] {
  let left = contextSize > 0 ? (contextSize / 2) * charactersPerToken : Number.POSITIVE_INFINITY;
  return tools.filter((tool) => {
    const { length } = JSON.stringify({ type: 'function', function: tool });
    if (length > left) return false;
    left -= length;
    return true;
  });
}

function chatTool({ name, description, inputSchema }: ServedTool): Tool {
  return { name, ...(description === undefined ? {} : { description }), parameters: inputSchema };
}

/** Runs the tools that the model calls and adds their results to the prompt, until it answers. The client sees one reply. */
export async function answerWithTools(request: ChatRequest, parts: LoopParts): Promise<void> {
  const { emit, stopped } = parts;
  const served = (await parts.servers.list(stopped)).map(chatTool);
  const tools = fitting(served, parts.contextSize);
  if (tools.length === 0) return parts.answer(request, emit);
  const earlier: Step[] = [];
  const notes = new Notes(request, emit);
  let conversation: Conversation = { ...request.conversation, tools };
  let separator = '';
  for (let number = 0; ; number += 1) {
    const turn = new Turn(emit, number === 0, separator);
    const toolChoice = { type: number < parts.turns ? 'auto' : 'none' } as const;
    await parts.answer({ ...request, conversation, toolChoice }, (event) => turn.take(event));
    const { finish, calls } = turn;
    if (turn.failed || !finish) return;
    const leftOut = served.length - tools.length;
    if (number === 0 && leftOut > 0) {
      const text = `${leftOut} of ${served.length} tools do not fit into the context (--contextsize) and are not offered.`;
      emit({ type: 'warning', code: 'tools-left-out', text });
    }
    for (const { name } of turn.cutCalls) {
      emit({ type: 'warning', code: 'tool-call-cut', text: `A call of ${name} was cut off and is not run.` });
    }
    if (calls.length === 0) return emit(withEarlier(finish, earlier));
    if (turn.text !== '' && request.output.type === 'text') separator = '\n\n';
    if (turn.reasoning !== '') notes.mark('\n');
    const results = await runAll(calls, conversation, parts, notes);
    if (stopped.reason instanceof AppError) return emit({ type: 'error', error: stopped.reason });
    if (stopped.aborted) return emit(withEarlier({ ...finish, reason: 'aborted', cause: 'aborted' }, earlier));
    earlier.push(finish);
    conversation = continued(conversation, turn, results);
  }
}

interface Answered {
  readonly message: Message;
  readonly media: readonly Medium[];
}

/** Runs all calls of one turn in parallel; the results are in the order of the calls. */
async function runAll(calls: readonly ToolCall[], { media }: Conversation, parts: LoopParts, notes: Notes) {
  parts.rest();
  for (const { name, json } of calls) notes.called(name, json);
  let timer = parts.startTimer(keepAliveMs, keepAlive);
  function keepAlive(): void {
    notes.mark('.');
    timer = parts.startTimer(keepAliveMs, keepAlive);
  }
  const results = await Promise.all(calls.map((call) => run(call, parts))).finally(() => timer.cancel());
  const answered: Answered[] = [];
  let count = media.length;
  for (const [index, { id, name }] of calls.entries()) {
    const characters = Math.min(mostCharacters, Math.floor(parts.contextSize / calls.length));
    const result = results[index] ?? {};
    parts.ran?.(name, result.isError === true);
    const given = resultContent(result, { characters, inputs: parts.inputs, media: count });
    count += given.media.length;
    const message: Message = { role: 'tool', content: given.content, callId: id, toolName: name };
    answered.push({ message, media: given.media });
    if (!parts.stopped.aborted) notes.gave(name, wordsOf(given.content));
  }
  notes.done();
  return answered;
}

/** Errors are results too: the model can report them, or try something else. */
async function run({ name, json }: ToolCall, { servers, stopped }: LoopParts): Promise<ServedResult> {
  const given = tryParseJson(json.trim() === '' ? '{}' : json);
  if (!isObject(given)) return failure('its arguments are no JSON object.');
  try {
    return await servers.call({ name, arguments: { ...given } }, { signal: stopped });
  } catch (error) {
    return failure(error instanceof ToolCallError ? `${error.message} (${error.code})` : String(error));
  }
}

function failure(reason: string): ServedResult {
  return { isError: true, content: [{ type: 'text', text: reason }] };
}

function continued(conversation: Conversation, turn: Turn, results: readonly Answered[]): Conversation {
  const called: Message = {
    role: 'assistant',
    content: text(turn.text),
    ...(turn.reasoning === '' ? {} : { reasoning: turn.reasoning }),
    toolCalls: turn.calls,
  };
  return {
    ...conversation,
    messages: [...conversation.messages, called, ...results.map(({ message }) => message)],
    media: [...conversation.media, ...results.flatMap(({ media }) => media)],
  };
}

/** One generation of the model: its text is passed on, its calls are collected. */
class Turn {
  readonly #calls: ToolCall[] = [];
  text = '';
  reasoning = '';
  finish: Extract<GenerationEvent, { type: 'finish' }> | undefined;
  failed = false;

  constructor(
    private readonly emit: Emit,
    private readonly isFirst: boolean,
    /** Between the text of earlier turns and that of this one. */
    private readonly separator: string,
  ) {}

  take(event: GenerationEvent): void {
    switch (event.type) {
      case 'start':
        // The reply has one start event, whatever the number of turns.
        if (this.isFirst) this.emit(event);
        return;
      case 'tool-start':
        this.#calls[event.index] = { id: event.id, name: event.name, json: '' };
        return;
      case 'tool-delta': {
        const call = this.#calls[event.index];
        if (call) call.json += event.json;
        return;
      }
      case 'tool-end':
        return;
      case 'finish':
        this.finish = event;
        return;
      case 'error':
        this.failed = true;
        break;
      case 'text-delta':
        if (this.text === '' && event.text !== '' && this.separator !== '') {
          this.emit({ type: 'text-delta', text: this.separator });
        }
        this.text += event.text;
        break;
      case 'reasoning-delta':
        this.reasoning += event.text;
        break;
    }
    this.emit(event);
  }

  /** The calls to run, in the order in which they were made. */
  get calls(): readonly ToolCall[] {
    return this.finish?.reason === 'tool-calls' ? this.#calls.filter(Boolean) : [];
  }

  /** Calls that were cut off. */
  get cutCalls(): readonly ToolCall[] {
    return this.finish?.reason === 'tool-calls' ? [] : this.#calls.filter(Boolean);
  }
}

const shownCharacters = 400;

/**
 * Reports the calls in the thinking of the reply, which every dialect has: between tags in the text if the client does not
 * separate thinking, and not at all inside an answer that has to be JSON.
 */
class Notes {
  readonly #separate: boolean;
  readonly #silent: boolean;
  #open = false;

  constructor(
    { reasoning, output }: Pick<ChatRequest, 'reasoning' | 'output'>,
    private readonly emit: Emit,
  ) {
    this.#separate = reasoning.separate;
    this.#silent = !reasoning.separate && output.type !== 'text';
  }

  called(name: string, json: string): void {
    this.#write(`Calling the tool ${name} ${shortened(json, shownCharacters)}\n`);
  }

  /** The end of the model's thinking, or a sign of life. */
  mark(words: '\n' | '.'): void {
    if (this.#separate) this.#write(words);
  }

  gave(name: string, words: string): void {
    this.#write(`\n${name}: ${shortened(words, shownCharacters)}\n`);
  }

  done(): void {
    if (!this.#open) return;
    this.#open = false;
    this.emit({ type: 'text-delta', text: '</think>\n' });
  }

  #write(words: string): void {
    if (this.#silent) return;
    if (this.#separate) {
      this.emit({ type: 'reasoning-delta', text: words });
      return;
    }
    this.emit({ type: 'text-delta', text: this.#open ? words : `<think>\n${words}` });
    this.#open = true;
  }
}

interface ResultLimits extends Pick<LoopParts, 'inputs'> {
  readonly characters: number;
  /** The number of media in the conversation so far. */
  readonly media: number;
}

/** Of one result: each takes hundreds of tokens. */
const maxMedia = 8;

/** The result of a tool for the model: text, and the media that it accepts. */
export function resultContent(
  result: ServedResult,
  limits: ResultLimits,
): { readonly content: Content; readonly media: readonly Medium[] } {
  const media: Medium[] = [];
  const words = itemsOf(result).map((item) => {
    const medium = mediumOf(item);
    if (!medium) return itemText(item);
    if (!limits.inputs[medium.kind]) return `(${medium.kind}: this model cannot take it in)`;
    if (media.length >= maxMedia) return `(${medium.kind}: left out, after ${maxMedia} of them)`;
    media.push(medium);
    return `(the ${medium.kind} is attached)`;
  });
  const said = words.join('\n') || '(the tool gave nothing)';
  const shown = result.isError === true ? `The tool failed: ${said}` : said;
  const references = media.map((_, index) => ({ type: 'medium' as const, index: limits.media + index }));
  return { content: [...text(shortened(shown, limits.characters)), ...references], media };
}

/** The beginning, and how much is missing, so that the model can request less. */
export function shortened(words: string, characters: number): string {
  if (words.length <= characters) return words;
  const kept = words.slice(0, characters).replace(/[\ud800-\udbff]$/, '');
  return `${kept}\n(cut off: these are the first ${kept.length} of ${words.length} characters)`;
}

type Item = Readonly<Record<string, unknown>>;

function itemsOf({ content, structuredContent }: ServedResult): readonly Item[] {
  const items = Array.isArray(content) ? content.filter((item): item is Item => typeof item === 'object' && item) : [];
  if (items.length > 0 || structuredContent === undefined) return items;
  return [{ type: 'text', text: JSON.stringify(structuredContent) }];
}

function mediumOf({ type, data, mimeType }: Item): Medium | undefined {
  if ((type !== 'image' && type !== 'audio') || typeof data !== 'string') return undefined;
  return { kind: type, base64: data, ...(typeof mimeType === 'string' ? { format: mimeType } : {}) };
}

function itemText(item: Item): string {
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
  if (typeof item.text === 'string') return item.text;
  if (item.type === 'resource_link') return [item.name, item.uri, item.description].filter(isText).join(' – ');
  const resource = item.resource as Item | undefined;
  if (item.type === 'resource' && typeof resource === 'object' && resource !== null) {
    return isText(resource.text) ? resource.text : `(the file ${String(resource.uri)}: no text)`;
  }
  return JSON.stringify(item);
}
