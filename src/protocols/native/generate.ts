import { type AppError, asAppError } from '../../core/errors.ts';
import {
  type FinishReason,
  type GenerationEvent,
  type TokenChoice,
  type TokenLogprob,
  unreachable,
} from '../../core/events.ts';
import { fold, type Generation } from '../../core/fold.ts';
import type { GenerationRequest } from '../../core/request.ts';
import { type AbortOutcome, type TextService, type TextState, textModelMissing } from '../../core/text-service.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { paddedReply, requestsPadding } from '../../http/keep-alive.ts';
import { messageFrame } from '../../http/sse.ts';
import { read, write } from '../access.ts';
import { type ControlLimits, decodeControls, idleFields } from '../controls/decode.ts';
import { controlFields, readGenkey } from '../controls/table.ts';
import { type CompletionContext, eventStream, streamReply, withEngineNotices, withIgnored } from '../dialect.ts';
import { atPaths, bodyOf, endpointRow, jsonText, type ModelEndpoint, requestBody } from '../endpoint.ts';
import * as f from '../fields.ts';
import { nativeMedia, readNativeMedia } from '../media.ts';
import { clientOf, eventsFor, keepOnDisconnect, textRequestContext } from '../request-context.ts';
import { errorType, nativeDialect } from './errors.ts';

export type GenerateContext = Pick<
  CompletionContext,
  'text' | 'controlLimits' | 'applyDefaults' | 'startTimer' | 'replacePlaceholders'
>;

const projector = 'Refused where the loaded model has no projector for it (--mmproj).';

export const generateFields = {
  prompt: f.honoured(f.orElse(f.readText, '')),
  memory: f.honoured(f.orElse(f.readText, '')),
  genkey: f.honoured(readGenkey, 'a text or a number'),
  kcpp_extra_args: keepOnDisconnect,
  quiet: f.ignored('without effect in the original too'),
  images: f.honoured(readNativeMedia, `base64, with or without a data URL in front; the last 64. ${projector}`),
  audio: f.honoured(readNativeMedia, `as images, with wav, mp3 or flac inside. ${projector}`),
  replace_instruct_placeholders: f.honoured(f.orElse(f.looseFlag, true)),
  ...controlFields,
};

const legacyFields = {
  text: generateFields.prompt,
  max: generateFields.max_length,
  top_k: generateFields.top_k,
};

const row = endpointRow(write('text'), { method: 'POST', queued: true, dialect: nativeDialect });
const replayed = { fields: generateFields, replayedAs: 'text' } as const;

export const generateEndpoints: readonly ModelEndpoint<GenerateContext>[] = [
  ...atPaths(
    row('/api/v1/generate', 'Continue a text; the whole reply at once.', answerWhole, {
      ...replayed,
      response: 'generate',
    }),
    '/api/latest/generate',
  ),
  row(
    '/api/extra/generate/stream',
    'Continue a text; the reply as server-sent events while it is made.',
    answerStream,
    { ...replayed, response: 'generateStream' },
  ),
  row('/request', 'An old and small form of generate: text, max and top_k.', answerLegacy, {
    fields: legacyFields,
    response: 'request',
  }),
];

async function answerWhole(call: Call, context: GenerateContext): Promise<Reply> {
  const body = await requestBody(call, context);
  const state = context.text.state();
  if (state.type === 'none') return json(encodeEmptyReply(textModelMissing(state.byName)));
  const { request, requestContext, headers } = prepare(body, call, context);
  const generation = fold(eventsFor(requestContext, context.text.generate(request, requestContext)));
  const answer = generation.then((all) =>
    JSON.stringify(encodeReply(all, { logprobs: request.logprobs !== undefined })),
  );
  if (requestsPadding(call)) return paddedReply(answer, failureBody, context.startTimer);
  return jsonText(await answer, withEngineNotices(headers, await generation));
}

async function answerStream(call: Call, context: GenerateContext): Promise<Reply> {
  const { startTimer } = context;
  const body = await requestBody(call, context);
  const state = context.text.state();
  if (state.type === 'none') return eventStream(encodeFailure(textModelMissing(state.byName)));
  const { request, requestContext, headers } = prepare(body, call, context);
  const events = eventsFor(requestContext, context.text.generate(request, requestContext));
  return streamReply(events, encodeStream, { headers, requestContext, startTimer });
}

const legacyNames = { text: 'prompt', max: 'max_length', top_k: 'top_k' } as const;

async function answerLegacy(call: Call, context: GenerateContext): Promise<Reply> {
  const sent = await bodyOf(call);
  const state = context.text.state();
  if (state.type === 'none') throw textModelMissing(state.byName);
  // Only a field that was sent overrides a default.
  const known = Object.entries(legacyNames).filter(([name]) => Object.hasOwn(sent, name));
  const body = context.applyDefaults(Object.fromEntries(known.map(([name, today]) => [today, sent[name]])));
  const { request, requestContext } = prepare(body, call, context);
  const generation = await fold(context.text.generate(request, requestContext));
  return json({ data: { seqs: [generation.reasoning + generation.text] } });
}

function prepare(body: JsonObject, call: Call, { text, controlLimits, replacePlaceholders }: GenerateContext) {
  const fields = f.readFields(generateFields, body);
  const request = decode(fields, { ...controlLimits(), replacePlaceholders, state: text.state() });
  call.watch?.decoded?.(request);
  const requestContext = textRequestContext(call, { genkey: fields.genkey, kept: fields.kcpp_extra_args });
  return { request, requestContext, headers: withIgnored({}, idleFields(fields)) };
}

function failureBody(error: unknown): string {
  const reply = nativeDialect.errorReply(asAppError(error));
  return 'body' in reply ? String(reply.body) : '';
}

export interface DecodeContext extends ControlLimits, Pick<GenerateContext, 'replacePlaceholders'> {
  /** For the kinds of media that the model takes. */
  readonly state: TextState;
}

export function decode(fields: f.Fields<typeof generateFields>, context: DecodeContext): GenerationRequest {
  const controls = decodeControls(fields, context);
  const { prompt, memory, max_length: length = 1 } = fields;
  // 0 and less generate nothing; a missing or non-numeric length is the default of the server.
  const maxTokens = length <= 0 ? 0 : controls.maxTokens;
  const request = { ...controls, prompt, memory, maxTokens, media: nativeMedia(fields, context.state) };
  if (!fields.replace_instruct_placeholders) return request;
  const replaced = context.replacePlaceholders({ prompt, memory, stop: controls.stop });
  return { ...request, ...replaced, stop: replaced.stop.filter((text) => text !== '') };
}

/** An aborted generation counts as one that reached its limit: clients know no other word. */
const finishReasons: Record<FinishReason, string> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  aborted: 'length',
};
const finishNames: Record<FinishReason | 'error', string> = { ...finishReasons, aborted: 'abort', error: 'error' };

/** Clients parse frames with a regular expression, so their lines, order and single spaces are fixed. */
export async function* encodeStream(events: AsyncIterable<GenerationEvent>): AsyncGenerator<string> {
  const warnings: string[] = [];
  try {
    for await (const event of events) {
      switch (event.type) {
        case 'text-delta':
        case 'reasoning-delta':
          if (event.text !== '') yield messageFrame(`{"token": ${quote(event.text)}, "finish_reason": null}`);
          break;
        case 'start':
        case 'server-tool':
        case 'prompt-logprobs':
        case 'compacting':
        case 'prompt-progress':
        // No tools are offered to the model.
        case 'tool-start':
        case 'tool-delta':
        case 'tool-end':
          break;
        case 'warning':
          warnings.push(event.text);
          break;
        case 'finish':
          yield lastFrame(finishReasons[event.reason], warnings);
          return;
        case 'error':
          yield lastFrame('error', warnings, event.error);
          return;
        default:
          unreachable(event);
      }
    }
  } catch (error) {
    yield lastFrame('error', warnings, asAppError(error));
    return;
  }
  yield lastFrame(finishReasons.aborted, warnings);
}

/** The frames of a server that has no text model. */
export async function* encodeFailure(error: AppError): AsyncGenerator<string> {
  yield lastFrame('error', [], error);
}

function lastFrame(reason: string, warnings: readonly string[], error?: AppError): string {
  const members = [
    `"token": "", "finish_reason": "${reason}"`,
    ...(error ? [`"error": {"message": ${quote(error.message)}, "type": "${errorType(error)}"}`] : []),
    ...(warnings.length > 0 ? [`"warnings": [${warnings.map(quote).join(', ')}]`] : []),
  ];
  return messageFrame(`{${members.join(', ')}}`);
}

/** JSON in ASCII only. */
function quote(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(text).replace(/[\u0080-\uffff]/g, escaped);
}

export function encodeReply(generation: Generation, options: { readonly logprobs: boolean }): object {
  const { usage, warnings } = generation;
  const result = {
    text: generation.reasoning + generation.text,
    tool_calls: [],
    finish_reason: finishReasons[generation.reason],
    logprobs: options.logprobs ? encodeLogprobs(generation.logprobs) : null,
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    ...(warnings.length > 0 ? { warnings } : {}),
  };
  return { results: [result] };
}

/** Without a model clients expect an empty text, not a failed request; the error is beside it. */
export function encodeEmptyReply(error: AppError): object {
  const empty = { text: '', tool_calls: [], finish_reason: 'error', logprobs: null };
  const counts = { prompt_tokens: 0, completion_tokens: 0 };
  return { results: [{ ...empty, ...counts, error: { message: error.message, type: errorType(error) } }] };
}

/** Nothing is reported as less likely than one in ten thousand; clients draw bars from these numbers. */
const floor = Math.log(0.0001);

/** The same tokens in six forms, as the clients of two older dialects look for them. */
export function encodeLogprobs(tokens: readonly TokenLogprob[]): object {
  let offset = 0;
  const offsets = tokens.map(({ text }) => {
    const start = offset;
    offset += [...text].length;
    return start;
  });
  return {
    content: tokens.map((token) => ({ ...choice(token), top_logprobs: token.top.slice(0, 10).map(choice) })),
    tokens: tokens.map(({ text }) => text),
    token_ids: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(floored),
    top_logprobs: tokens.map(({ top }) =>
      Object.fromEntries(top.slice(0, 10).map((each) => [each.text, floored(each)])),
    ),
    text_offset: offsets,
  };
}

function choice(token: TokenChoice): object {
  return { token: token.text, token_id: token.token, logprob: floored(token), bytes: token.bytes };
}

function floored({ logprob }: TokenChoice): number {
  return Math.max(logprob, floor);
}

/** Strings, not booleans: clients compare with these. */
const abortReplies: Record<AbortOutcome, { readonly success: string; readonly done: string }> = {
  stopped: { success: 'true', done: 'true' },
  pending: { success: 'true', done: 'false' },
  refused: { success: 'false', done: 'false' },
};

const keyNote = 'The key that came with the request; nothing means the running one.';

const keyFields = { genkey: f.withSchema(f.textOrNumber, f.aside('honoured', keyNote)) };

type TaskDeps = Pick<GenerateContext, 'text'>;

/** Clients call it again and again while they wait. */
const task = endpointRow(read('text'), { method: 'POST', recorded: false, dialect: nativeDialect });

/** Look at and stop running generations. */
export const taskEndpoints: readonly ModelEndpoint<TaskDeps>[] = [
  ...both('/api/extra/generate/check', 'The text so far of the running generation.', 'check', check),
  ...both('/api/extra/last_logprobs', 'The probabilities of the tokens of the last generation.', 'logprobs', logprobs),
  task(
    '/api/extra/abort',
    'Stop the running generation, or the one with this genkey.',
    async (call, { text }: TaskDeps) => json(abortReplies[text.abort(await genkeyOf(call), clientOf(call))]),
    { ...write('text'), fields: keyFields, response: 'abort', recorded: true },
  ),
];

function both(
  path: string,
  summary: string,
  response: string,
  answer: (genkey: string, client: string, text: TextService) => Reply,
) {
  const handle = async (call: Call, { text }: TaskDeps): Promise<Reply> =>
    answer(call.method === 'POST' ? await genkeyOf(call) : '', clientOf(call), text);
  return [
    task(path, `${summary} Only without a genkey.`, handle, { method: 'GET', response }),
    task(path, summary, handle, { fields: keyFields, response }),
  ];
}

function check(genkey: string, client: string, text: TextService): Reply {
  const finish = text.finished(genkey, client);
  const queue = text.queuePosition(genkey, client);
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

/** A missing or invalid body means the running generation; clients often send none. */
async function genkeyOf(call: Call): Promise<string> {
  try {
    const { genkey } = await bodyOf(call, 'object');
    return typeof genkey === 'string' || typeof genkey === 'number' ? String(genkey) : '';
  } catch {
    return '';
  }
}
