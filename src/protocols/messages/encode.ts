import type { CompactionRequest } from '../../chat/request.ts';
import { AppError, asAppError } from '../../core/errors.ts';
import {
  type Compaction,
  emptyStart,
  type FinishReason,
  type GenerationEvent,
  type Usage,
  unreachable,
} from '../../core/events.ts';
import type { ServerToolStep } from '../../core/server-tools.ts';
import { commentFrame, namedFrame } from '../../http/sse.ts';
import type { Shortfall } from '../dialect.ts';
import { partialObject } from '../partial-json.ts';
import type { AppliedEdit } from './context-management.ts';
import { errorBody } from './errors.ts';
import { callBlock, type HostedFacts, ServerToolBlocks } from './server-tools.ts';

/** What all events of one reply have in common. */
export interface ReplyFacts {
  readonly id: string;
  readonly model: string;
  /** The stop texts of the request: the server may add its own. */
  readonly stop: readonly string[];
  /** The length of the reply before it was cut to the context. */
  readonly maxTokens: number;
  /** The prompt is only read into the cache: the reply has no content. Any other reply has a block, even an empty one. */
  readonly warmUp?: boolean;
  /** Undefined unless the request has `context_management`. */
  readonly appliedEdits?: readonly AppliedEdit[] | undefined;
  /** Undefined unless the request asks for a summary. */
  readonly compaction?: Pick<CompactionRequest, 'pause'> | undefined;
  /** For a request with tools that the server runs, or with documents that are cited. */
  readonly hosted?: HostedFacts;
}

type Start = Extract<GenerationEvent, { type: 'start' }>;
type Finish = Extract<GenerationEvent, { type: 'finish' }>;

/** Also the keep-alive of a stream. */
export const ping = frame('ping', '');

const messageStop = frame('message_stop', '');

/** Of a reply that ended before its start. */
const unknownStart = emptyStart(Number.POSITIVE_INFINITY, -1);

const brokenOff = () => new AppError('internal', { reason: 'the reply broke off' });

/** A reply is a list of content blocks. One is open at a time: it is closed before the next one opens, and at the end. */
export async function* encodeStream(events: AsyncIterable<GenerationEvent>, facts: ReplyFacts): AsyncGenerator<string> {
  const blocks = new Blocks(facts);
  let start: Start | undefined;
  /** Clients throw on events before the start of the message. */
  const begin = (): string => {
    if (start) return '';
    start = unknownStart;
    return messageStart(unknownStart, facts);
  };
  const failure = (error: AppError): string =>
    begin() + blocks.close() + namedFrame('error', JSON.stringify(errorBody(error)));
  try {
    for await (const event of repliesOf(events, facts)) {
      switch (event.type) {
        case 'prompt-progress':
          break;
        case 'compacting':
          yield begin() + ping + blocks.compaction();
          break;
        case 'start': {
          const opened = start !== undefined;
          start = event;
          const { summary } = compactionOf(event, facts) ?? {};
          if (!opened) yield messageStart(event, facts) + ping;
          if (summary !== undefined) yield (opened ? '' : blocks.compaction()) + blocks.delta(summary) + blocks.close();
          break;
        }
        case 'reasoning-delta':
          if (event.text !== '') yield blocks.grow('thinking', event.text);
          break;
        case 'text-delta':
          if (event.text !== '') yield blocks.grow('text', event.text);
          break;
        case 'tool-start':
          yield blocks.tool(event.id, event.name);
          break;
        case 'tool-delta':
          if (event.json !== '') yield blocks.delta(event.json);
          break;
        case 'tool-end':
          yield blocks.close();
          break;
        case 'server-tool':
          yield blocks.serverTool(event.step);
          break;
        case 'prompt-logprobs':
          break;
        case 'warning':
          // No event of this dialect has a place for it; people see a comment, clients skip it.
          yield commentFrame(`warning: ${JSON.stringify(event.text)}`);
          break;
        case 'finish':
          yield begin() + blocks.end(facts) + messageDelta(event, start, facts, blocks.usage()) + messageStop;
          return;
        case 'error':
          yield failure(event.error);
          return;
        default:
          unreachable(event);
      }
    }
  } catch (error) {
    yield failure(asAppError(error));
    return;
  }
  yield failure(brokenOff());
}

type Kind = 'compaction' | 'thinking' | 'text' | 'tool_use' | 'server_tool_use' | 'mcp_tool_use';

const deltaFields: Record<Kind, string> = {
  compaction: '"type":"compaction_delta","encrypted_content":null,"content"',
  thinking: '"type":"thinking_delta","thinking"',
  text: '"type":"text_delta","text"',
  tool_use: '"type":"input_json_delta","partial_json"',
  server_tool_use: '"type":"input_json_delta","partial_json"',
  mcp_tool_use: '"type":"input_json_delta","partial_json"',
};

const emptyFields = { thinking: '"thinking":"","signature":""', text: '"text":""' };

/** Reasoning is not signed, and not checked when it comes back; but clients need the field. */
const unsigned = '"delta":{"type":"signature_delta","signature":""}';

class Blocks {
  #index = -1;
  #open: Kind | undefined;
  /** A delta up to its text, which is the same for all deltas of a block. */
  #beforeDelta = '';
  /** Whether the open text has citations: they belong to all of it, so that further text is another block. */
  #isCited = false;
  readonly #server: ServerToolBlocks | undefined;

  constructor({ hosted }: ReplyFacts) {
    this.#server = hosted && new ServerToolBlocks(hosted);
  }

  /** Adds to the open block of this kind, or to a new one. */
  grow(kind: 'thinking' | 'text', text: string): string {
    const isOpen = this.#open === kind && !this.#isCited;
    return (isOpen ? '' : this.#begin(kind, emptyFields[kind])) + this.delta(text);
  }

  tool(id: string, name: string): string {
    return this.#begin('tool_use', `"id":${JSON.stringify(id)},"name":${JSON.stringify(name)},"input":{}`);
  }

  /** A summary has one delta: clients replace the content by each. */
  compaction(): string {
    return this.#begin('compaction', '"content":null,"encrypted_content":null');
  }

  serverTool(step: ServerToolStep): string {
    switch (step.type) {
      case 'call': {
        const { type, ...fields } = callBlock(step.call);
        const begun = this.#begin(type, `${JSON.stringify(fields).slice(1, -1)},"input":{}`);
        return begun + this.delta(JSON.stringify(step.call.input)) + this.close();
      }
      case 'outcome': {
        const closing = this.close();
        this.#index += 1;
        const place = `"index":${this.#index}`;
        const block = `${place},"content_block":${JSON.stringify(this.#server?.result(step))}`;
        return closing + frame('content_block_start', block) + frame('content_block_stop', place);
      }
      case 'citation': {
        const citation = this.#open === 'text' ? this.#server?.citation(step) : undefined;
        if (!citation) return '';
        this.#isCited = true;
        const delta = `"delta":{"type":"citations_delta","citation":${JSON.stringify(citation)}}`;
        return frame('content_block_delta', `"index":${this.#index},${delta}`);
      }
      case 'listed':
      case 'approval':
        return '';
    }
  }

  usage(): object {
    return this.#server?.usage() ?? {};
  }

  /** One more piece of the open block. */
  delta(piece: string | null): string {
    return `${this.#beforeDelta}${JSON.stringify(piece)}}}\n\n`;
  }

  /** An empty reply still has a block: clients look at the first one. */
  end({ warmUp }: ReplyFacts): string {
    const said = this.#index >= 0 || warmUp === true;
    return (said ? '' : this.#begin('text', emptyFields.text)) + this.close();
  }

  close(): string {
    if (this.#open === undefined) return '';
    const place = `"index":${this.#index}`;
    const signature = this.#open === 'thinking' ? frame('content_block_delta', `${place},${unsigned}`) : '';
    this.#open = undefined;
    return signature + frame('content_block_stop', place);
  }

  #begin(kind: Kind, fields: string): string {
    const closing = this.close();
    this.#open = kind;
    this.#isCited = false;
    this.#index += 1;
    const place = `"index":${this.#index}`;
    this.#beforeDelta = `event: content_block_delta\ndata: {"type":"content_block_delta",${place},"delta":{${deltaFields[kind]}:`;
    return closing + frame('content_block_start', `${place},"content_block":{"type":"${kind}",${fields}}`);
  }
}

function messageStart({ promptTokens, cachedTokens }: Start, facts: ReplyFacts): string {
  const usage = { promptTokens, cachedTokens, completionTokens: 0 };
  const message = encodeMessage(facts, [], { stop_reason: null, stop_sequence: null }, usage);
  return frame('message_start', `"message":${JSON.stringify(message)}`);
}

function messageDelta(finish: Finish, start: Start | undefined, facts: ReplyFacts, served: object): string {
  const delta = JSON.stringify(encodeEnd(finish, start, facts));
  const edits = facts.appliedEdits ? `,${JSON.stringify(encodeEdits(facts)).slice(1, -1)}` : '';
  const usage = JSON.stringify(encodeUsage(finish.usage, { ...iterations(finish.usage, start, facts), ...served }));
  return frame('message_delta', `"delta":${delta},"usage":${usage}${edits}`);
}

/** The type is in the name of the event and in its data: clients read one or the other. */
function frame(type: string, fields: string): string {
  return namedFrame(type, `{"type":"${type}"${fields === '' ? '' : `,${fields}`}}`);
}

function encodeMessage(facts: ReplyFacts, content: readonly object[], end: object, usage: Usage, steps = {}): object {
  const { id, model } = facts;
  const reply = { id, type: 'message', role: 'assistant', model, content, ...end, usage: encodeUsage(usage, steps) };
  return { ...reply, ...encodeEdits(facts) };
}

function encodeEdits({ appliedEdits }: ReplyFacts): object {
  return appliedEdits ? { context_management: { applied_edits: appliedEdits } } : {};
}

/** An aborted reply is reported as `max_tokens`: the dialect has no other word for text that is not complete. */
const reasons: Record<FinishReason, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  aborted: 'max_tokens',
};

/** What was compacted because the request asked for it. */
function compactionOf(start: Start | undefined, { compaction }: ReplyFacts): Compaction | undefined {
  return compaction && start?.compaction;
}

/** The steps of a compacted reply. The figures beside them do not include the summary. */
function iterations(usage: Usage, start: Start | undefined, facts: ReplyFacts): object {
  const summary = compactionOf(start, facts)?.usage;
  if (!summary) return {};
  const step = (type: string, { promptTokens, cachedTokens, completionTokens }: Usage) => ({
    type,
    input_tokens: promptTokens - cachedTokens,
    output_tokens: completionTokens,
    cache_read_input_tokens: cachedTokens,
    cache_creation_input_tokens: 0,
    cache_creation: null,
  });
  const message = facts.compaction?.pause ? [] : [{ ...step('message', usage), model: facts.model }];
  return { iterations: [step('compaction', summary), ...message] };
}

function encodeEnd({ reason, cause, stopText }: Finish, start: Start | undefined, facts: ReplyFacts) {
  const { stop, maxTokens } = facts;
  if (facts.compaction?.pause && compactionOf(start, facts)) return { stop_reason: 'compaction', stop_sequence: null };
  if (reason === 'stop' && cause === 'stop-text' && stopText !== undefined && stop.includes(stopText)) {
    return { stop_reason: 'stop_sequence', stop_sequence: stopText };
  }
  const contextFull = reason === 'length' && start !== undefined && start.maxTokens < maxTokens;
  return { stop_reason: contextFull ? 'model_context_window_exceeded' : reasons[reason], stop_sequence: null };
}

/** In this dialect `input_tokens` does not include cached tokens. */
function encodeUsage({ promptTokens, cachedTokens, completionTokens, reasoningTokens }: Usage, steps = {}): object {
  return {
    input_tokens: promptTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
    ...(reasoningTokens !== undefined && { output_tokens_details: { thinking_tokens: reasoningTokens } }),
    ...steps,
  };
}

interface FoldedBlock {
  readonly type: Exclude<Kind, 'compaction'> | 'whole';
  readonly call?: { readonly id: string; readonly name: string };
  /** A block that the server made in one piece. */
  readonly whole?: object;
  readonly citations?: object[];
  content: string;
}

/** The sum of the events, with the blocks in the order of the stream. */
export async function foldReply(events: AsyncIterable<GenerationEvent>, facts: ReplyFacts) {
  const blocks: FoldedBlock[] = [];
  const server = facts.hosted && new ServerToolBlocks(facts.hosted);
  const warnings: string[] = [];
  let start: Start | undefined;
  let finish: Finish | undefined;
  for await (const event of repliesOf(events, facts)) {
    switch (event.type) {
      case 'start':
        start = event;
        break;
      case 'reasoning-delta':
      case 'text-delta': {
        const type = event.type === 'text-delta' ? 'text' : 'thinking';
        const last = blocks.at(-1);
        if (last?.type === type && !last.citations?.length) last.content += event.text;
        else if (event.text !== '') blocks.push({ type, content: event.text, citations: [] });
        break;
      }
      case 'tool-start':
        blocks.push({ type: 'tool_use', call: { id: event.id, name: event.name }, content: '' });
        break;
      case 'tool-delta': {
        const last = blocks.at(-1);
        if (last?.type === 'tool_use') last.content += event.json;
        break;
      }
      case 'server-tool': {
        const { step } = event;
        const last = blocks.at(-1);
        if (step.type === 'call') {
          const whole = { ...callBlock(step.call), input: step.call.input };
          blocks.push({ type: 'whole', whole, content: '' });
        } else if (step.type === 'outcome' && server) {
          blocks.push({ type: 'whole', whole: server.result(step), content: '' });
        } else if (step.type === 'citation' && last?.type === 'text') {
          const citation = server?.citation(step);
          if (citation) last.citations?.push(citation);
        }
        break;
      }
      case 'tool-end':
      case 'prompt-logprobs':
      case 'prompt-progress':
      case 'compacting':
        break;
      case 'warning':
        warnings.push(event.code);
        break;
      case 'finish':
        finish = event;
        break;
      case 'error':
        throw event.error;
      default:
        unreachable(event);
    }
  }
  if (!finish) throw brokenOff();
  const { summary } = compactionOf(start, facts) ?? {};
  const content = [
    ...(summary === undefined ? [] : [{ type: 'compaction', content: summary, encrypted_content: null }]),
    ...blocks.map(encodeBlock),
  ];
  if (content.length === 0 && !facts.warmUp) content.push({ type: 'text', text: '' });
  const steps = { ...iterations(finish.usage, start, facts), ...server?.usage() };
  const message = encodeMessage(facts, content, encodeEnd(finish, start, facts), finish.usage, steps);
  const shortfall: Shortfall = start ?? {};
  return { message, shortfall, warnings };
}

/** A call that was cut off has the beginning of its arguments; the reason of the end shows that it was cut. */
function encodeBlock({ type, call, content, whole = {}, citations = [] }: FoldedBlock): object {
  switch (type) {
    case 'thinking':
      return { type, thinking: content, signature: '' };
    case 'text':
      return { type, text: content, ...(citations.length > 0 && { citations }) };
    case 'whole':
      return whole;
    default:
      return { type, ...call, input: partialObject(content) };
  }
}

function repliesOf(events: AsyncIterable<GenerationEvent>, { warmUp }: ReplyFacts): AsyncIterable<GenerationEvent> {
  return warmUp ? withoutReply(events) : events;
}

/** For a request of no tokens: the prompt is read into the cache, and the one token that the engine generates is dropped. */
async function* withoutReply(events: AsyncIterable<GenerationEvent>): AsyncGenerator<GenerationEvent> {
  for await (const event of events) {
    if (event.type === 'start' || event.type === 'warning' || event.type === 'error') yield event;
    if (event.type !== 'finish') continue;
    const { promptTokens, cachedTokens } = event.usage;
    const usage = { promptTokens, cachedTokens, completionTokens: 0 };
    yield { type: 'finish', reason: 'length', cause: 'limit', usage, timings: event.timings };
  }
}
