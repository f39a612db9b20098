import { AppError, asAppError } from '../../core/errors.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import { fold } from '../../core/fold.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { TextState } from '../../core/text-service.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { paddedReply, requestsPadding } from '../../http/keep-alive.ts';
import { type ControlParts, decodeControls, idleFields } from '../controls/decode.ts';
import { type CompletionParts, eventStream, streamReply, withIgnored, withShortfall } from '../dialect.ts';
import { bodyOf, endpointRow, jsonText, type ModelEndpoint, requestBody } from '../endpoint.ts';
import { type Fields, fidelityOf, readFields } from '../fields.ts';
import { nativeMedia } from '../media.ts';
import { eventsFor, textTicket } from '../ticket.ts';
import { encodeEmptyReply, encodeFailure, encodeReply, encodeStream } from './encode.ts';
import { nativeFamily } from './errors.ts';
import { generateFields } from './fields.ts';

export type GenerateParts = Pick<
  CompletionParts,
  'text' | 'controlParts' | 'applyDefaults' | 'startTimer' | 'replacePlaceholders'
>;

const row = endpointRow({ method: 'POST', match: 'ending', queued: true, family: nativeFamily });

export const generateEndpoints: readonly ModelEndpoint<GenerateParts>[] = [
  row('/api/v1/generate', 'Continue a text; the whole reply at once.', answerWhole),
  row('/api/latest/generate', 'Another name for /api/v1/generate.', answerWhole),
  row('/api/extra/generate/stream', 'Continue a text; the reply as server-sent events while it is made.', answerStream),
  row('/request', 'An old and small form of generate: text, max and top_k.', answerLegacy),
];

async function answerWhole(call: Call, parts: GenerateParts): Promise<Reply> {
  const body = await requestBody(call, parts);
  if (parts.text.state().type === 'none') return json(encodeEmptyReply(modelMissing()));
  const { request, ticket } = prepare(body, call, parts);
  const generation = fold(eventsFor(ticket, parts.text.generate(request, ticket)));
  const answer = generation.then((all) =>
    JSON.stringify(encodeReply(all, { logprobs: request.logprobs !== undefined })),
  );
  if (requestsPadding(call)) return paddedReply(answer, failureBody, parts.startTimer);
  return jsonText(await answer, withShortfall(withIgnored({}, idleFields(body)), await generation));
}

async function answerStream(call: Call, parts: GenerateParts): Promise<Reply> {
  const { startTimer } = parts;
  const body = await requestBody(call, parts);
  if (parts.text.state().type === 'none') return eventStream(encodeFailure(modelMissing()));
  const { request, ticket } = prepare(body, call, parts);
  const headers = withIgnored({}, idleFields(body));
  const events = eventsFor(ticket, parts.text.generate(request, ticket));
  return streamReply(events, encodeStream, { headers, ticket, startTimer });
}

const legacyNames = { text: 'prompt', max: 'max_length', top_k: 'top_k' } as const;

export const legacyFidelity: EndpointFidelity = fidelityOf('Native text API', 'POST /request', {
  text: generateFields.prompt,
  max: generateFields.max_length,
  top_k: generateFields.top_k,
});

async function answerLegacy(call: Call, parts: GenerateParts): Promise<Reply> {
  const sent = await bodyOf(call);
  if (parts.text.state().type === 'none') throw modelMissing();
  // Only a field that was sent overrides a default.
  const known = Object.entries(legacyNames).filter(([name]) => Object.hasOwn(sent, name));
  const body = parts.applyDefaults(Object.fromEntries(known.map(([name, today]) => [today, sent[name]])));
  const { request, ticket } = prepare(body, call, parts);
  const generation = await fold(parts.text.generate(request, ticket));
  return json({ data: { seqs: [generation.reasoning + generation.text] } });
}

function prepare(body: JsonObject, call: Call, { text, controlParts, replacePlaceholders }: GenerateParts) {
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

export interface DecodeParts extends ControlParts, Pick<GenerateParts, 'replacePlaceholders'> {
  /** For the kinds of media that the model takes. */
  readonly state: TextState;
}

export function decode(fields: Fields<typeof generateFields>, parts: DecodeParts): GenerationRequest {
  const controls = decodeControls(fields, parts);
  const { prompt, memory, max_length: length = 1 } = fields;
  // 0 and less generate nothing; a length that is left out, or is no number, is the default of the server.
  const maxTokens = length <= 0 ? 0 : controls.maxTokens;
  const request = { ...controls, prompt, memory, maxTokens, media: nativeMedia(fields, parts.state) };
  if (!fields.replace_instruct_placeholders) return request;
  const replaced = parts.replacePlaceholders({ prompt, memory, stop: controls.stop });
  return { ...request, ...replaced, stop: replaced.stop.filter((text) => text !== '') };
}
