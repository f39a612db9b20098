import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import { refuseWithoutModel } from '../../core/model-error.ts';
import type { GenerationRequest, Ticket } from '../../core/request.ts';
import { withReplySeed } from '../../core/sampling-fields.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, type Headers, json, type Reply } from '../../http/call.ts';
import { commentFrame, sseHeaders } from '../../http/sse.ts';
import { allShortfalls, type DialectParts, noticeHeaders, streamReply, withShortfall } from '../dialect.ts';
import { bodyOf, endpointRow, type ModelEndpoint } from '../endpoint.ts';
import { readFields } from '../fields/table.ts';
import { findMarks } from '../fill-marks.ts';
import { generateAll } from '../generate-all.ts';
import { type CallTicket, ticketFor } from '../ticket.ts';
import { resolveBias } from './bias.ts';
import { type CompletionOptions, decodeOptions, type EarlyStop } from './decode.ts';
import { type CompletionRecord, encodeStream, finalBody, type ReplyView, recordOf } from './encode.ts';
import { errorBody, llamacppFamily } from './errors.ts';
import { completionFidelity, gapFields, infillFidelity, optionFields, promptFields } from './fields.ts';
import { decodePrompts, infillPrompt, promptText } from './prompts.ts';

type Prompt = Pick<GenerationRequest, 'prompt' | 'media'>;

/** How an endpoint makes its prompts. */
interface PromptSource {
  readonly fidelity: EndpointFidelity;
  /** `list`: several prompts were sent in a list, and so are their replies. */
  readonly prompts: (
    body: JsonObject,
    maxTokens: number,
  ) => Promise<{ readonly prompts: readonly Prompt[]; readonly list: boolean }>;
}

const row = endpointRow({ method: 'POST', match: 'exact', access: 'guarded', queued: true, family: llamacppFamily });

export const completionEndpoints: readonly ModelEndpoint<DialectParts>[] = [
  // An exact path: as an ending it would match the completions of other dialects.
  row('/completion', 'Continue a text, in the form of the llama.cpp server.', answerCompletion),
  row('/infill', 'Fill in the middle between two pieces of code.', fillIn, { match: 'ending' }),
];

function answerCompletion(call: Call, parts: DialectParts): Promise<Reply> {
  const { text } = parts;
  return complete(call, parts, {
    fidelity: completionFidelity,
    prompts: async (body) => {
      const { prompt } = readFields(promptFields, body);
      const prompts = decodePrompts(prompt, text.state()).map(async ({ pieces, media }) => ({
        prompt: await promptText(pieces, text),
        media,
      }));
      return { prompts: await Promise.all(prompts), list: Array.isArray(prompt) };
    },
  });
}

/** Refused before the body is read if the model has no fill-in-the-middle marks: no body could help. */
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
  const body = parts.applyDefaults(await bodyOf(call));
  const fields = readFields(optionFields, body);
  const options = decodeOptions(fields, body, parts);
  const bias = fields.logit_bias;
  const { prompts, list } = await source.prompts(body, options.controls.maxTokens);
  refuseEarlyStopOfMany(options, prompts.length * options.count);
  // Biases by text need the tokenizer.
  const controls =
    bias.length > 0 ? { ...options.controls, ...(await resolveBias(bias, parts.text)) } : options.controls;
  const requests = prompts.flatMap((prompt) =>
    Array.from(
      { length: options.count },
      (_, reply): GenerationRequest => withReplySeed({ ...controls, ...prompt, memory: '' }, reply),
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
    // The other replies are not needed any more.
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

/** All replies share one place in the queue, so that stopping one would stop them all. */
function refuseEarlyStopOfMany({ earlyStop }: CompletionOptions, count: number): void {
  const field = earlyStop.leastIndent > 0 ? 'n_indent' : earlyStop.milliseconds > 0 ? 't_max_predict_ms' : undefined;
  if (field === undefined || count <= 1) return;
  throw new AppError('unsupported', { feature: `${field} for several replies`, instead: 'ask for them one by one' });
}

/**
 * Ends the text at a line that is indented too little, or after a whole line once the time is over. The generation is
 * stopped; its remaining text is dropped, and its end becomes a limit that was reached.
 */
async function* stopEarly(
  events: AsyncIterable<GenerationEvent>,
  rule: EarlyStop,
  { stop, now }: { readonly stop: () => void; readonly now: () => number },
): AsyncGenerator<GenerationEvent> {
  let text = '';
  let firstAt: number | undefined;
  let over = false;
  for await (const event of events) {
    if (event.type !== 'text-delta') {
      yield event.type === 'finish' && over ? { ...event, reason: 'length', cause: 'limit' } : event;
      continue;
    }
    if (over) continue;
    firstAt ??= now();
    const shown = text.length;
    text += event.text;
    const end = lineTooShallow(text, rule.leastIndent);
    const late = rule.milliseconds > 0 && now() - firstAt > rule.milliseconds && text.includes('\n');
    yield end === undefined ? event : { ...event, text: text.slice(shown, end) };
    if (end === undefined && !late) continue;
    over = true;
    stop();
  }
}

/** The start of the first line that is indented too little, apart from the first line of the text. */
export function lineTooShallow(text: string, leastIndent: number): number | undefined {
  if (leastIndent === 0) return undefined;
  for (let start = text.indexOf('\n') + 1; start > 0; start = text.indexOf('\n', start) + 1) {
    let end = start;
    while (text[end] === ' ' || text[end] === '\t') end += 1;
    if (end < text.length && end - start < leastIndent) return start;
  }
  return undefined;
}
