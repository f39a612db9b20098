import { AppError } from '../../core/errors.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import { refuseWithoutModel } from '../../core/model-error.ts';
import type { GenerationRequest, Ticket } from '../../core/request.ts';
import { withReplySeed } from '../../core/sampling-fields.ts';
import { type JsonObject, jsonObject } from '../../http/body.ts';
import { type Call, type Headers, json, type Reply } from '../../http/call.ts';
import { commentFrame, sseHeaders } from '../../http/sse.ts';
import { allShortfalls, type DialectParts, noticeHeaders, streamReply, withShortfall } from '../dialect.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { readFields } from '../fields/table.ts';
import { findMarks } from '../fill-marks.ts';
import { generateAll } from '../generate-all.ts';
import { type CallTicket, ticketFor } from '../ticket.ts';
import { resolveBias } from './bias.ts';
import { type CompletionOptions, decodeOptions } from './decode.ts';
import { stopEarly } from './early-stop.ts';
import { encodeStream, finalBody, type ReplyView } from './encode.ts';
import { errorBody, llamacppFamily } from './errors.ts';
import { completionFidelity, gapFields, infillFidelity, optionFields, promptFields } from './fields.ts';
import { infillPrompt } from './infill.ts';
import { decodePrompts, promptText } from './prompts.ts';
import { type CompletionRecord, recordOf } from './record.ts';

type WrittenPrompt = Pick<GenerationRequest, 'prompt' | 'media'>;

interface Written {
  readonly prompts: readonly WrittenPrompt[];
  /** Several prompts in a list have their replies in one too. */
  readonly list: boolean;
}

/** How an endpoint makes its prompts. */
interface PromptSource {
  readonly fidelity: EndpointFidelity;
  readonly prompts: (body: JsonObject, maxTokens: number) => Promise<Written>;
}

const post = { method: 'POST', access: 'guarded', queued: true, family: llamacppFamily } as const;

/** The path must match whole: as an ending it would catch the completions of other families. */
export const completionEndpoints: readonly ModelEndpoint<DialectParts>[] = [
  {
    ...post,
    match: 'exact',
    path: '/completion',
    summary: 'Continue a text, in the form of the llama.cpp server.',
    handle: answerCompletion,
  },
  {
    ...post,
    match: 'ending',
    path: '/infill',
    summary: 'Fill in the middle between two pieces of code.',
    handle: fillIn,
  },
];

function answerCompletion(call: Call, parts: DialectParts): Promise<Reply> {
  const { text } = parts;
  return complete(call, parts, {
    fidelity: completionFidelity,
    prompts: async (body) => {
      const { prompt } = readFields(promptFields, body);
      const written = decodePrompts(prompt, text.state()).map(async ({ pieces, media }) => ({
        prompt: await promptText(pieces, text),
        media,
      }));
      return { prompts: await Promise.all(written), list: Array.isArray(prompt) };
    },
  });
}

/** A model without marks for the gap is told before anything is read: no body could help. */
async function fillIn(call: Call, parts: DialectParts): Promise<Reply> {
  const { text } = parts;
  const search = await findMarks(text);
  refuseWithoutModel(text.state());
  if (search.type === 'missing') return json(errorBody(501, search.sentence), 501);
  const { marks } = search;
  return complete(call, parts, {
    fidelity: infillFidelity,
    prompts: async (body, maxTokens) => {
      const prompt = await infillPrompt(readFields(gapFields, body), maxTokens, { marks, text });
      return { prompts: [{ prompt, media: [] }], list: false };
    },
  });
}

async function complete(call: Call, parts: DialectParts, source: PromptSource): Promise<Reply> {
  const body = parts.applyDefaults(await jsonObject(call.body, { empty: 'refuse', signal: call.signal }));
  const fields = readFields(optionFields, body);
  const options = decodeOptions(fields, body, parts);
  const bias = fields.logit_bias;
  const { prompts, list } = await source.prompts(body, options.controls.maxTokens);
  refuseEarlyStopOfMany(options, prompts.length * options.count);
  // What the request forbids or likes by text can be known only with the model's tokens.
  const controls =
    bias.length > 0 ? { ...options.controls, ...(await resolveBias(bias, parts.text)) } : options.controls;
  const requests = prompts.flatMap((written) =>
    Array.from(
      { length: options.count },
      (_, reply): GenerationRequest => withReplySeed({ ...controls, ...written, memory: '' }, reply),
    ),
  );
  const model = parts.modelName();
  const views = requests.map(
    ({ prompt }, index): ReplyView => ({ index, model, prompt, controls, output: options.output, now: parts.now }),
  );
  const run: Run = { requests, views, options, stop: new AbortController() };
  const ticket = ticketFor(call, fields.genkey);
  const ownTicket = { ...ticket, signal: AbortSignal.any([ticket.signal, run.stop.signal]) };
  const headers = noticeHeaders(body, source.fidelity);
  if (options.output.stream) return answerStream(run, ownTicket, parts, headers);
  return answerWhole(run, ownTicket, parts, { headers, list: list && requests.length > 1 });
}

interface Run {
  readonly requests: readonly GenerationRequest[];
  readonly views: readonly ReplyView[];
  readonly options: CompletionOptions;
  readonly stop: AbortController;
}

async function answerWhole(
  run: Run,
  ticket: Ticket,
  parts: DialectParts,
  { headers, list }: { readonly headers: Headers; readonly list: boolean },
): Promise<Reply> {
  const records: CompletionRecord[] = [];
  try {
    for (const events of started(run, ticket, parts)) records.push(await recordOf(events));
  } catch (error) {
    // The replies that would have come after this one are of no use to anybody.
    run.stop.abort();
    throw error;
  }
  const bodies = records.map((record, index) => finalBody(record, run.views[index] as ReplyView));
  return json(list || bodies.length > 1 ? bodies : bodies[0], 200, withShortfall(headers, allShortfalls(records)));
}

function answerStream(run: Run, ticket: CallTicket, parts: DialectParts, headers: Headers): Promise<Reply> {
  const [first, ...rest] = started(run, ticket, parts);
  if (!first) throw new AppError('invalid-field', { field: 'prompt', expected: 'something' });
  return streamReply(
    first,
    async function* (events) {
      try {
        for (const [index, each] of [events, ...rest].entries()) {
          if (!(yield* encodeStream(each, run.views[index] as ReplyView))) return;
        }
      } finally {
        run.stop.abort();
      }
    },
    { headers: { ...sseHeaders, ...headers }, filler: commentFrame('keepalive'), ticket, startTimer: parts.startTimer },
  );
}

function started({ requests, options, stop }: Run, ticket: Ticket, { text, now }: DialectParts) {
  const { leastIndent, milliseconds } = options.earlyStop;
  const all = generateAll(text, requests, ticket);
  if (leastIndent === 0 && milliseconds === 0) return all;
  return all.map((events) => stopEarly(events, options.earlyStop, { stop: () => stop.abort(), now }));
}

/** To stop one reply is to stop the place in the queue that all of them share. */
function refuseEarlyStopOfMany({ earlyStop }: CompletionOptions, count: number): void {
  const field = earlyStop.leastIndent > 0 ? 'n_indent' : earlyStop.milliseconds > 0 ? 't_max_predict_ms' : undefined;
  if (field === undefined || count <= 1) return;
  throw new AppError('unsupported', { feature: `${field} for several replies`, instead: 'ask for them one by one' });
}
