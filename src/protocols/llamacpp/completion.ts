import { AppError, asAppError } from '../../core/errors.ts';
import type { FinishCause, GenerationEvent, TokenChoice, TokenLogprob } from '../../core/events.ts';
import type { GenerationControls, GenerationRequest } from '../../core/request.ts';
import { withReplySeed } from '../../core/sampling-fields.ts';
import { refuseWithoutModel } from '../../core/text-service.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { dataFrame } from '../../http/sse.ts';
import { write } from '../access.ts';
import { type DialectContext, mergedEngineNotices, streamReply, withEngineNotices, withIgnored } from '../dialect.ts';
import { endpointRow, type ModelEndpoint, requestBody } from '../endpoint.ts';
import { findMarks } from '../fill-marks.ts';
import { generateAll } from '../generate-all.ts';
import { type PromptProgressBody, promptProgress } from '../prompt-progress.ts';
import { type ReadBody, readCompletion } from '../read-body.ts';
import { requestContextOf } from '../request-context.ts';
import { timingsBody } from '../timings.ts';
import { decodeOptions, type EarlyStop, nativeBody, type OutputOptions, spokenSeed } from './decode.ts';
import { errorBody, failureBody, llamacppDialect } from './errors.ts';
import { completionFields, infillFields, type optionFields } from './fields.ts';
import { decodePrompts, infillPrompt, promptText } from './prompts.ts';
import { ownSettingsBody, resolveBias } from './samplers.ts';

type Prompt = Pick<GenerationRequest, 'prompt' | 'media'>;

const row = endpointRow(write('text'), { method: 'POST', match: 'exact', queued: true, dialect: llamacppDialect });

export const completionEndpoints: readonly ModelEndpoint<DialectContext>[] = [
  // An exact path: as an ending it would match the completions of other dialects.
  row('/completion', 'Continue a text, in the form of the llama.cpp server.', answerCompletion, {
    fields: completionFields,
    response: 'completion',
    replayedAs: 'text',
    shared: {
      path: '/completions',
      own: ['n_predict', 'cache_prompt', 'id_slot', 'n_probs', 'return_tokens'],
      foreign: ['model', 'max_tokens'],
    },
  }),
  row('/infill', 'Fill in the middle between two pieces of code.', fillIn, {
    match: 'ending',
    fields: infillFields,
    response: 'infill',
  }),
];

async function answerCompletion(call: Call, context: DialectContext): Promise<Reply> {
  const { text } = context;
  const body = await requestBody(call, context);
  const read = readCompletion(completionFields, body, context, nativeBody(body));
  return complete(call, context, read, () => {
    const prompts = decodePrompts(read.fields.prompt, text.state());
    return Promise.all(prompts.map(async ({ pieces, media }) => ({ prompt: await promptText(pieces, text), media })));
  });
}

/** Refused before the body is read if the model has no fill-in-the-middle marks: no body could help. */
async function fillIn(call: Call, context: DialectContext): Promise<Reply> {
  const { text } = context;
  const search = await findMarks(text);
  refuseWithoutModel(text.state());
  if (search.type === 'missing') return json(errorBody(501, search.sentence), 501);
  const { marks } = search;
  const body = await requestBody(call, context);
  const read = readCompletion(infillFields, body, context, nativeBody(body));
  return complete(call, context, read, async (maxTokens) => [
    { prompt: await infillPrompt(read.fields, maxTokens, { marks, text }), media: [] },
  ]);
}

async function complete(
  call: Call,
  context: DialectContext,
  read: ReadBody<typeof optionFields>,
  promptsFor: (maxTokens: number) => Promise<readonly Prompt[]>,
): Promise<Reply> {
  const { fields } = read;
  const { output, earlyStop, count, ...options } = decodeOptions(read);
  const prompts = await promptsFor(options.controls.maxTokens);
  refuseEarlyStopOfMany(earlyStop, prompts.length * count);
  // Biases by text need the tokenizer.
  const bias = fields.logit_bias.length > 0 ? await resolveBias(fields.logit_bias, context.text) : {};
  const controls = { ...options.controls, ...bias };
  const requests = prompts.flatMap((prompt) =>
    Array.from({ length: count }, (_, reply) => withReplySeed({ ...controls, ...prompt, memory: '' }, reply)),
  );
  call.watch?.decoded?.(requests.length === 1 ? requests[0] : requests);
  const { now, startTimer } = context;
  const model = context.modelName();
  const viewOf = (index: number): ReplyView => {
    const { prompt = '' } = requests[index] ?? {};
    return { index, model, prompt, controls, output, now };
  };
  const stop = new AbortController();
  const own = requestContextOf(call, fields.genkey);
  const requestContext = { ...own, signal: AbortSignal.any([own.signal, stop.signal]) };
  const headers = withIgnored({}, read.notices.ignored);
  const all = generateAll(context.text, requests, requestContext);
  const early = earlyStop.minIndent > 0 || earlyStop.milliseconds > 0;
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
    const engineNotices = mergedEngineNotices(records.map(({ start }) => start ?? {}));
    return json(bodies.length > 1 ? bodies : bodies[0], 200, withEngineNotices(headers, engineNotices));
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
    { headers, requestContext, startTimer },
  );
}

/** All replies share one queue slot, so that stopping one would stop them all. */
function refuseEarlyStopOfMany({ minIndent, milliseconds }: EarlyStop, count: number): void {
  const field = minIndent > 0 ? 'n_indent' : milliseconds > 0 ? 't_max_predict_ms' : undefined;
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
    const sentLength = text.length;
    text += event.text;
    const end = lineTooShallow(text, rule.minIndent);
    const late = rule.milliseconds > 0 && now() - firstAt > rule.milliseconds && text.includes('\n');
    yield end === undefined ? event : { ...event, text: text.slice(sentLength, end) };
    if (end === undefined && !late) continue;
    over = true;
    stop();
  }
}

/** The start of the first line that is indented too little, apart from the first line of the text. */
export function lineTooShallow(text: string, minIndent: number): number | undefined {
  if (minIndent === 0) return undefined;
  for (let start = text.indexOf('\n') + 1; start > 0; start = text.indexOf('\n', start) + 1) {
    let end = start;
    while (text[end] === ' ' || text[end] === '\t') end += 1;
    if (end < text.length && end - start < minIndent) return start;
  }
  return undefined;
}

/** What every object about one reply shares. */
interface ReplyView {
  readonly index: number;
  readonly model: string;
  readonly prompt: string;
  readonly controls: GenerationControls;
  readonly output: OutputOptions;
  /** Milliseconds. */
  readonly now: () => number;
}

const stopTypes: Record<FinishCause, string> = {
  'end-token': 'eos',
  'stop-text': 'word',
  limit: 'limit',
  aborted: 'none',
};

/** Frames without names and without an end mark: the last object says `"stop":true`. Returns whether it succeeded. */
async function* encodeStream(events: AsyncIterable<GenerationEvent>, view: ReplyView): AsyncGenerator<string, boolean> {
  const { output, now } = view;
  const record = new CompletionRecord(false);
  // Most of a chunk is the same for every token, so only the part that changes is serialized.
  const head = `{"index":${view.index},"content":`;
  const startedAt = now();
  const reading = output.progress ? promptProgress(now) : undefined;
  let firstAt: number | undefined;

  function chunk(event: GenerationEvent): string | undefined {
    if (event.type !== 'text-delta' && event.type !== 'reasoning-delta') return undefined;
    if (event.text === '' && event.logprobs === undefined) return undefined;
    firstAt ??= now();
    return piece(event.text, event.logprobs);
  }

  function piece(text: string, logprobs: readonly TokenLogprob[] | undefined, progress?: PromptProgressBody): string {
    const { promptTokens: total, predicted } = record;
    const tokens = output.returnTokens && logprobs ? logprobs.map(({ token }) => token).join(',') : '';
    const reported = output.alternatives > 0 ? logprobs : undefined;
    return [
      `${head}${JSON.stringify(text)},"tokens":[${tokens}],"stop":false,"id_slot":0,`,
      `"tokens_predicted":${predicted},"tokens_evaluated":${total}`,
      reported ? `,"completion_probabilities":${JSON.stringify(probabilities(reported, output))}` : '',
      output.timingsPerToken ? `,"timings":${JSON.stringify(timings())}` : '',
      progress ? `,"prompt_progress":${JSON.stringify(progress)}` : '',
      '}',
    ].join('');
  }

  /** Measured here: the engine reports its own times only at the end. */
  function timings(): object {
    const { promptTokens, cachedTokens, predicted: completionTokens } = record;
    const time = now();
    const times = { initMs: 0, promptMs: (firstAt ?? time) - startedAt, generationMs: time - (firstAt ?? time) };
    const processedTokens = promptTokens - cachedTokens;
    return timingsBody({ promptTokens, cachedTokens, completionTokens }, { ...times, processedTokens });
  }

  try {
    for await (const event of events) {
      record.add(event);
      const progress = reading?.(event);
      if (progress) yield dataFrame(piece('', undefined, progress));
      const text = chunk(event);
      if (text !== undefined) yield dataFrame(text);
    }
  } catch (error) {
    yield dataFrame(JSON.stringify(failureBody(asAppError(error))));
    return false;
  }
  yield dataFrame(JSON.stringify(finalBody(record, view)));
  return true;
}

/** The last object of a stream, without its text, or the whole reply. */
function finalBody(record: CompletionRecord, view: ReplyView): object {
  const { controls, output } = view;
  const { finish, predicted } = record;
  const body = {
    index: view.index,
    content: record.text,
    tokens: output.returnTokens ? record.probabilities.map(({ token }) => token) : [],
    id_slot: 0,
    stop: true,
    model: view.model,
    tokens_predicted: predicted,
    tokens_evaluated: record.promptTokens,
    generation_settings: { ...ownSettingsBody(controls, output), seed: spokenSeed(record.start?.seed ?? -1) },
    prompt: view.prompt,
    has_new_line: record.newLine,
    truncated: (record.start?.droppedTokens ?? 0) > 0,
    stop_type: stopTypes[finish?.cause ?? 'aborted'],
    stopping_word: finish?.stopText ?? '',
    tokens_cached: record.promptTokens + Math.max(0, predicted - 1),
    timings: finish ? timingsBody({ ...finish.usage, completionTokens: predicted }, finish.timings) : {},
    ...(output.alternatives > 0 && !output.stream
      ? { completion_probabilities: probabilities(record.probabilities, output) }
      : {}),
    ...(record.warnings.length > 0 ? { warnings: record.warnings } : {}),
  };
  return output.fields.length > 0 ? pickFields(body, output.fields) : body;
}

/** `timings/prompt_n` is returned under that whole name; what does not exist is left out. */
function pickFields(body: object, fields: readonly string[]): object {
  const step = (value: unknown, name: string): unknown =>
    typeof value === 'object' ? (value as Record<string, unknown> | null)?.[name] : undefined;
  return Object.fromEntries(fields.map((field) => [field, field.split('/').reduce(step, body)]));
}

function probabilities(tokens: readonly TokenLogprob[], { alternatives, postSampling }: OutputOptions): object[] {
  const [one, many] = postSampling ? ['prob', 'top_probs'] : ['logprob', 'top_logprobs'];
  const choice = ({ token, text, bytes, logprob }: TokenChoice) => ({
    id: token,
    token: text,
    bytes,
    [one as string]: postSampling ? Math.exp(logprob) : logprob,
  });
  return tokens.map((token) => ({ ...choice(token), [many as string]: token.top.slice(0, alternatives).map(choice) }));
}

/** What is known of a reply so far, for the last object of a stream and for the whole reply. */
export class CompletionRecord {
  text = '';
  readonly probabilities: TokenLogprob[] = [];
  readonly warnings: string[] = [];
  /** An estimate while it runs, because a piece of text may be more than one token. */
  predicted = 0;
  newLine = false;
  promptTokens = 0;
  cachedTokens = 0;
  start: Extract<GenerationEvent, { type: 'start' }> | undefined;
  finish: Extract<GenerationEvent, { type: 'finish' }> | undefined;

  /** `keep`: also the text, which a stream has sent already. */
  constructor(private readonly keep: boolean) {}

  /** Events of tools are ignored: none are offered to the model. */
  add(event: GenerationEvent): void {
    if (event.type === 'start') {
      this.start = event;
      this.promptTokens = event.promptTokens;
      this.cachedTokens = event.cachedTokens;
    } else if (event.type === 'text-delta' || event.type === 'reasoning-delta') {
      this.predicted += event.logprobs?.length ?? 1;
      this.newLine ||= event.text.includes('\n');
      if (!this.keep) return;
      this.text += event.text;
      if (event.logprobs) this.probabilities.push(...event.logprobs);
    } else if (event.type === 'finish') {
      this.finish = event;
      this.promptTokens = event.usage.promptTokens;
      this.cachedTokens = event.usage.cachedTokens;
      this.predicted = event.usage.completionTokens;
    } else if (event.type === 'warning') this.warnings.push(event.text);
    else if (event.type === 'error') throw event.error;
  }
}

export async function recordOf(events: AsyncIterable<GenerationEvent>): Promise<CompletionRecord> {
  const record = new CompletionRecord(true);
  for await (const event of events) record.add(event);
  return record;
}
