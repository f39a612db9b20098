import type { StoredItem } from '../../store/responses.ts';
import { Frames } from './frames.ts';
import type { Change, ItemKind } from './output.ts';
import type { ResponseObject } from './response.ts';

/** The stream that would have told a stored response, each text in one piece. */
export async function* replay(
  response: ResponseObject,
  finished: () => Promise<ResponseObject | undefined>,
): AsyncGenerator<string> {
  const frames = new Frames();
  const begun = {
    ...response,
    status: 'in_progress',
    completed_at: null,
    error: null,
    incomplete_details: null,
  } as const;
  yield frames.created({ ...begun, output: [], usage: null });
  const whole = await finished();
  const last: ResponseObject = whole ?? { ...response, status: 'failed', error: gone };
  let text = '';
  for (const item of last.output) for (const change of changesOf(item)) text += frames.change(change);
  yield text + frames.ended(last);
}

const gone = { code: 'server_error', message: 'The response was deleted before it was finished.' };

const kinds: ReadonlySet<string> = new Set<ItemKind>(['reasoning', 'message', 'function_call', 'custom_tool_call']);

function changesOf(item: StoredItem): readonly Change[] {
  if (!kinds.has(item.type)) return [];
  const kind = item.type as ItemKind;
  const { first, delta, logprobs } = opening(kind, item);
  const grown: readonly Change[] = delta === '' ? [] : [{ type: 'grown', delta, logprobs }];
  return [{ type: 'opened', kind, item: first }, ...grown, { type: 'closed', item }];
}

interface Opening {
  readonly first: StoredItem;
  readonly delta: string;
  readonly logprobs: readonly object[];
}

function opening(kind: ItemKind, item: StoredItem): Opening {
  const status = 'in_progress';
  switch (kind) {
    case 'reasoning': {
      const [part] = item.summary as { text: string }[];
      const { id, type } = item;
      return { first: { id, type, summary: [] }, delta: part?.text ?? '', logprobs: [] };
    }
    case 'message': {
      const [part] = item.content as { text: string; logprobs: object[] }[];
      return { first: { ...item, status, content: [] }, delta: part?.text ?? '', logprobs: part?.logprobs ?? [] };
    }
    case 'function_call':
      return { first: { ...item, status, arguments: '' }, delta: String(item.arguments), logprobs: [] };
    case 'custom_tool_call':
      return { first: { ...item, status, input: '' }, delta: String(item.input), logprobs: [] };
  }
}
