import { AppError, asAppError } from '../../core/errors.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import { fold } from '../../core/fold.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { TextService } from '../../core/text-service.ts';
import { type JsonObject, jsonObject } from '../../http/body.ts';
import type { Call, Reply } from '../../http/call.ts';
import { json } from '../../http/call.ts';
import { keepAliveMs, paddedReply, requestsPadding } from '../../http/keep-alive.ts';
import { commentFrame, sseHeaders } from '../../http/sse.ts';
import type { StartTimer } from '../../http/timers.ts';
import { type ControlParts, idleFields } from '../controls/decode.ts';
import { ignoredHeader, streamReply, withShortfall } from '../dialect.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { fidelityOf, readFields } from '../fields/table.ts';
import { eventsFor, textTicket } from '../ticket.ts';
import { type DecodeParts, decode } from './decode.ts';
import { encodeEmptyReply, encodeFailure, encodeReply, encodeStream } from './encode.ts';
import { nativeFamily } from './errors.ts';
import { generateFields } from './fields.ts';

export interface GenerateParts {
  readonly text: TextService;
  /** Read anew for each request: the context size is known only once the model is. */
  readonly controlParts: () => ControlParts;
  readonly replacePlaceholders: DecodeParts['replacePlaceholders'];
  /** The server's defaults for fields that the request leaves out, or must have. */
  readonly applyDefaults: (body: JsonObject) => JsonObject;
  readonly startTimer: StartTimer;
}

/** A long prompt may take minutes before its first word. */
const keepAlive = { milliseconds: keepAliveMs, filler: commentFrame('keepalive') };

const guarded = { method: 'POST', match: 'ending', access: 'guarded', queued: true, family: nativeFamily } as const;
const generate = { ...guarded, handle: answerWhole };

export const generateEndpoints: readonly ModelEndpoint<GenerateParts>[] = [
  { ...generate, path: '/api/v1/generate', summary: 'Continue a text; the whole reply at once.' },
  { ...generate, path: '/api/latest/generate', summary: 'Another name for /api/v1/generate.' },
  {
    ...guarded,
    path: '/api/extra/generate/stream',
    summary: 'Continue a text; the reply as server-sent events while it is made.',
    handle: answerStream,
  },
  {
    ...guarded,
    path: '/request',
    summary: 'An old and small form of generate: text, max and top_k.',
    handle: answerLegacy,
  },
];

async function answerWhole(call: Call, parts: GenerateParts): Promise<Reply> {
  const body = parts.applyDefaults(await jsonObject(call.body, { empty: 'refuse', signal: call.signal }));
  if (parts.text.state().type === 'none') return json(encodeEmptyReply(modelMissing()));
  const { request, ticket } = prepare(body, call, parts);
  const generation = fold(eventsFor(ticket, parts.text.generate(request, ticket)));
  const answer = generation.then((all) =>
    JSON.stringify(encodeReply(all, { logprobs: request.logprobs !== undefined })),
  );
  if (requestsPadding(call)) return paddedReply(answer, failureBody, parts.startTimer);
  const whole = await answer;
  const headers = { 'content-type': 'application/json', ...ignoredHeader(idleFields(body)) };
  return { status: 200, headers: withShortfall(headers, await generation), body: whole };
}

async function answerStream(call: Call, parts: GenerateParts): Promise<Reply> {
  const body = parts.applyDefaults(await jsonObject(call.body, { empty: 'refuse', signal: call.signal }));
  if (parts.text.state().type === 'none') {
    return { status: 200, headers: sseHeaders, stream: encodeFailure(modelMissing()), keepAlive };
  }
  const { request, ticket } = prepare(body, call, parts);
  const options = {
    headers: { ...sseHeaders, ...ignoredHeader(idleFields(body)) },
    filler: keepAlive.filler,
    ticket,
    startTimer: parts.startTimer,
  };
  return streamReply(eventsFor(ticket, parts.text.generate(request, ticket)), encodeStream, options);
}

const legacyNames = { text: 'prompt', max: 'max_length', top_k: 'top_k' } as const;

export const legacyFidelity: EndpointFidelity = fidelityOf('Native text API', 'POST /request', {
  text: generateFields.prompt,
  max: generateFields.max_length,
  top_k: generateFields.top_k,
});

async function answerLegacy(call: Call, parts: GenerateParts): Promise<Reply> {
  const sent = await jsonObject(call.body, { empty: 'refuse', signal: call.signal });
  if (parts.text.state().type === 'none') throw modelMissing();
  // Only what was really sent may stand in the way of a default.
  const known = Object.entries(legacyNames).filter(([name]) => Object.hasOwn(sent, name));
  const body = parts.applyDefaults(Object.fromEntries(known.map(([name, today]) => [today, sent[name]])));
  const { request, ticket } = prepare(body, call, parts);
  const generation = await fold(parts.text.generate(request, ticket));
  return json({ data: { seqs: [generation.reasoning + generation.text] } });
}

function prepare(
  body: JsonObject,
  call: Call,
  { text, controlParts, replacePlaceholders }: GenerateParts,
): { readonly request: GenerationRequest; readonly ticket: ReturnType<typeof textTicket> } {
  const fields = readFields(generateFields, body);
  const request = decode(fields, { ...controlParts(), replacePlaceholders, state: text.state() });
  return { request, ticket: textTicket(call, { genkey: fields.genkey, kept: fields.kcpp_extra_args }) };
}

function modelMissing(): AppError {
  return new AppError('model-missing', { capability: 'text', flag: '--model' });
}

function failureBody(error: unknown): string {
  const reply = nativeFamily.errorReply(asAppError(error));
  return 'body' in reply ? String(reply.body) : '';
}
