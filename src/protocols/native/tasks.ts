import type { FinishReason } from '../../core/events.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import type { AbortOutcome, TextService } from '../../core/text-service.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import type { DialectParts } from '../dialect.ts';
import { bodyOf, endpointRow, type ModelEndpoint } from '../endpoint.ts';
import { aside, fidelityOf, textOrNumber, withSchema } from '../fields.ts';
import { clientName } from '../ticket.ts';
import { encodeLogprobs } from './encode.ts';
import { nativeFamily } from './errors.ts';

/** Strings, not booleans: clients compare with these. */
const abortReplies: Record<AbortOutcome, { readonly success: string; readonly done: string }> = {
  stopped: { success: 'true', done: 'true' },
  pending: { success: 'true', done: 'false' },
  refused: { success: 'false', done: 'false' },
};

const keyFields = {
  genkey: withSchema(
    textOrNumber,
    aside('honoured', 'The key that came with the request; nothing means the running one.'),
  ),
};

export const taskFidelity: EndpointFidelity = fidelityOf(
  'Native text API',
  'POST /api/extra/generate/check, /api/extra/last_logprobs, /api/extra/abort',
  keyFields,
);

type TaskParts = Pick<DialectParts, 'text'>;

const row = endpointRow({ method: 'POST', match: 'ending', queued: false, family: nativeFamily });

/** Look at and stop running generations. */
export const taskEndpoints: readonly ModelEndpoint<TaskParts>[] = [
  ...both('/api/extra/generate/check', 'The text so far of the running generation.', check),
  ...both('/api/extra/last_logprobs', 'The probabilities of the tokens of the last generation.', logprobs),
  row(
    '/api/extra/abort',
    'Stop the running generation, or the one with this genkey.',
    async (call, { text }: TaskParts) => json(abortReplies[text.abort(await genkeyOf(call), clientName(call))]),
  ),
];

function both(path: string, summary: string, answer: (genkey: string, client: string, text: TextService) => Reply) {
  return [
    row(path, `${summary} Only without a genkey.`, (call, { text }: TaskParts) => answer('', clientName(call), text), {
      method: 'GET',
    }),
    row(path, summary, async (call, { text }: TaskParts) => answer(await genkeyOf(call), clientName(call), text)),
  ];
}

function check(genkey: string, client: string, text: TextService): Reply {
  const finish = text.finished(genkey);
  const queue = text.queuePosition(genkey);
  const result = {
    text: text.check(genkey, client),
    // Only for those that go on without their client: why it has ended, or null while it runs.
    ...(finish === undefined ? {} : { finish_reason: finish && finishNames[finish] }),
    // Only while it waits.
    ...(queue ? { queue_position: queue.position, queue_estimate: queue.estimateSeconds } : {}),
  };
  return json({ results: [result] });
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

/** A missing or invalid body means the running generation; clients often send none. */
async function genkeyOf(call: Call): Promise<string> {
  try {
    const { genkey } = await bodyOf(call, 'object');
    return typeof genkey === 'string' || typeof genkey === 'number' ? String(genkey) : '';
  } catch {
    return '';
  }
}
