import { AppError, asAppError } from '../../../core/errors.ts';
import { type EndpointFidelity, ignoredFields } from '../../../core/fidelity.ts';
import type { JsonObject } from '../../../http/body.ts';
import type { Call, Headers, Reply } from '../../../http/call.ts';
import { paddedReply, requestsPadding } from '../../../http/keep-alive.ts';
import { commentFrame, sseHeaders } from '../../../http/sse.ts';
import { headerList, ignoredHeader, workStream } from '../../dialect.ts';
import type { ModelEndpoint } from '../../endpoint.ts';
import { collectDrawn, type Drawn } from '../../pictures/drawn.ts';
import { drawingTicket } from '../../pictures/fields.ts';
import { imageOf, type PictureParts } from '../../pictures/request.ts';
import { pictureBody } from '../../pictures/sent-picture.ts';
import { errorBody, openaiFamily } from '../errors.ts';
import { type DecodeParts, decodeEdit, decodeGeneration, decodeVariation, type Question } from './decode.ts';
import { editFidelity, generationFidelity, variationFidelity } from './fields.ts';
import { wholeAnswer } from './reply.ts';
import { encodeImages, type StreamParts } from './stream.ts';

/** Sixteen pictures and a mask. */
const mostFiles = 17;

interface Kind {
  readonly summary: string;
  readonly form: boolean;
  readonly fidelity: EndpointFidelity;
  readonly events: StreamParts['kind'];
  readonly decode: (call: Call, body: JsonObject, parts: DecodeParts) => Question | Promise<Question>;
}

const kinds: Readonly<Record<string, Kind>> = {
  generations: {
    summary: 'Pictures from words.',
    form: false,
    fidelity: generationFidelity,
    events: 'image_generation',
    decode: (_, body, parts) => decodeGeneration(body, parts),
  },
  edits: {
    summary: 'Pictures from another one and words.',
    form: true,
    fidelity: editFidelity,
    events: 'image_edit',
    decode: decodeEdit,
  },
  variations: {
    summary: 'Pictures like another one.',
    form: true,
    fidelity: variationFidelity,
    events: 'image_edit',
    decode: decodeVariation,
  },
};

const shape = {
  method: 'POST',
  access: 'guarded',
  queued: true,
  modelSelection: 'any-name',
  family: openaiFamily,
} as const;

export const imagesEndpoints: readonly ModelEndpoint<PictureParts>[] = Object.entries(kinds).flatMap(
  ([name, kind]): ModelEndpoint<PictureParts>[] => {
    const handle = (call: Call, parts: PictureParts) => answer(call, kind, parts);
    const own = { ...shape, ...(kind.form ? { form: { files: mostFiles } } : {}), handle };
    const path = `/images/${name}`;
    return [
      { ...own, match: 'ending', path: `/v1${path}`, summary: kind.summary },
      { ...own, match: 'exact', path, summary: `Another name for /v1${path}.` },
    ];
  },
);

async function answer(call: Call, kind: Kind, parts: PictureParts): Promise<Reply> {
  const body = parts.imageDefaults(await pictureBody(call));
  const service = imageOf(parts.others);
  const question = await kind.decode(call, body, { ...parts, facts: service.facts });
  const { ticket } = drawingTicket(call, question.fields);
  const { editor } = parts;
  const events = service.inTurn(ticket, async function* (turn) {
    yield* turn.draw(await question.prepared(editor, turn.signal));
  });
  const headers = ignoredHeader(ignoredFields(body, kind.fidelity));
  if (question.stream) {
    const { startTimer, now } = parts;
    const stream = { headers: { ...sseHeaders, ...headers }, filler: commentFrame('keepalive'), ticket, startTimer };
    return workStream(events, (begun) => encodeImages(begun, { question, kind: kind.events, now, editor }), stream);
  }
  const drawn = collectDrawn(events, question.request).then(atLeastOne);
  const text = drawn.then(async (all) =>
    JSON.stringify(await wholeAnswer(all, question, { now: parts.now(), editor })),
  );
  if (requestsPadding(call)) {
    const failure = (error: unknown) => JSON.stringify(errorBody(asAppError(error)));
    const reply = await paddedReply(text, failure, parts.startTimer);
    return { ...reply, headers: { ...reply.headers, ...headers } };
  }
  const written = await text;
  const told = { 'content-type': 'application/json', ...headers, ...noteHeaders(question, await drawn) };
  return { status: 200, headers: told, body: written };
}

/** Clients take the first picture without looking whether there is one. */
function atLeastOne(drawn: Drawn): Drawn {
  if (drawn.pictures.length === 0) throw new AppError('stopped', {});
  return drawn;
}

function noteHeaders({ notes }: Question, drawn: Drawn): Headers {
  const all = [...notes, ...drawn.notes];
  return all.length > 0 ? { 'x-parley-warnings': headerList(all) } : {};
}
