import type { GenerationEvent } from '../../core/events.ts';
import type { ToolCall } from '../../core/fold.ts';
import type { Medium } from '../../core/request.ts';
import { type ServedResult, type ServedTool, ToolCallError, type ToolServers } from '../../core/tool-servers.ts';
import { type Step, withEarlier } from '../generation-steps.ts';
import { type Content, type Conversation, type Message, type Tool, text, wordsOf } from '../messages.ts';
import type { ChatRequest } from '../request.ts';

/** The tools that the server runs by itself (`--mcpserverloop`). */
export interface ServerTools {
  readonly servers: ToolServers;
  /** How often the model may call before it has to answer. */
  readonly turns: number;
  readonly startTimer: (milliseconds: number, passed: () => void) => { cancel(): void };
  /** Told of each tool that ran: nobody was asked before. */
  readonly ran?: (name: string, failed: boolean) => void;
}

export interface LoopParts extends ServerTools {
  /** One reply of the model. */
  readonly answer: (request: ChatRequest, tell: (event: GenerationEvent) => void) => Promise<void>;
  readonly tell: (event: GenerationEvent) => void;
  /** Others may have the engine while tools run. */
  readonly rest: () => void;
  readonly stopped: AbortSignal;
  readonly senses: ResultLimits['senses'];
  readonly contextSize: number;
}

const signOfLifeMs = 10_000;
const mostCharacters = 32_000;

/**
 * Whether the server's own tools are for this request. Tools of its own are the client's to run, and a request that is held to a
 * grammar, continues a reply, only reads the prompt or wants no calls has no use for any.
 */
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
  const { tools } = fitting((await servers.list(signal)).map(chatTool), contextSize);
  return { ...request, conversation: { ...request.conversation, tools } };
}

/**
 * As many tools as fit into half of the context: the other half is for the conversation. What servers list is not in our hands, and a
 * prompt that lost its beginning to them would be answered with nonsense.
 */
function fitting(
  tools: readonly Tool[],
  contextSize: number,
): { readonly tools: readonly Tool[]; readonly leftOut: number } {
  let left = contextSize > 0 ? (contextSize / 2) * charactersPerToken : Number.POSITIVE_INFINITY;
  const kept = tools.filter((tool) => {
    const { length } = JSON.stringify({ type: 'function', function: tool });
    if (length > left) return false;
    left -= length;
    return true;
  });
  return { tools: kept, leftOut: tools.length - kept.length };
}

/** Of JSON, rather too few than too many. */
const charactersPerToken = 3;

/** Lets the model call tools and shows it what they gave, until it answers. To the client all of it is one reply. */
export async function answerWithTools(asked: ChatRequest, parts: LoopParts): Promise<void> {
  const served = (await parts.servers.list(parts.stopped)).map(chatTool);
  const { tools, leftOut } = fitting(served, parts.contextSize);
  const offering = { ...asked, conversation: { ...asked.conversation, tools } };
  if (tools.length === 0) return parts.answer(asked, parts.tell);
  const earlier: Step[] = [];
  const notes = new Notes(asked, parts.tell);
  let { conversation } = offering;
  let separator = '';
  for (let number = 0; ; number += 1) {
    const turn = new Turn(parts.tell, number === 0, separator);
    // At the end of its calls the model has to make do with what it knows.
    const toolChoice = { type: number < parts.turns ? 'auto' : 'none' } as const;
    await parts.answer({ ...offering, conversation, toolChoice }, (event) => turn.take(event));
    const { finish, calls } = turn;
    if (turn.failed || !finish) return;
    if (number === 0 && leftOut > 0) {
      const text = `${leftOut} of ${served.length} tools do not fit into the context (--contextsize) and are not offered.`;
      parts.tell({ type: 'warning', code: 'tools-left-out', text });
    }
    for (const { name } of turn.cutCalls) {
      parts.tell({ type: 'warning', code: 'tool-call-cut', text: `A call of ${name} was cut off and is not run.` });
    }
    if (calls.length === 0) return parts.tell(withEarlier(finish, earlier));
    if (turn.text !== '' && asked.output.type === 'text') separator = '\n\n';
    if (turn.reasoning !== '') notes.endLine();
    const results = await runAll(calls, conversation, parts, notes);
    if (parts.stopped.aborted) return parts.tell(withEarlier({ ...finish, ...aborted }, earlier));
    earlier.push(finish);
    conversation = continued(conversation, turn, results);
  }
}

const aborted = { reason: 'aborted', cause: 'aborted' } as const;

interface Answered {
  readonly message: Message;
  readonly media: readonly Medium[];
}

/** All calls of one turn, together; the results keep their order. */
async function runAll(
  calls: readonly ToolCall[],
  { media }: Conversation,
  parts: LoopParts,
  notes: Notes,
): Promise<readonly Answered[]> {
  parts.rest();
  for (const { name, json } of calls) notes.called(name, json);
  let timer = parts.startTimer(signOfLifeMs, alive);
  function alive(): void {
    notes.stillRunning();
    timer = parts.startTimer(signOfLifeMs, alive);
  }
  const results = await Promise.all(calls.map((call) => run(call, parts))).finally(() => timer.cancel());
  const answered: Answered[] = [];
  let count = media.length;
  for (const [index, { id, name }] of calls.entries()) {
    const characters = Math.min(mostCharacters, Math.floor(parts.contextSize / calls.length));
    parts.ran?.(name, results[index]?.isError === true);
    const given = resultContent(results[index] ?? {}, { characters, senses: parts.senses, media: count });
    count += given.media.length;
    const message: Message = { role: 'tool', content: given.content, callId: id, toolName: name };
    answered.push({ message, media: given.media });
    if (!parts.stopped.aborted) notes.gave(name, wordsOf(given.content));
  }
  notes.done();
  return answered;
}

/** Whatever goes wrong is a result too: the model can say so, or try something else. */
async function run({ name, json }: ToolCall, { servers, stopped }: LoopParts): Promise<ServedResult> {
  const given = argumentsOf(json);
  if (!given) return failure('its arguments are no JSON object.');
  try {
    return await servers.call({ name, arguments: given }, { signal: stopped });
  } catch (error) {
    return failure(error instanceof ToolCallError ? `${error.message} (${error.code})` : String(error));
  }
}

function argumentsOf(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json.trim() === '' ? '{}' : json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
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

function chatTool({ name, description, inputSchema }: ServedTool): Tool {
  return { name, ...(description === undefined ? {} : { description }), parameters: inputSchema };
}

type Finish = Extract<GenerationEvent, { type: 'finish' }>;

/** One reply of the model on the way to the answer: what it says is told on, what it calls is kept. */
class Turn {
  readonly #calls: ToolCall[] = [];
  text = '';
  reasoning = '';
  finish: Finish | undefined;
  failed = false;

  constructor(
    private readonly tell: (event: GenerationEvent) => void,
    private readonly isFirst: boolean,
    /** Between what was said before it and what it says. */
    private readonly separator: string,
  ) {}

  take(event: GenerationEvent): void {
    switch (event.type) {
      case 'start':
        // The reply has one beginning, whatever it takes.
        if (this.isFirst) this.tell(event);
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
          this.tell({ type: 'text-delta', text: this.separator });
        }
        this.text += event.text;
        break;
      case 'reasoning-delta':
        this.reasoning += event.text;
        break;
      default:
        break;
    }
    this.tell(event);
  }

  /** To be run, in the order in which they were made; none where the reply ended in another way. */
  get calls(): readonly ToolCall[] {
    return this.finish?.reason === 'tool-calls' ? this.#calls.filter(Boolean) : [];
  }

  /** Calls that did not become whole. */
  get cutCalls(): readonly ToolCall[] {
    return this.finish?.reason === 'tool-calls' ? [] : this.#calls.filter(Boolean);
  }
}

const shownCharacters = 400;

/**
 * What the server does for a reply is told in its thinking, which every dialect has a place for; between tags where the client
 * wants no place of its own for it, and not at all inside of an answer that has to be JSON.
 */
class Notes {
  readonly #separate: boolean;
  readonly #silent: boolean;
  #open = false;

  constructor(
    { reasoning, output }: Pick<ChatRequest, 'reasoning' | 'output'>,
    private readonly tell: (event: GenerationEvent) => void,
  ) {
    this.#separate = reasoning.separate;
    this.#silent = !reasoning.separate && output.type !== 'text';
  }

  /** What the model thought itself ends here. */
  endLine(): void {
    if (this.#separate) this.#write('\n');
  }

  called(name: string, json: string): void {
    this.#write(`Calling the tool ${name} ${shortened(json, shownCharacters)}\n`);
  }

  /** A sign of life, where silence might be taken for the end. */
  stillRunning(): void {
    if (this.#separate) this.#write('.');
  }

  gave(name: string, words: string): void {
    this.#write(`\n${name}: ${shortened(words, shownCharacters)}\n`);
  }

  done(): void {
    if (!this.#open) return;
    this.#open = false;
    this.tell({ type: 'text-delta', text: '</think>\n' });
  }

  #write(words: string): void {
    if (this.#silent) return;
    if (this.#separate) {
      this.tell({ type: 'reasoning-delta', text: words });
      return;
    }
    this.tell({ type: 'text-delta', text: this.#open ? words : `<think>\n${words}` });
    this.#open = true;
  }
}

interface ResultLimits {
  /** How much of the text the model is shown. */
  readonly characters: number;
  /** What the model takes in beside text. */
  readonly senses: { readonly image: boolean; readonly audio: boolean };
  /** How many media the conversation has already. */
  readonly media: number;
}

interface ResultContent {
  readonly content: Content;
  readonly media: readonly Medium[];
}

/** Of one result: each takes hundreds of tokens. */
const mostMedia = 8;

/** What a tool gave, as the model is shown it: words, and pictures and sounds where it has the sense for them. */
export function resultContent(result: ServedResult, limits: ResultLimits): ResultContent {
  const media: Medium[] = [];
  const words = itemsOf(result).map((item) => {
    const medium = mediumOf(item);
    if (!medium) return itemText(item);
    if (!limits.senses[medium.kind]) return `(${medium.kind}: this model cannot take it in)`;
    if (media.length >= mostMedia) return `(${medium.kind}: left out, after ${mostMedia} of them)`;
    media.push(medium);
    return `(the ${medium.kind} is attached)`;
  });
  const said = words.join('\n') || '(the tool gave nothing)';
  const told = result.isError === true ? `The tool failed: ${said}` : said;
  const places = media.map((_, index) => ({ type: 'medium' as const, index: limits.media + index }));
  return { content: [...text(shortened(told, limits.characters)), ...places], media };
}

/** The beginning, and how much is missing: a model that knows it can ask for less. */
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
  if (typeof item.text === 'string') return item.text;
  if (item.type === 'resource_link') return [item.name, item.uri, item.description].filter(isWords).join(' – ');
  const resource = item.resource as Item | undefined;
  if (item.type === 'resource' && typeof resource === 'object' && resource !== null) {
    return isWords(resource.text) ? resource.text : `(the file ${String(resource.uri)}: no text)`;
  }
  return JSON.stringify(item);
}

function isWords(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
