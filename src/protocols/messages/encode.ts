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
import type { EngineNotices } from '../dialect.ts';
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
export const ping = frame('ping');

const messageStop = frame('message_stop');

/** Of a reply that ended before its start. */
const unknownStart = emptyStart(Number.POSITIVE_INFINITY, -1);

const brokenOff = () => new AppError('internal', { reason: 'the reply broke off' });

/** Clients throw on events before the start of the message, and need an end in every case. */
export async function* encodeStream(events: AsyncIterable<GenerationEvent>, facts: ReplyFacts): AsyncGenerator<string> {
  const reply = new Reply(facts);
  try {
    for await (const event of facts.warmUp ? withoutReply(events) : events) {
      const frames = event.type === 'error' ? reply.fail(event.error) : reply.read(event);
      if (frames !== '') yield frames;
      if (event.type === 'finish' || event.type === 'error') return;
    }
  } catch (error) {
    yield reply.fail(asAppError(error));
    return;
  }
  yield reply.fail(brokenOff());
}

/** The sum of the events. An error is thrown. */
export async function foldReply(events: AsyncIterable<GenerationEvent>, facts: ReplyFacts) {
  const reply = new Reply(facts);
  for await (const event of facts.warmUp ? withoutReply(events) : events) {
    if (event.type === 'error') throw event.error;
    reply.read(event);
  }
  const engineNotices: EngineNotices = reply.start ?? {};
  return { message: reply.message(), engineNotices, warnings: reply.warnings };
}

/** A `result` of the server never grows. */
type Kind = 'compaction' | 'thinking' | 'text' | 'tool_use' | 'server_tool_use' | 'mcp_tool_use' | 'result';

interface Block {
  readonly kind: Kind;
  /** As it is when it opens. */
  readonly opened: object;
  content: string | null;
  /** They belong to all of a text, so that further text is another block. */
  readonly citations: object[];
}

const inputDelta = '"type":"input_json_delta","partial_json"';
const deltaFields: Record<Kind, string> = {
  compaction: '"type":"compaction_delta","encrypted_content":null,"content"',
  thinking: '"type":"thinking_delta","thinking"',
  text: '"type":"text_delta","text"',
  tool_use: inputDelta,
  server_tool_use: inputDelta,
  mcp_tool_use: inputDelta,
  result: '',
};

/** Reasoning is not signed, and not checked when it comes back; but clients need the field. */
const signature = '';
const unsigned = { type: 'signature_delta', signature };
const emptyBlocks = { thinking: { thinking: '', signature }, text: { text: '' } };

/** A list of content blocks: the frames of its stream, and their sum. One block is open at a time: it is closed before the next one opens. */
class Reply {
  start: Start | undefined;
  readonly warnings: string[] = [];
  readonly #facts: ReplyFacts;
  readonly #server: ServerToolBlocks;
  readonly #blocks: Block[] = [];
  /** The last block, unless it is closed. */
  #open: Block | undefined;
  /** A delta up to its text, which is the same for all deltas of a block. */
  #beforeDelta = '';
  #finish: Finish | undefined;

  constructor(facts: ReplyFacts) {
    this.#facts = facts;
    this.#server = new ServerToolBlocks(facts.hosted ?? { documentCitations: false, runsTools: false });
  }

  read(event: Exclude<GenerationEvent, { type: 'error' }>): string {
    switch (event.type) {
      case 'prompt-progress':
      case 'prompt-logprobs':
        return '';
      case 'compacting':
        return this.#begin() + ping + this.#compaction();
      case 'start':
        return this.#started(event);
      case 'reasoning-delta':
        return this.#grow('thinking', event.text);
      case 'text-delta':
        return this.#grow('text', event.text);
      case 'tool-start':
        return this.#opened('tool_use', { id: event.id, name: event.name, input: {} });
      case 'tool-delta':
        return event.json === '' ? '' : this.#delta(event.json);
      case 'tool-end':
        return this.#close();
      case 'server-tool':
        return this.#serverTool(event.step);
      case 'warning':
        this.warnings.push(event.code);
        // No event of this dialect has a place for it; people see a comment, clients skip it.
        return commentFrame(`warning: ${JSON.stringify(event.text)}`);
      case 'finish':
        this.#finish = event;
        return (
          this.#begin() + this.#end() + messageDelta(event, this.start, this.#facts, this.#server.usage()) + messageStop
        );
      default:
        return unreachable(event);
    }
  }

  fail(error: AppError): string {
    return this.#begin() + this.#close() + namedFrame('error', JSON.stringify(errorBody(error)));
  }

  message(): object {
    const finish = this.#finish;
    if (!finish) throw brokenOff();
    const steps = { ...iterations(finish.usage, this.start, this.#facts), ...this.#server.usage() };
    const content = this.#blocks.map(encodeBlock);
    return encodeMessage(this.#facts, content, encodeEnd(finish, this.start, this.#facts), finish.usage, steps);
  }

  #begin(): string {
    if (this.start) return '';
    this.start = unknownStart;
    return messageStart(unknownStart, this.#facts);
  }

  #started(event: Start): string {
    const isFirst = this.start === undefined;
    this.start = event;
    const { summary } = compactionOf(event, this.#facts) ?? {};
    const begun = isFirst ? messageStart(event, this.#facts) + ping : '';
    if (summary === undefined) return begun;
    return begun + (isFirst ? this.#compaction() : '') + this.#delta(summary) + this.#close();
  }

  /** A summary has one delta: clients replace the content by each. */
  #compaction(): string {
    return this.#opened('compaction', { content: null, encrypted_content: null });
  }

  /** Adds to the open block of this kind, or to a new one. */
  #grow(kind: 'thinking' | 'text', text: string): string {
    if (text === '') return '';
    const isOpen = this.#open?.kind === kind && this.#open.citations.length === 0;
    return (isOpen ? '' : this.#opened(kind, emptyBlocks[kind])) + this.#delta(text);
  }

  #serverTool(step: ServerToolStep): string {
    switch (step.type) {
      case 'call': {
        const { type, ...fields } = callBlock(step.call);
        const begun = this.#opened(type, { ...fields, input: {} });
        return begun + this.#delta(JSON.stringify(step.call.input)) + this.#close();
      }
      case 'outcome':
        return this.#opened('result', this.#server.result(step)) + this.#close();
      case 'citation': {
        const citation = this.#open?.kind === 'text' ? this.#server.citation(step) : undefined;
        if (!citation) return '';
        this.#open?.citations.push(citation);
        return this.#frame('content_block_delta', { delta: { type: 'citations_delta', citation } });
      }
      case 'listed':
      case 'approval':
        return '';
    }
  }

  /** An empty reply still has a block: clients look at the first one. */
  #end(): string {
    const hasBlock = this.#blocks.length > 0 || this.#facts.warmUp === true;
    return (hasBlock ? '' : this.#opened('text', emptyBlocks.text)) + this.#close();
  }

  /** One more piece of the open block. */
  #delta(piece: string | null): string {
    if (this.#open) this.#open.content = piece === null ? null : (this.#open.content ?? '') + piece;
    return `${this.#beforeDelta}${JSON.stringify(piece)}}}\n\n`;
  }

  #close(): string {
    const open = this.#open;
    if (!open) return '';
    this.#open = undefined;
    const signed = open.kind === 'thinking' ? this.#frame('content_block_delta', { delta: unsigned }) : '';
    return signed + this.#frame('content_block_stop');
  }

  #opened(kind: Kind, fields: object): string {
    const closing = this.#close();
    const opened = { type: kind, ...fields };
    this.#open = { kind, opened, content: '', citations: [] };
    this.#blocks.push(this.#open);
    const start = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.#blocks.length - 1}`;
    this.#beforeDelta = `${start},"delta":{${deltaFields[kind]}:`;
    return closing + this.#frame('content_block_start', { content_block: opened });
  }

  /** About the last block. */
  #frame(type: string, fields: object = {}): string {
    return frame(type, { index: this.#blocks.length - 1, ...fields });
  }
}

/** A call that was cut off has the beginning of its arguments; the reason of the end shows that it was cut. */
function encodeBlock({ kind, opened, content, citations }: Block): object {
  switch (kind) {
    case 'result':
      return opened;
    case 'compaction':
      return { ...opened, content };
    case 'thinking':
      return { ...opened, thinking: content };
    case 'text':
      return { ...opened, text: content, ...(citations.length > 0 && { citations }) };
    default:
      return { ...opened, input: partialObject(content ?? '') };
  }
}

function messageStart({ promptTokens, cachedTokens }: Start, facts: ReplyFacts): string {
  const usage = { promptTokens, cachedTokens, completionTokens: 0 };
  const message = encodeMessage(facts, [], { stop_reason: null, stop_sequence: null }, usage);
  return frame('message_start', { message });
}

function messageDelta(finish: Finish, start: Start | undefined, facts: ReplyFacts, served: object): string {
  const usage = encodeUsage(finish.usage, { ...iterations(finish.usage, start, facts), ...served });
  return frame('message_delta', { delta: encodeEnd(finish, start, facts), usage, ...encodeEdits(facts) });
}

/** The type is in the name of the event and in its data: clients read one or the other. */
function frame(type: string, fields: object = {}): string {
  return namedFrame(type, JSON.stringify({ type, ...fields }));
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
