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

/** An event about an item: its name, and its fields beside the position. */
type ItemEvent = readonly [name: string, fields?: object];

/** How a kind of item is streamed, beside the events that every item has. */
interface ItemKind {
  /** The name of its deltas without `.delta`. */
  readonly content?: string;
  /** The fields of the event with the whole content. */
  readonly done?: (item: StoredItem) => Readonly<Record<string, unknown>>;
  /** Its index within the item, in each event. */
  readonly within?: object;
  /** Its fields before it has content. */
  readonly empty?: object;
  readonly opening?: readonly ItemEvent[];
  readonly closing?: (item: StoredItem) => readonly ItemEvent[];
}

/** Each text and each summary has one part. */
const partOf = (parts: unknown) => (parts as readonly [{ text: string; logprobs?: readonly object[] }])[0];

const searchKind = (name: string, empty: object): ItemKind => ({
  empty,
  opening: [[`${name}.in_progress`], [`${name}.searching`]],
  closing: ({ status }) => (status === 'completed' ? [[`${name}.completed`]] : []),
});

const emptyText = { type: 'output_text', text: '', annotations: [], logprobs: [] };

const itemKinds: Readonly<Record<string, ItemKind>> = {
  reasoning: {
    content: 'response.reasoning_summary_text',
    done: ({ summary }) => ({ text: partOf(summary).text }),
    within: { summary_index: 0 },
    empty: { summary: [], encrypted_content: undefined },
    opening: [['response.reasoning_summary_part.added', { part: { type: 'summary_text', text: '' } }]],
    closing: ({ summary }) => [['response.reasoning_summary_part.done', { part: partOf(summary) }]],
  },
  message: {
    content: 'response.output_text',
    done: ({ content }) => ({ text: partOf(content).text, logprobs: partOf(content).logprobs }),
    within: { content_index: 0 },
    empty: { content: [] },
    opening: [['response.content_part.added', { part: emptyText }]],
    closing: ({ content }) => [['response.content_part.done', { part: partOf(content) }]],
  },
  function_call: {
    content: 'response.function_call_arguments',
    done: ({ name, arguments: json }) => ({ name, arguments: json }),
    empty: { arguments: '' },
  },
  custom_tool_call: {
    content: 'response.custom_tool_call_input',
    done: ({ input }) => ({ input }),
    empty: { input: '' },
  },
  web_search_call: searchKind('response.web_search_call', {}),
  file_search_call: searchKind('response.file_search_call', { queries: [], results: null }),
  mcp_call: {
    content: 'response.mcp_call_arguments',
    done: ({ arguments: json }) => ({ arguments: json }),
    empty: { arguments: '', output: null, error: null },
    opening: [['response.mcp_call.in_progress']],
    closing: ({ status }) => (status === 'incomplete' ? [] : [[`response.mcp_call.${status}`]]),
  },
  mcp_list_tools: {
    empty: { tools: [], error: null },
    opening: [['response.mcp_list_tools.in_progress']],
    closing: ({ error }) => [[`response.mcp_list_tools.${error === null ? 'completed' : 'failed'}`]],
  },
  compaction: { empty: { encrypted_content: '' }, opening: [['response.compaction.compacting']] },
};

const kindOf = ({ type }: StoredItem): ItemKind => itemKinds[type] ?? {};

/** A finished item as it was when it opened. */
function emptied(item: StoredItem): StoredItem {
  return { ...item, ...('status' in item && { status: 'in_progress' }), ...kindOf(item).empty };
}

/** Items of what the server itself does for a reply. */
const serverKinds: ReadonlySet<string> = new Set(['web_search_call', 'file_search_call', 'mcp_call', 'mcp_list_tools']);

export interface OutputOptions {
  readonly newId: (prefix: string) => string;
  readonly offered: readonly OfferedTool[];
  readonly withLogprobs: boolean;
  readonly withEncryptedReasoning: boolean;
  readonly withSearchSources: boolean;
  readonly withFileResults: boolean;
  /** The request asks for a summary. */
  readonly compacts?: boolean;
}

interface OpenItem {
  /** As it was opened. */
  readonly item: StoredItem;
  content: string;
  readonly logprobs: object[];
  readonly annotations: object[];
  outcome?: ServerOutcome;
}

const noLogprobs: readonly object[] = [];

/** The items of a reply. One is open at a time: it is closed before the next one opens, and at the end. */
export class OutputItems {
  /** The closed items. */
  readonly items: StoredItem[] = [];
  #open: OpenItem | undefined;
  readonly #logprobsOf = alignedLogprobs();
  /** Calls that the server runs at the same time: their items come one after the other. */
  readonly #running: ServerCall[] = [];

  /** `frames`: for a stream, where everything is written as it comes. */
  constructor(
    private readonly options: OutputOptions,
    private readonly frames?: Frames,
  ) {}

  read(event: Exclude<GenerationEvent, { readonly type: 'finish' | 'error' }>): void {
    switch (event.type) {
      case 'prompt-logprobs':
      case 'prompt-progress':
      case 'warning':
        break;
      case 'compacting':
        this.#begin({ id: this.options.newId('cmp_'), type: 'compaction', encrypted_content: '' });
        break;
      case 'start':
        this.#compacted(event.compaction?.summary);
        break;
      case 'reasoning-delta':
        this.#logprobsOf(event);
        this.#grow('reasoning', event.text);
        break;
      case 'text-delta': {
        const logprobs = this.#logprobsOf(event);
        this.#grow('message', event.text, this.options.withLogprobs ? logprobs?.map(encodeLogprob) : undefined);
        break;
      }
      case 'tool-start':
        this.#begin(this.#call(event.id, event.name));
        break;
      case 'tool-delta':
        this.#arguments(event.json);
        break;
      case 'tool-end':
        this.#close(tryParseJson(this.#open?.content ?? '') === undefined ? 'incomplete' : 'completed');
        break;
      case 'server-tool':
        this.#serverTool(event.step);
        break;
      default:
        unreachable(event);
    }
  }

  /** A reply without calls has a message, even an empty one, unless it ended before its answer. */
  finish(reason: FinishReason | 'error'): void {
    const whole = reason === 'stop' || reason === 'tool-calls';
    const status = whole ? 'completed' : 'incomplete';
    this.#close(status);
    const answered = this.items.some(({ type }) => type !== 'reasoning' && !serverKinds.has(type));
    if (answered || (!whole && this.items.length > 0) || reason === 'error') return;
    this.#begin(this.#empty('message'));
    this.#close(status);
  }

  /** The summary is null if it failed, and undefined if there is none. */
  #compacted(summary: string | null | undefined): void {
    if (!this.options.compacts || summary === undefined) return;
    if (this.#open?.item.type !== 'compaction') this.read({ type: 'compacting' });
    if (this.#open) this.#open.content = sealSummary({ summary, keepsUsers: false });
    this.#close('completed');
  }

  #serverTool(step: ServerToolStep): void {
    const { newId } = this.options;
    switch (step.type) {
      case 'call':
        this.#running.push(step.call);
        if (this.#running.length === 1) this.#beginCall();
        break;
      case 'outcome':
        if (this.#open && serverKinds.has(this.#open.item.type)) this.#open.outcome = step.outcome;
        this.#close('completed');
        this.#running.shift();
        this.#beginCall();
        break;
      case 'citation': {
        if (this.#open?.item.type !== 'message') return;
        const { content, annotations } = this.#open;
        const end = content.length - step.back;
        const annotation = fileCitation(step.source, end) ?? {
          type: 'url_citation',
          ...urlCitation(content, { source: step.source, start: end - step.length, end }),
        };
        this.frames?.annotation(annotations.length, annotation);
        annotations.push(annotation);
        break;
      }
      case 'listed':
        this.#add(listItem(newId('mcpl_'), step));
        break;
      case 'approval':
        this.#add(approvalItem(newId('mcpr_'), step.call));
        break;
    }
  }

  /** An item that comes in one piece. */
  #add(item: StoredItem): void {
    this.#close('completed');
    this.frames?.whole(item);
    this.items.push(item);
  }

  #beginCall(): void {
    const [call] = this.#running;
    if (!call) return;
    const { newId } = this.options;
    if (call.kind === 'documents') this.#begin(fileSearchItem(newId('fs_')));
    else if (call.kind !== 'mcp') this.#begin(searchItem(newId('ws_'), call));
    else {
      this.#begin(mcpItem(newId('mcp_'), call));
      this.#arguments(call.json);
    }
  }

  #grow(type: 'reasoning' | 'message', delta: string, logprobs = noLogprobs): void {
    if (delta === '') return;
    if (this.#open?.item.type !== type) this.#begin(this.#empty(type));
    if (this.#open) {
      this.#open.content += delta;
      this.#open.logprobs.push(...logprobs);
    }
    this.frames?.delta(delta, logprobs);
  }

  /** The input of a custom tool is inside of JSON, so that it can only be sent when it is complete. */
  #arguments(json: string): void {
    if (!this.#open || json === '') return;
    this.#open.content += json;
    if (this.#open.item.type !== 'custom_tool_call') this.frames?.delta(json);
  }

  #begin(item: StoredItem): void {
    this.#close('completed');
    this.#open = { item, content: '', logprobs: [], annotations: [] };
    this.frames?.open(item);
  }

  #close(status: 'completed' | 'incomplete'): void {
    const open = this.#open;
    this.#open = undefined;
    // A summary that was begun and is not there leaves no item.
    if (!open || (open.item.type === 'compaction' && open.content === '')) return;
    const item = this.#closed(open, status);
    this.items.push(item);
    if (item.type === 'custom_tool_call' && item.input !== '') this.frames?.delta(String(item.input));
    this.frames?.close(item);
  }

  #empty(type: 'reasoning' | 'message'): StoredItem {
    if (type === 'reasoning') return { id: this.options.newId('rs_'), type, summary: [] };
    return { id: this.options.newId('msg_'), type, status: 'in_progress', role: 'assistant', content: [] };
  }

  #call(callId: string, known: string): StoredItem {
    const offered = this.options.offered.find(({ tool }) => tool.name === known);
    const custom = offered?.kind === 'custom';
    return {
      id: this.options.newId(custom ? 'ctc_' : 'fc_'),
      type: custom ? 'custom_tool_call' : 'function_call',
      status: 'in_progress',
      call_id: callId,
      name: offered?.name ?? known,
      ...(offered?.namespace !== undefined && { namespace: offered.namespace }),
      ...(custom ? { input: '' } : { arguments: '' }),
    };
  }

  #closed({ item, content, logprobs, annotations, outcome }: OpenItem, status: string): StoredItem {
    const { withEncryptedReasoning, withSearchSources, withFileResults } = this.options;
    const [call] = this.#running;
    switch (item.type) {
      case 'reasoning': {
        const seal = withEncryptedReasoning ? { encrypted_content: sealText(content) } : {};
        return { ...item, summary: [{ type: 'summary_text', text: content }], ...seal };
      }
      case 'message':
        return { ...item, status, content: [{ type: 'output_text', text: content, annotations, logprobs }] };
      case 'custom_tool_call':
        return { ...item, status, input: customInput(content) ?? content };
      case 'web_search_call':
        return outcome ? finishedSearch(item, outcome, withSearchSources) : { ...item, status: 'incomplete' };
      case 'file_search_call':
        return finishedFileSearch(item, call, { outcome, withResults: withFileResults });
      case 'mcp_call': {
        const called = { ...item, arguments: content };
        return outcome ? finishedMcp(called, outcome) : { ...called, status: 'incomplete' };
      }
      case 'compaction':
        return { ...item, encrypted_content: content };
      default:
        return { ...item, status, arguments: content };
    }
  }
}

function encodeLogprob(token: TokenLogprob): object {
  const choice = ({ text, logprob, bytes }: TokenLogprob['top'][number]) => ({ token: text, logprob, bytes });
  return { ...choice(token), top_logprobs: token.top.map(choice) };
}

/** The frames of one stream, numbered from 0. Clients throw on a missing index, and on a part that was not opened. */
export class Frames {
  #written = '';
  #sequence = 0;
  #index = -1;
  #position: object = {};
  /** A delta up to its text: it is the same while an item is open. */
  #beforeDelta = '';
  #hasLogprobs = false;

  /** What was written since the last call. */
  take(): string {
    const written = this.#written;
    this.#written = '';
    return written;
  }

  created(response: ResponseObject): void {
    this.#write('response.created', { response });
    this.status(response);
  }

  /** There is no event for a cancelled response, and official clients throw on unknown names. */
  status(response: ResponseObject): void {
    const status = response.status === 'cancelled' ? 'incomplete' : response.status;
    this.#write(`response.${status}`, { response });
  }

  open(item: StoredItem): void {
    const { content, within, opening = [] } = kindOf(item);
    this.#index += 1;
    this.#position = { item_id: item.id, output_index: this.#index, ...within };
    const type = `${content}.delta`;
    const fields = JSON.stringify({ type, ...this.#position }).slice(0, -1);
    this.#beforeDelta = `event: ${type}\ndata: ${fields},"delta":`;
    this.#hasLogprobs = item.type === 'message';
    this.#write('response.output_item.added', { output_index: this.#index, item });
    this.#about(opening);
  }

  delta(text: string, logprobs = noLogprobs): void {
    const figures = this.#hasLogprobs ? `,"logprobs":${logprobs.length > 0 ? JSON.stringify(logprobs) : '[]'}` : '';
    const number = this.#sequence++;
    this.#written += `${this.#beforeDelta}${JSON.stringify(text)}${figures},"sequence_number":${number}}\n\n`;
  }

  annotation(index: number, annotation: object): void {
    this.#about([['response.output_text.annotation.added', { annotation_index: index, annotation }]]);
  }

  close(item: StoredItem): void {
    const { content, done, closing } = kindOf(item);
    if (done) this.#about([[`${content}.done`, done(item)]]);
    this.#about(closing?.(item) ?? []);
    this.#write('response.output_item.done', { output_index: this.#index, item });
  }

  /** A finished item, its content in one piece. */
  whole(item: StoredItem): void {
    this.open(emptied(item));
    const { text, arguments: json, input, logprobs } = kindOf(item).done?.(item) ?? {};
    const content = text ?? json ?? input ?? '';
    if (content !== '') this.delta(String(content), logprobs as readonly object[] | undefined);
    this.close(item);
  }

  #about(events: readonly ItemEvent[]): void {
    for (const [name, fields] of events) this.#write(name, { ...this.#position, ...fields });
  }

  #write(name: string, fields: object): void {
    this.#written += namedFrame(name, JSON.stringify({ type: name, sequence_number: this.#sequence++, ...fields }));
  }
}

/** The stream of a stored response, each text in one piece. */
export async function* replay(
  response: ResponseObject,
  finished: () => Promise<ResponseObject | undefined>,
): AsyncGenerator<string> {
  const frames = new Frames();
  const undone = { completed_at: null, error: null, incomplete_details: null, output: [], usage: null };
  frames.created({ ...response, status: 'in_progress', ...undone });
  yield frames.take();
  const error = { code: 'server_error', message: 'The response was deleted before it was finished.' };
  const last: ResponseObject = (await finished()) ?? { ...response, status: 'failed', error };
  for (const item of last.output) frames.whole(item);
  frames.status(last);
  yield frames.take();
}
