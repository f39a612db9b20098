import { AppError, asAppError } from '../../core/errors.ts';
import { ignoredFields } from '../../core/fidelity.ts';
import type { ImageEvent, ImageRequest, ImageService } from '../../core/image.ts';
import { type JsonObject, jsonObject } from '../../http/body.ts';
import type { Call, Headers, Reply } from '../../http/call.ts';
import { paddedReply, requestsPadding } from '../../http/keep-alive.ts';
import { headerList, ignoredHeader } from '../dialect.ts';
import { readFields } from '../fields/table.ts';
import { drawingTicket } from '../pictures/drawing-ticket.ts';
import { collectDrawn, type Drawn } from '../pictures/drawn.ts';
import { pictureText } from '../pictures/picture-text.ts';
import { withPngTexts } from '../pictures/png-text.ts';
import { imageOf, type PictureParts } from '../pictures/request.ts';
import type { CallTicket } from '../ticket.ts';
import { decodeDrawing, type Plan, withPictures } from './decode.ts';
import type { LastDrawings } from './drawings.ts';
import { errorBody } from './errors.ts';
import { type DrawFields, drawFidelity, drawFields } from './fields.ts';
import { infoOf } from './info.ts';

export interface DrawParts extends PictureParts {
  readonly last: LastDrawings;
}

/** `txt2img` and `img2img` differ in nothing but that the second must have a picture to begin from. */
export async function draw(call: Call, path: 'txt2img' | 'img2img', parts: DrawParts): Promise<Reply> {
  const body = parts.imageDefaults(await jsonObject(call.body, { empty: 'refuse', signal: call.signal }));
  const fields = withTask(readFields(drawFields, body));
  const service = imageOf(parts.others);
  const plan = decodeDrawing(fields, { facts: service.facts, needsInitial: path === 'img2img' }, parts);
  const { ticket, kept } = drawingTicket(call, fields);
  const answer = drawn({ body, fields, plan, ticket, service }, parts);
  const notices = ignoredHeader(ignoredFields(body, drawFidelity));
  if (kept || fields.keepalive || requestsPadding(call) || call.headers['cf-connecting-ip'] !== undefined) {
    const text = answer.then(({ reply }) => JSON.stringify(reply));
    const reply = await paddedReply(text, (error) => JSON.stringify(errorBody(asAppError(error))), parts.startTimer);
    return { ...reply, headers: { ...reply.headers, ...notices } };
  }
  const { reply, headers } = await answer;
  const told = { 'content-type': 'application/json', ...notices, ...headers };
  return { status: 200, headers: told, body: JSON.stringify(reply) };
}

/** The name that a client gives its task does what a key does. */
function withTask(fields: DrawFields): DrawFields {
  return { ...fields, genkey: fields.genkey || fields.force_task_id || '' };
}

interface Work {
  readonly body: JsonObject;
  readonly fields: DrawFields;
  readonly plan: Plan;
  readonly ticket: CallTicket;
  readonly service: ImageService;
}

async function drawn(work: Work, parts: DrawParts): Promise<{ readonly reply: object; readonly headers: Headers }> {
  const { body, fields, plan, service } = work;
  const { facts } = service;
  const request = { ...plan.request, initial: plan.initial?.bytes, mask: plan.mask?.bytes };
  const events = eventsOf(work, parts);
  parts.last.begin(fields.genkey);
  const result = await enlarged(await collectDrawn(events, request), work);
  const shared = { request, drawn: result, facts, product: parts.product };
  const pictures = result.pictures.map(({ png, seed }) =>
    withPngTexts(png, { parameters: pictureText(shared, seed) }).toString('base64'),
  );
  const reply = {
    images: fields.send_images ? pictures : [],
    parameters: effective(body, fields, request),
    info: JSON.stringify(infoOf({ ...shared, now: parts.now() })),
    animated: false,
    extra_data: '',
    final_frame: '',
  };
  const { prompt, negativePrompt } = request;
  const kept = { ...reply, prompt: `${prompt} ### ${negativePrompt}`, models: [facts.name] };
  parts.last.keep(fields.genkey, kept, reply.images);
  const notes = [...plan.notes, ...result.notes];
  return { reply, headers: notes.length > 0 ? { 'x-parley-warnings': headerList(notes) } : {} };
}

/**
 * All of it in one turn: what was sent is brought to size, pictures are drawn, and at last each is told again in the size that
 * was asked for.
 */
function eventsOf({ plan, fields, ticket, service }: Work, { editor }: DrawParts): AsyncIterable<ImageEvent> {
  return service.inTurn(ticket, async function* (turn): AsyncGenerator<ImageEvent> {
    const request = await withPictures(plan, fields, editor, turn.signal);
    const drawn = plan.passThrough ? unchanged(request) : turn.draw(request);
    if (!plan.enlarging) return yield* drawn;
    const { upscaler, size } = plan.enlarging;
    const pictures: Extract<ImageEvent, { type: 'picture' }>[] = [];
    for await (const event of drawn) {
      if (event.type === 'picture') pictures.push(event);
      yield event;
    }
    for (const picture of pictures) {
      yield { ...picture, png: await turn.upscale({ picture: picture.png, upscaler, ...size }) };
    }
  });
}

async function* unchanged(request: ImageRequest): AsyncGenerator<ImageEvent> {
  const { seed, width, height, steps, sampler, scheduler, initial = new Uint8Array() } = request;
  yield { type: 'picture', index: 0, seed, png: initial };
  yield { type: 'finish', width, height, steps, sampler, scheduler, notes: [] };
}

/** A drawing that was stopped has lost its turn, but its finished pictures are still to be enlarged. */
async function enlarged(drawn: Drawn, { plan, service, ticket }: Work): Promise<Drawn> {
  if (!plan.enlarging) return drawn;
  const { upscaler, size } = plan.enlarging;
  if (!drawn.stopped) return { ...drawn, ...size };
  const pictures = [];
  for (const { png, seed } of drawn.pictures) {
    pictures.push({ seed, png: await service.upscale({ picture: png, upscaler, ...size }, ticket) });
  }
  return { ...drawn, ...size, pictures };
}

/** What was really asked for; pictures are shown again only to those who want it. */
function effective(body: JsonObject, { include_init_images: shown }: DrawFields, request: Plan['request']): object {
  const hidden = shown ? {} : { init_images: null, mask: null, extra_images: null };
  const { prompt, negativePrompt, steps, width, height, seed, guidance, strength } = request;
  return {
    ...Object.fromEntries(Object.entries({ ...body, ...hidden }).filter(([name]) => Object.hasOwn(body, name))),
    prompt,
    negative_prompt: negativePrompt,
    steps,
    width,
    height,
    seed,
    cfg_scale: guidance,
    sampler_name: request.sampler,
    scheduler: request.scheduler,
    denoising_strength: strength,
  };
}

/** For a client that lost its connection. */
export function lastDrawing({ query }: Pick<Call, 'query'>, last: LastDrawings): object {
  const genkey = query.get('genkey') ?? '';
  if (genkey === '') throw new AppError('missing-parameter', { parameter: 'genkey', expected: 'that of a drawing' });
  const found = last.lastOf(genkey);
  if (!found) throw new AppError('not-stored', { what: 'picture for the genkey', id: genkey.slice(0, 200) });
  return found;
}
