import { type FinishReason, type GenerationEvent, type TokenLogprob, unreachable } from '../../core/events.ts';
import { tryParseJson } from '../../core/json.ts';
import type { ServerCall, ServerOutcome, ServerToolStep } from '../../core/server-tools.ts';
import { namedFrame } from '../../http/sse.ts';
import type { StoredItem } from '../../store/responses.ts';
import { urlCitation } from '../hosted-tools.ts';
import { alignedLogprobs } from '../logprob-alignment.ts';
import { sealText } from '../sealed-text.ts';
import { sealSummary } from './compaction.ts';
import { fileCitation, fileSearchItem, finishedFileSearch } from './file-search.ts';
import { approvalItem, finishedMcp, listItem, mcpItem } from './mcp-tools.ts';
import { customInput, type OfferedTool } from './tools.ts';
import { finishedSearch, searchItem } from './web-search.ts';

/** The object that clients get; the keys that the request decides are not listed here. */
export interface ResponseObject extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly status: 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'cancelled' | 'failed';
  readonly output: readonly StoredItem[];
}

/** The kinds of items: the names of their events, and where their content is. */
const itemKinds = {
  reasoning: {
    text: 'response.reasoning_summary_text',
    place: { summary_index: 0 },
    part: { name: 'response.reasoning_summary_part', empty: { type: 'summary_text', text: '' } },
  },
  message: {
    text: 'response.output_text',
    place: { content_index: 0 },
    part: { name: 'response.content_part', empty: { type: 'output_text', text: '', annotations: [], logprobs: [] } },
  },
  function_call: { text: 'response.function_call_arguments', place: {}, part: undefined },
  custom_tool_call: { text: 'response.custom_tool_call_input', place: {}, part: undefined },
  web_search_call: { text: 'response.web_search_call', place: {}, part: undefined },
  file_search_call: { text: 'response.file_search_call', place: {}, part: undefined },
  mcp_call: { text: 'response.mcp_call_arguments', place: {}, part: undefined },
};

/** Items of what the server itself does for a reply. */
const serverKinds: ReadonlySet<string> = new Set(['web_search_call', 'file_search_call', 'mcp_call', 'mcp_list_tools']);
/** Items of searches: their states are events, and they have no deltas. */
const searchKinds: ReadonlySet<string> = new Set(['web_search_call', 'file_search_call']);
/** Items that come in one piece. */
const wholeKinds: ReadonlySet<string> = new Set(['mcp_list_tools', 'mcp_approval_request']);

type ItemKind = keyof typeof itemKinds;

/** What an event does to the output: an item opens, grows or closes. Streams send it; whole replies only have the sum. */
type Change =
  | { readonly type: 'opened'; readonly kind: ItemKind; readonly item: StoredItem }
  | { readonly type: 'grown'; readonly delta: string; readonly logprobs: readonly object[] }
  | { readonly type: 'annotated'; readonly index: number; readonly annotation: object }
  | { readonly type: 'closed' | 'whole'; readonly item: StoredItem }
  /** The item with the summary of the conversation, which has no deltas. */
  | { readonly type: 'compacting' | 'compacted'; readonly item: StoredItem };

export interface OutputOptions {
  readonly newId: (prefix: string) => string;
  readonly offered: readonly OfferedTool[];
  readonly withLogprobs: boolean;
  readonly withEncryptedReasoning: boolean;
  readonly withSearchSources: boolean;
  readonly withFileResults: boolean;
}

interface OpenItem {
  readonly kind: ItemKind;
  readonly first: StoredItem;
  content: string;
  readonly logprobs: object[];
  readonly annotations: object[];
  /** Of an item of the server. */
  readonly call?: ServerCall;
  outcome?: ServerOutcome;
}

type GenerationPart = Exclude<GenerationEvent, { readonly type: 'start' | 'finish' | 'error' | 'warning' }>;

const nothing: readonly Change[] = [];
const noLogprobs: readonly object[] = [];

/** The items of a reply. One is open at a time: it is closed before the next one opens, and at the end. */
export class OutputItems {
  readonly #options: OutputOptions;
  /** The closed items. */
  readonly items: StoredItem[] = [];
  #open: OpenItem | undefined;
  #compaction: StoredItem | undefined;
  readonly #spoken = alignedLogprobs();
  /** Calls that the server runs at the same time: their items come one after the other. */
  readonly #running: ServerCall[] = [];

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  read(event: GenerationPart): readonly Change[] {
    switch (event.type) {
      case 'server-tool':
        return this.#serverTool(event.step);
      case 'prompt-logprobs':
      case 'prompt-progress':
        return nothing;
      case 'compacting':
        return this.#compacting();
      case 'reasoning-delta':
        this.#spoken(event);
        return event.text === '' ? nothing : this.#grow('reasoning', event.text, noLogprobs);
      case 'text-delta': {
        const logprobs = this.#spoken(event);
        const encoded = this.#options.withLogprobs && logprobs ? logprobs.map(encodeLogprob) : noLogprobs;
        return event.text === '' ? nothing : this.#grow('message', event.text, encoded);
      }
      case 'tool-start':
        return this.#begin(this.#call(event.id, event.name));
      case 'tool-delta':
        return this.#arguments(event.json);
      case 'tool-end':
        return this.#close(tryParseJson(this.#open?.content ?? '') === undefined ? 'incomplete' : 'completed');
      default:
        return unreachable(event);
    }
  }

  /** A reply without calls has a message, even an empty one, unless it ended before its answer. */
  finish(reason: FinishReason | 'error'): readonly Change[] {
    const whole = reason === 'stop' || reason === 'tool-calls';
    const status = whole ? 'completed' : 'incomplete';
    const closed = this.#close(status);
    const answered = this.items.some(({ type }) => type !== 'reasoning' && !serverKinds.has(type));
    if (answered || (!whole && this.items.length > 0) || reason === 'error') return closed;
    return [...closed, ...this.#begin(this.#opened('message')), ...this.#close(status)];
  }

  #compacting(): readonly Change[] {
    const item = { id: this.#options.newId('cmp_'), type: 'compaction', encrypted_content: '' };
    this.#compaction = item;
    return [{ type: 'compacting', item }];
  }

  compacted(summary: string | null): readonly Change[] {
    const opened = this.#compaction ? nothing : this.#compacting();
    const sealed = sealSummary({ summary, keepsUsers: false });
    const item = { ...(this.#compaction as StoredItem), encrypted_content: sealed };
    this.items.push(item);
    return [...opened, { type: 'compacted', item }];
  }

  #serverTool(step: ServerToolStep): readonly Change[] {
    switch (step.type) {
      case 'call':
        this.#running.push(step.call);
        return this.#running.length === 1 ? this.#beginCall() : nothing;
      case 'outcome': {
        if (this.#open && serverKinds.has(this.#open.kind)) this.#open.outcome = step.outcome;
        this.#running.shift();
        return [...this.#close('completed'), ...this.#beginCall()];
      }
      case 'citation': {
        if (this.#open?.kind !== 'message') return nothing;
        const { content, annotations } = this.#open;
        const end = content.length - step.back;
        const annotation = fileCitation(step.source, end) ?? {
          type: 'url_citation',
          ...urlCitation(content, { source: step.source, start: end - step.length, end }),
        };
        annotations.push(annotation);
        return [{ type: 'annotated', index: annotations.length - 1, annotation }];
      }
      case 'listed':
        return this.#whole(listItem(this.#options.newId('mcpl_'), step));
      case 'approval':
        return this.#whole(approvalItem(this.#options.newId('mcpr_'), step.call));
    }
  }

  #whole(item: StoredItem): readonly Change[] {
    const closed = this.#close('completed');
    this.items.push(item);
    return [...closed, { type: 'whole', item }];
  }

  #beginCall(): readonly Change[] {
    const [call] = this.#running;
    if (!call) return nothing;
    if (call.kind === 'documents')
      return this.#begin({ ...openItem(fileSearchItem(this.#options.newId('fs_'))), call });
    if (call.kind !== 'mcp') return this.#begin(openItem(searchItem(this.#options.newId('ws_'), call)));
    return [...this.#begin(openItem(mcpItem(this.#options.newId('mcp_'), call))), ...this.#arguments(call.json)];
  }

  #grow(kind: 'reasoning' | 'message', delta: string, logprobs: readonly object[]): readonly Change[] {
    const begun = this.#open?.kind === kind ? nothing : this.#begin(this.#opened(kind));
    if (this.#open) {
      this.#open.content += delta;
      this.#open.logprobs.push(...logprobs);
    }
    return [...begun, { type: 'grown', delta, logprobs }];
  }

  /** The input of a custom tool is inside of JSON, so that it can only be sent when it is complete. */
  #arguments(json: string): readonly Change[] {
    if (!this.#open || json === '') return nothing;
    this.#open.content += json;
    return this.#open.kind === 'custom_tool_call' ? nothing : [{ type: 'grown', delta: json, logprobs: noLogprobs }];
  }

  #begin(open: OpenItem): readonly Change[] {
    const closed = this.#close('completed');
    this.#open = open;
    return [...closed, { type: 'opened', kind: open.kind, item: open.first }];
  }

  #close(status: 'completed' | 'incomplete'): readonly Change[] {
    const open = this.#open;
    if (!open) return nothing;
    this.#open = undefined;
    const item = this.#closed(open, status);
    this.items.push(item);
    const closed: Change = { type: 'closed', item };
    if (open.kind !== 'custom_tool_call' || item.input === '') return [closed];
    return [{ type: 'grown', delta: String(item.input), logprobs: noLogprobs }, closed];
  }

  #opened(kind: 'reasoning' | 'message'): OpenItem {
    if (kind === 'reasoning') return openItem({ id: this.#options.newId('rs_'), type: kind, summary: [] });
    const id = this.#options.newId('msg_');
    return openItem({ id, type: kind, status: 'in_progress', role: 'assistant', content: [] });
  }

  #call(callId: string, known: string): OpenItem {
    const offered = this.#options.offered.find(({ tool }) => tool.name === known);
    const custom = offered?.kind === 'custom';
    return openItem({
      id: this.#options.newId(custom ? 'ctc_' : 'fc_'),
      type: custom ? 'custom_tool_call' : 'function_call',
      status: 'in_progress',
      call_id: callId,
      name: offered?.name ?? known,
      ...(offered?.namespace !== undefined && { namespace: offered.namespace }),
      ...(custom ? { input: '' } : { arguments: '' }),
    });
  }

  #closed({ kind, first, content, logprobs, annotations, call, outcome }: OpenItem, status: string): StoredItem {
    switch (kind) {
      case 'reasoning': {
        const seal = this.#options.withEncryptedReasoning ? { encrypted_content: sealText(content) } : {};
        return { ...first, summary: [{ type: 'summary_text', text: content }], ...seal };
      }
      case 'message':
        return { ...first, status, content: [{ type: 'output_text', text: content, annotations, logprobs }] };
      case 'function_call':
        return { ...first, status, arguments: content };
      case 'custom_tool_call':
        return { ...first, status, input: customInput(content) ?? content };
      case 'web_search_call':
        return outcome
          ? finishedSearch(first, outcome, this.#options.withSearchSources)
          : { ...first, status: 'incomplete' };
      case 'file_search_call': {
        const { withFileResults: withResults } = this.#options;
        return call ? finishedFileSearch(first, call, { outcome, withResults }) : first;
      }
      case 'mcp_call': {
        const called = { ...first, arguments: content };
        return outcome ? finishedMcp(called, outcome) : { ...called, status: 'incomplete' };
      }
    }
  }
}

function openItem(first: StoredItem & { readonly type: ItemKind }): OpenItem {
  return { kind: first.type, first, content: '', logprobs: [], annotations: [] };
}

function encodeLogprob(token: TokenLogprob): object {
  const choice = ({ text, logprob, bytes }: TokenLogprob['top'][number]) => ({ token: text, logprob, bytes });
  return { ...choice(token), top_logprobs: token.top.map(choice) };
}

/** The frames of one stream, numbered from 0. Clients throw on a missing index, and on a part that was not opened. */
export class Frames {
  #sequence = 0;
  #index = -1;
  #kind: ItemKind = 'message';
  #place: object = {};
  /** A delta up to its text, and from there to its number: the rest is the same while an item is open. */
  #beforeDelta = '';
  #afterDelta = '';

  created(response: ResponseObject): string {
    return this.#frame('response.created', { response }) + this.status(response);
  }

  /** There is no event for a cancelled response, and official clients throw on unknown names. */
  status(response: ResponseObject): string {
    const status = response.status === 'cancelled' ? 'incomplete' : response.status;
    return this.#frame(`response.${status}`, { response });
  }

  changes(changes: readonly Change[]): string {
    let text = '';
    for (const change of changes) text += this.#change(change);
    return text;
  }

  #change(change: Change): string {
    switch (change.type) {
      case 'opened':
        return this.#opened(change.kind, change.item);
      case 'grown': {
        const { delta, logprobs } = change;
        const figures = this.#kind === 'message' ? (logprobs.length > 0 ? JSON.stringify(logprobs) : '[]') : '';
        const number = this.#sequence++;
        const text = `${this.#beforeDelta}${JSON.stringify(delta)}${this.#afterDelta}${figures}`;
        return `${text},"sequence_number":${number}}\n\n`;
      }
      case 'annotated': {
        const { index, annotation } = change;
        return this.#placed(`${itemKinds.message.text}.annotation.added`, { annotation_index: index, annotation });
      }
      case 'closed':
        return this.#closed(change.item);
      case 'whole':
        return this.#whole(change.item);
      case 'compacting': {
        const { item } = change;
        this.#index += 1;
        const place = { item_id: item.id, output_index: this.#index };
        const added = this.#frame('response.output_item.added', { output_index: this.#index, item });
        return added + this.#frame('response.compaction.compacting', place);
      }
      case 'compacted':
        return this.#frame('response.output_item.done', { output_index: this.#index, item: change.item });
    }
  }

  #opened(kind: ItemKind, item: StoredItem): string {
    const { text, place, part } = itemKinds[kind];
    this.#kind = kind;
    this.#index += 1;
    this.#place = { item_id: item.id, output_index: this.#index, ...place };
    const name = `${text}.delta`;
    this.#beforeDelta = `event: ${name}\ndata: ${JSON.stringify({ type: name, ...this.#place }).slice(0, -1)},"delta":`;
    this.#afterDelta = kind === 'message' ? ',"logprobs":' : '';
    const added = this.#frame('response.output_item.added', { output_index: this.#index, item });
    if (searchKinds.has(kind)) {
      return added + this.#placed(`${text}.in_progress`, {}) + this.#placed(`${text}.searching`, {});
    }
    if (kind === 'mcp_call') return added + this.#placed('response.mcp_call.in_progress', {});
    return part ? added + this.#placed(`${part.name}.added`, { part: part.empty }) : added;
  }

  #whole(item: StoredItem): string {
    this.#index += 1;
    this.#place = { item_id: item.id, output_index: this.#index };
    const isList = item.type === 'mcp_list_tools';
    const ended = isList ? ['in_progress', item.error === null ? 'completed' : 'failed'] : [];
    const added = isList ? { ...item, tools: [], error: null } : item;
    return (
      this.#frame('response.output_item.added', { output_index: this.#index, item: added }) +
      ended.map((state) => this.#placed(`response.mcp_list_tools.${state}`, {})).join('') +
      this.#frame('response.output_item.done', { output_index: this.#index, item })
    );
  }

  #closed(item: StoredItem): string {
    const { text: name, part } = itemKinds[this.#kind];
    const { done, part: closed } = contentOf(this.#kind, item);
    const closing = this.#frame.bind(this, 'response.output_item.done');
    if (searchKinds.has(this.#kind)) {
      const completed = item.status === 'completed' ? this.#placed(`${name}.completed`, {}) : '';
      return completed + closing({ output_index: this.#index, item });
    }
    const whole =
      this.#placed(`${name}.done`, done) + (part ? this.#placed(`${part.name}.done`, { part: closed }) : '');
    const ended = ['completed', 'failed'].includes(String(item.status)) && this.#kind === 'mcp_call';
    const outcome = ended ? this.#placed(`response.mcp_call.${item.status}`, {}) : '';
    return whole + outcome + closing({ output_index: this.#index, item });
  }

  #placed(name: string, fields: object): string {
    return this.#frame(name, { ...this.#place, ...fields });
  }

  #frame(name: string, fields: object): string {
    return namedFrame(name, JSON.stringify({ type: name, sequence_number: this.#sequence++, ...fields }));
  }
}

/** The content of a closed item: as the events `….done` have it, as text, and the item before it had any. */
function contentOf(kind: ItemKind, item: StoredItem) {
  const status = 'in_progress';
  switch (kind) {
    case 'reasoning': {
      const [part] = item.summary as { text: string }[];
      const { id, type } = item;
      return { done: { text: part?.text }, part, text: part?.text ?? '', empty: { id, type, summary: [] } };
    }
    case 'message': {
      const [part] = item.content as { text: string; logprobs: object[] }[];
      const { text, logprobs } = part ?? itemKinds.message.part.empty;
      return { done: { text, logprobs }, part, text, logprobs, empty: { ...item, status, content: [] } };
    }
    case 'function_call': {
      const { name, arguments: json } = item;
      return { done: { name, arguments: json }, text: String(json), empty: { ...item, status, arguments: '' } };
    }
    case 'custom_tool_call': {
      const { input } = item;
      return { done: { input }, text: String(input), empty: { ...item, status, input: '' } };
    }
    case 'web_search_call':
      return { done: {}, text: '', empty: { ...item, status } };
    case 'file_search_call':
      return { done: {}, text: '', empty: { ...item, status, queries: [], results: null } };
    case 'mcp_call': {
      const { arguments: json } = item;
      const empty = { ...item, status, arguments: '', output: null, error: null };
      return { done: { arguments: json }, text: String(json), empty };
    }
  }
}

/** The stream of a stored response, each text in one piece. */
export async function* replay(
  response: ResponseObject,
  finished: () => Promise<ResponseObject | undefined>,
): AsyncGenerator<string> {
  const frames = new Frames();
  const undone = { completed_at: null, error: null, incomplete_details: null, output: [], usage: null };
  yield frames.created({ ...response, status: 'in_progress', ...undone });
  const gone = { code: 'server_error', message: 'The response was deleted before it was finished.' };
  const last: ResponseObject = (await finished()) ?? { ...response, status: 'failed', error: gone };
  yield frames.changes(last.output.flatMap(changesOf)) + frames.status(last);
}

function changesOf(item: StoredItem): readonly Change[] {
  if (item.type === 'compaction') {
    return [
      { type: 'compacting', item: { ...item, encrypted_content: '' } },
      { type: 'compacted', item },
    ];
  }
  if (wholeKinds.has(item.type)) return [{ type: 'whole', item }];
  if (!Object.hasOwn(itemKinds, item.type)) return [];
  const kind = item.type as ItemKind;
  const { text: delta, logprobs = noLogprobs, empty } = contentOf(kind, item);
  const grown: readonly Change[] = delta === '' ? [] : [{ type: 'grown', delta, logprobs }];
  return [{ type: 'opened', kind, item: empty }, ...grown, { type: 'closed', item }];
}
