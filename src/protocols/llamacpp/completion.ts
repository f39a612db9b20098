import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import { refuseWithoutModel } from '../../core/model-error.ts';
import type { GenerationRequest } from '../../core/request.ts';
import { withReplySeed } from '../../core/sampling-fields.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { type DialectParts, mergedShortfalls, noticeHeaders, streamReply, withShortfall } from '../dialect.ts';
import { endpointRow, type ModelEndpoint, requestBody } from '../endpoint.ts';
import { readFields } from '../fields.ts';
import { findMarks } from '../fill-marks.ts';
import { generateAll } from '../generate-all.ts';
import { ticketFor } from '../ticket.ts';
import { resolveBias } from './bias.ts';
import { decodeOptions, type EarlyStop } from './decode.ts';
import { type CompletionRecord, encodeStream, finalBody, type ReplyView, recordOf } from './encode.ts';
import { errorBody, llamacppFamily } from './errors.ts';
import { completionFidelity, gapFields, infillFidelity, optionFields, promptFields } from './fields.ts';
import { decodePrompts, infillPrompt, promptText } from './prompts.ts';

type Prompt = Pick<GenerationRequest, 'prompt' | 'media'>;

/** How an endpoint makes its prompts. */
interface PromptSource {
  readonly fidelity: EndpointFidelity;
  readonly prompts: (body: JsonObject, maxTokens: number) => Promise<readonly Prompt[]>;
}

const row = endpointRow({ method: 'POST', match: 'exact', queued: true, family: llamacppFamily });

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
      return Promise.all(prompts);
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
      return [{ prompt, media: [] }];
    },
  });
}

async function complete(call: Call, parts: DialectParts, source: PromptSource): Promise<Reply> {
  const body = await requestBody(call, parts);
  const fields = readFields(optionFields, body);
  const { output, earlyStop, count, ...options } = decodeOptions(fields, body, parts);
  const prompts = await source.prompts(body, options.controls.maxTokens);
  refuseEarlyStopOfMany(earlyStop, prompts.length * count);
  // Biases by text need the tokenizer.
  const bias = fields.logit_bias.length > 0 ? await resolveBias(fields.logit_bias, parts.text) : {};
  const controls = { ...options.controls, ...bias };
  const requests = prompts.flatMap((prompt) =>
    Array.from({ length: count }, (_, reply) => withReplySeed({ ...controls, ...prompt, memory: '' }, reply)),
  );
  const { now, startTimer } = parts;
  const model = parts.modelName();
  const viewOf = (index: number): ReplyView => {
    const { prompt = '' } = requests[index] ?? {};
    return { index, model, prompt, controls, output, now };
  };
  const stop = new AbortController();
  const own = ticketFor(call, fields.genkey);
  const ticket = { ...own, signal: AbortSignal.any([own.signal, stop.signal]) };
  const headers = noticeHeaders(body, source.fidelity);
  const all = generateAll(parts.text, requests, ticket);
  const early = earlyStop.leastIndent > 0 || earlyStop.milliseconds > 0;
  const replies = early ? all.map((events) => stopEarly(events, earlyStop, { stop: () => stop.abort(), now })) : all;
  if (!output.stream) {
    const records: CompletionRecord[] = [];
    try {
      for (const events of replies) records.push(await recordOf(events));
    } finally {
      // After an error the other replies are not needed.
      stop.abort();
    }
    const bodies = records.map((record, index) => finalBody(record, viewOf(index)));
    const shortfall = mergedShortfalls(records.map(({ start }) => start ?? {}));
    return json(bodies.length > 1 ? bodies : bodies[0], 200, withShortfall(headers, shortfall));
  }
  const [first, ...rest] = replies;
  if (!first) throw new AppError('invalid-field', { field: 'prompt', expected: 'something' });
  return streamReply(
    first,
    async function* (events) {
      try {
        for (const [index, each] of [events, ...rest].entries()) {
          if (!(yield* encodeStream(each, viewOf(index)))) return;
        }
      } finally {
        stop.abort();
      }
    },
    { headers, ticket, startTimer },
  );
}

/** All replies share one place in the queue, so that stopping one would stop them all. */
function refuseEarlyStopOfMany({ leastIndent, milliseconds }: EarlyStop, count: number): void {
  const field = leastIndent > 0 ? 'n_indent' : milliseconds > 0 ? 't_max_predict_ms' : undefined;
  if (field === undefined || count <= 1) return;
  throw new AppError('unsupported', { feature: `${field} for several replies`, instead: 'ask for them one by one' });
}

/** Stops the generation; its remaining text is dropped, and its end becomes a limit that was reached. */
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
