import { type FinishReason, type GenerationEvent, type TokenLogprob, unreachable } from '../../core/events.ts';
import type { StoredItem } from '../../store/responses.ts';
import { spokenTokens } from '../spoken-tokens.ts';
import { sealed } from './conversation.ts';
import { logprobObjects } from './logprobs.ts';
import { customInput, type OfferedTool } from './tools.ts';

export type ItemKind = 'reasoning' | 'message' | 'function_call' | 'custom_tool_call';

/** What an event does to the output: an item opens, grows or is whole. Streams tell it, whole answers only sum it up. */
export type Change =
  | { readonly type: 'opened'; readonly kind: ItemKind; readonly item: StoredItem }
  | { readonly type: 'grown'; readonly delta: string; readonly logprobs: readonly object[] }
  | { readonly type: 'closed'; readonly item: StoredItem };

export interface OutputParts {
  readonly newId: (prefix: string) => string;
  readonly offered: readonly OfferedTool[];
  readonly withLogprobs: boolean;
  readonly withSealedThinking: boolean;
}

interface OpenItem {
  readonly kind: ItemKind;
  readonly first: StoredItem;
  content: string;
  readonly logprobs: object[];
}

type GenerationPart = Exclude<GenerationEvent, { readonly type: 'start' | 'finish' | 'error' | 'warning' }>;

const nothing: readonly Change[] = [];
const noLogprobs: readonly object[] = [];

/** The items of an answer. One is open at a time: whatever begins another, or ends the answer, closes it first. */
export class OutputItems {
  readonly #parts: OutputParts;
  readonly #items: StoredItem[] = [];
  #open: OpenItem | undefined;
  readonly #spoken = spokenTokens();

  constructor(parts: OutputParts) {
    this.#parts = parts;
  }

  /** The items that are whole. */
  get items(): readonly StoredItem[] {
    return this.#items;
  }

  read(event: GenerationPart): readonly Change[] {
    switch (event.type) {
      case 'prompt-logprobs':
        return nothing;
      case 'reasoning-delta':
        this.#spoken(event);
        return event.text === '' ? nothing : this.#grow('reasoning', event.text, noLogprobs);
      case 'text-delta':
        return this.#text(event.text, this.#spoken(event));
      case 'tool-start':
        return this.#begin(this.#call(event.id, event.name));
      case 'tool-delta':
        return this.#arguments(event.json);
      case 'tool-end':
        return this.#close(isJson(this.#open?.content ?? '') ? 'completed' : 'incomplete');
      default:
        return unreachable(event);
    }
  }

  /** An answer without calls has a message, even one that says nothing; unless it never came to its answer. */
  finish(reason: FinishReason | 'error'): readonly Change[] {
    const whole = reason === 'stop' || reason === 'tool-calls';
    const closed = this.#close(whole ? 'completed' : 'incomplete');
    const answered = this.#items.some(({ type }) => type !== 'reasoning');
    if (answered || (!whole && this.#items.length > 0) || reason === 'error') return closed;
    return [...closed, ...this.#begin(this.#message()), ...this.#close(whole ? 'completed' : 'incomplete')];
  }

  #text(text: string, logprobs: readonly TokenLogprob[] | undefined): readonly Change[] {
    const figures = this.#parts.withLogprobs && logprobs ? logprobObjects(logprobs) : noLogprobs;
    return text === '' ? nothing : this.#grow('message', text, figures);
  }

  #grow(kind: 'reasoning' | 'message', delta: string, logprobs: readonly object[]): readonly Change[] {
    const begun =
      this.#open?.kind === kind ? nothing : this.#begin(kind === 'message' ? this.#message() : this.#thinking());
    if (this.#open) {
      this.#open.content += delta;
      this.#open.logprobs.push(...logprobs);
    }
    return [...begun, { type: 'grown', delta, logprobs }];
  }

  /** The text of a custom tool stands inside JSON, so that nothing of it can be told before it is whole. */
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
    const item = this.#whole(open, status);
    this.#items.push(item);
    const closed: Change = { type: 'closed', item };
    if (open.kind !== 'custom_tool_call' || item.input === '') return [closed];
    return [{ type: 'grown', delta: String(item.input), logprobs: noLogprobs }, closed];
  }

  #thinking(): OpenItem {
    return openItem('reasoning', { id: this.#parts.newId('rs_'), type: 'reasoning', summary: [] });
  }

  #message(): OpenItem {
    const id = this.#parts.newId('msg_');
    return openItem('message', { id, type: 'message', status: 'in_progress', role: 'assistant', content: [] });
  }

  #call(callId: string, known: string): OpenItem {
    const offered = this.#parts.offered.find(({ tool }) => tool.name === known);
    const name = offered?.name ?? known;
    const more = offered?.namespace === undefined ? {} : { namespace: offered.namespace };
    if (offered?.kind === 'custom') {
      const first = { id: this.#parts.newId('ctc_'), type: 'custom_tool_call', status: 'in_progress', call_id: callId };
      return openItem('custom_tool_call', { ...first, name, ...more, input: '' });
    }
    const first = { id: this.#parts.newId('fc_'), type: 'function_call', status: 'in_progress', call_id: callId };
    return openItem('function_call', { ...first, name, ...more, arguments: '' });
  }

  #whole({ kind, first, content, logprobs }: OpenItem, status: string): StoredItem {
    switch (kind) {
      case 'reasoning': {
        const seal = this.#parts.withSealedThinking ? { encrypted_content: sealed(content) } : {};
        return { ...first, summary: [{ type: 'summary_text', text: content }], ...seal };
      }
      case 'message':
        return { ...first, status, content: [{ type: 'output_text', text: content, annotations: [], logprobs }] };
      case 'function_call':
        return { ...first, status, arguments: content };
      case 'custom_tool_call':
        return { ...first, status, input: customInput(content) ?? content };
    }
  }
}

function openItem(kind: ItemKind, first: StoredItem): OpenItem {
  return { kind, first, content: '', logprobs: [] };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
