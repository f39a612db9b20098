import { namedFrame } from '../../http/sse.ts';
import type { StoredItem } from '../../store/responses.ts';
import type { Change, ItemKind } from './output.ts';
import type { ResponseObject } from './response.ts';

/** How the deltas of each kind of item are called, and what else is told when it opens and closes. */
const deltaNames: Record<ItemKind, string> = {
  reasoning: 'response.reasoning_summary_text.delta',
  message: 'response.output_text.delta',
  function_call: 'response.function_call_arguments.delta',
  custom_tool_call: 'response.custom_tool_call_input.delta',
};

const places: Record<ItemKind, object> = {
  reasoning: { summary_index: 0 },
  message: { content_index: 0 },
  function_call: {},
  custom_tool_call: {},
};

const terminals: Partial<Record<ResponseObject['status'], string>> = {
  completed: 'response.completed',
  incomplete: 'response.incomplete',
  failed: 'response.failed',
  // There is no event for it, and official clients throw on names they do not know.
  cancelled: 'response.incomplete',
};

/**
 * The frames of one stream, numbered from 0. Clients keep a copy of the response and apply every frame to it, so that a
 * missing index or a part that was not opened first makes them throw.
 */
export class Frames {
  #sequence = 0;
  #index = -1;
  #kind: ItemKind = 'message';
  #place: object = {};
  /** A delta up to its text, and from there to its number: all but these stays the same while an item is open. */
  #beforeDelta = '';
  #afterDelta = '';

  created(response: ResponseObject): string {
    return this.#frame('response.created', { response }) + this.#frame('response.in_progress', { response });
  }

  /** Instead of `created` for a response whose turn has not come; `inProgress` follows when it has. */
  createdQueued(response: ResponseObject): string {
    return this.#frame('response.created', { response }) + this.queued(response);
  }

  queued(response: ResponseObject): string {
    return this.#frame('response.queued', { response });
  }

  /** Agents take a stream for dead when nothing but comments comes, so this is told again during long silences (or `queued`). */
  inProgress(response: ResponseObject): string {
    return this.#frame('response.in_progress', { response });
  }

  ended(response: ResponseObject): string {
    return this.#frame(terminals[response.status] ?? 'response.failed', { response });
  }

  change(change: Change): string {
    switch (change.type) {
      case 'opened':
        return this.#opened(change.kind, change.item);
      case 'grown': {
        const { delta, logprobs } = change;
        const figures = this.#kind === 'message' ? (logprobs.length > 0 ? JSON.stringify(logprobs) : '[]') : '';
        return `${this.#beforeDelta}${JSON.stringify(delta)}${this.#afterDelta}${figures}${this.#numberEnd()}`;
      }
      case 'closed':
        return this.#closed(change.item);
    }
  }

  #opened(kind: ItemKind, item: StoredItem): string {
    this.#kind = kind;
    this.#index += 1;
    this.#place = { item_id: item.id, output_index: this.#index, ...places[kind] };
    const name = deltaNames[kind];
    this.#beforeDelta = `event: ${name}\ndata: ${JSON.stringify({ type: name, ...this.#place }).slice(0, -1)},"delta":`;
    this.#afterDelta = kind === 'message' ? ',"logprobs":' : '';
    const added = this.#frame('response.output_item.added', { output_index: this.#index, item });
    if (kind === 'reasoning')
      return added + this.#placed('response.reasoning_summary_part.added', { part: summary('') });
    if (kind === 'message') return added + this.#placed('response.content_part.added', { part: emptyText });
    return added;
  }

  #closed(item: StoredItem): string {
    return this.#wholeContent(item) + this.#frame('response.output_item.done', { output_index: this.#index, item });
  }

  #wholeContent(item: StoredItem): string {
    switch (this.#kind) {
      case 'reasoning': {
        const [part] = item.summary as { text: string }[];
        const done = this.#placed('response.reasoning_summary_text.done', { text: part?.text });
        return done + this.#placed('response.reasoning_summary_part.done', { part });
      }
      case 'message': {
        const [part] = item.content as { text: string; logprobs: object[] }[];
        const { text, logprobs } = part ?? emptyText;
        return (
          this.#placed('response.output_text.done', { text, logprobs }) +
          this.#placed('response.content_part.done', { part })
        );
      }
      case 'function_call':
        return this.#placed('response.function_call_arguments.done', { name: item.name, arguments: item.arguments });
      case 'custom_tool_call':
        return this.#placed('response.custom_tool_call_input.done', { input: item.input });
    }
  }

  #placed(name: string, fields: object): string {
    return this.#frame(name, { ...this.#place, ...fields });
  }

  #frame(name: string, fields: object): string {
    const data = JSON.stringify({ type: name, sequence_number: this.#sequence, ...fields });
    this.#sequence += 1;
    return namedFrame(name, data);
  }

  #numberEnd(): string {
    const end = `,"sequence_number":${this.#sequence}}\n\n`;
    this.#sequence += 1;
    return end;
  }
}

const emptyText = { type: 'output_text', text: '', annotations: [], logprobs: [] };

function summary(text: string): object {
  return { type: 'summary_text', text };
}
