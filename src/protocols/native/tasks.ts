import type { FinishReason } from '../../core/events.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import type { QueuePosition } from '../../core/request.ts';
import type { AbortOutcome, TextService } from '../../core/text-service.ts';
import { jsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { textOrNumber } from '../fields/schemas.ts';
import { aside, fidelityOf, sentAs } from '../fields/table.ts';
import { clientName } from '../ticket.ts';
import { nativeFamily } from './errors.ts';
import { encodeLogprobs } from './logprobs.ts';

/** Strings, not booleans: clients compare with these. */
const abortReplies: Record<AbortOutcome, { readonly success: string; readonly done: string }> = {
  stopped: { success: 'true', done: 'true' },
  pending: { success: 'true', done: 'false' },
  refused: { success: 'false', done: 'false' },
};

const keyFields = {
  genkey: sentAs(textOrNumber, aside('honoured', 'The key that came with the request; nothing means the running one.')),
};

export const taskFidelity: EndpointFidelity = fidelityOf(
  'Native text API',
  'POST /api/extra/generate/check, /api/extra/last_logprobs, /api/extra/abort',
  keyFields,
);

export interface TaskParts {
  readonly text: TextService;
}

const guarded = { match: 'ending', access: 'guarded', queued: false, family: nativeFamily } as const;

/** Looking at and stopping what runs. */
export const taskEndpoints: readonly ModelEndpoint<TaskParts>[] = [
  ...both('/api/extra/generate/check', 'The text so far of the running generation.', check),
  ...both('/api/extra/last_logprobs', 'The probabilities of the tokens of the last generation.', logprobs),
  {
    ...guarded,
    method: 'POST',
    path: '/api/extra/abort',
    summary: 'Stop the running generation, or the one with this genkey.',
    handle: async (call, { text }) => json(abortReplies[text.abort(await genkeyOf(call), clientName(call))]),
  },
];

function both(
  path: string,
  summary: string,
  answer: (genkey: string, client: string, text: TextService) => Reply,
): readonly ModelEndpoint<TaskParts>[] {
  return [
    {
      ...guarded,
      method: 'GET',
      path,
      summary: `${summary} Only without a genkey.`,
      handle: (call, { text }) => answer('', clientName(call), text),
    },
    {
      ...guarded,
      method: 'POST',
      path,
      summary,
      handle: async (call, { text }) => answer(await genkeyOf(call), clientName(call), text),
    },
  ];
}

function check(genkey: string, client: string, text: TextService): Reply {
  const state = { ...finishField(text.finished(genkey)), ...standingFields(text.queuePosition(genkey)) };
  return json({ results: [{ text: text.check(genkey, client), ...state }] });
}

function logprobs(genkey: string, client: string, text: TextService): Reply {
  const tokens = text.lastLogprobs(genkey, client);
  return json({ logprobs: tokens ? encodeLogprobs(tokens) : null });
}

const finishNames: Readonly<Record<FinishReason | 'error', string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  aborted: 'abort',
  error: 'error',
};

/** Only of those that go on without their client: why it has ended, or null while there is more to come. */
function finishField(finish: ReturnType<TextService['finished']>): object {
  if (finish === undefined) return {};
  return { finish_reason: finish && finishNames[finish] };
}

/** Only while it waits: its text is empty for as long.  */
function standingFields(standing: QueuePosition | undefined): object {
  return standing ? { queue_position: standing.position, queue_estimate: standing.estimateSeconds } : {};
}

/** A body that is missing or broken asks about the only generation there is; clients send nothing at all here. */
async function genkeyOf(call: Call): Promise<string> {
  try {
    const { genkey } = await jsonObject(call.body, { empty: 'object', signal: call.signal });
    return typeof genkey === 'string' || typeof genkey === 'number' ? String(genkey) : '';
  } catch {
    return '';
  }
}
