import { asAppError } from '../../core/errors.ts';
import type { ImageEvent, ImageFacts, ImageRequest, ImageService, ImageTurn } from '../../core/image.ts';
import type { ImageEditor } from '../../core/image-editing.ts';
import { type Owner, ownerOf } from '../../core/owner.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, type Headers, json, type Reply } from '../../http/call.ts';
import { paddedReply, requestsPadding } from '../../http/keep-alive.ts';
import { headerList, ignoredHeader } from '../dialect.ts';
import { bodyOf } from '../endpoint.ts';
import { clamp, readFields, wrong } from '../fields.ts';
import { imageRequestContext } from '../images/fields.ts';
import { withPngTexts } from '../images/image-header.ts';
import { chosenScheduler, type InfotextOptions, imageInfotext, modelHash } from '../images/infotext.ts';
import {
  chooseUpscaler,
  collectImages,
  defaultPreviewEvery,
  enlargedSize,
  type ImageContext,
  type ImageResult,
  imageOf,
  imageRequest,
  knownLoras,
  withoutLoraTags,
} from '../images/request.ts';
import { samplerDisplay } from '../images/sampler-names.ts';
import { fitted, fittedMask } from '../images/sent-image.ts';
import type { CallContext } from '../request-context.ts';
import { errorBody } from './errors.ts';
import { type DrawFields, drawFields } from './fields.ts';
import { type LastDrawings, timestamp } from './progress.ts';

interface DrawDeps extends ImageContext {
  readonly last: LastDrawings;
}

/** `txt2img` and `img2img` differ only in that the second needs an initial image. */
export async function draw(call: Call, path: 'txt2img' | 'img2img', context: DrawDeps): Promise<Reply> {
  const body = context.applyDefaults(await bodyOf(call), 'image');
  const read = readFields(drawFields, body);
  const fields = { ...read, genkey: read.genkey || read.force_task_id || '' };
  const service = imageOf(context.taskServices);
  const plan = decodeDrawing(fields, service.facts, path === 'img2img', context);
  const { requestContext, continues } = imageRequestContext(call, fields);
  const answer = answerOf({ body, fields, plan, requestContext, owner: ownerOf(call), service }, context);
  const notices = ignoredHeader(drawFields, body);
  if (continues || fields.keepalive || requestsPadding(call) || call.headers['cf-connecting-ip'] !== undefined) {
    const text = answer.then(({ reply }) => JSON.stringify(reply));
    const reply = await paddedReply(text, (error) => JSON.stringify(errorBody(asAppError(error))), context.startTimer);
    return { ...reply, headers: { ...reply.headers, ...notices } };
  }
  const { reply, headers } = await answer;
  return json(reply, 200, { ...notices, ...headers });
}

type Plan = ReturnType<typeof decodeDrawing>;

function decodeDrawing(
  fields: DrawFields,
  facts: ImageFacts,
  needsInitial: boolean,
  context: Pick<ImageContext, 'settings' | 'randomSeed'>,
) {
  const { adapter, extra_images: extras, steps, denoising_strength: strength } = fields;
  const initial = fields.init_images[0] ?? (extras.length === 1 && !fields.mask ? extras[0] : undefined);
  if (needsInitial && !initial) throw wrong('init_images', 'a list with a picture in it');
  const tagged = withoutLoraTags(joined(fields.prompt, adapter.add_sd_prompt));
  const { loras, notes: unknown } = knownLoras(fields.lora.length > 0 ? fields.lora : tagged.loras, facts);
  const request = imageRequest(
    {
      prompt: tagged.prompt,
      loras,
      negativePrompt: joined(fields.negative_prompt ?? '', adapter.add_sd_negative_prompt),
      width: fields.width,
      height: fields.height,
      steps,
      guidance: fields.cfg_scale,
      sampler: fields.sampler_name || fields.sampler_index,
      scheduler: fields.scheduler,
      seed: fields.seed,
      count: clamp(fields.batch_size ?? 1, 1) * clamp(fields.n_iter ?? 1, 1),
      clipSkip: fields.clip_skip ?? fields.override_settings.CLIP_stop_at_last_layers,
      strength,
      previewEvery: fields.genkey === '' ? 0 : defaultPreviewEvery,
      maxSteps: fields.add_sd_step_limit ?? adapter.add_sd_step_limit,
      maxGuidance: fields.add_sd_cfg_limit ?? adapter.add_sd_cfg_limit,
    },
    facts,
    context,
  );
  const enlarging = fields.enable_hr ? enlargingOf(fields, request, facts) : undefined;
  // Clients that only want to enlarge an image send these values.
  const isUnchanged = steps !== undefined && steps <= 1 && strength !== undefined && strength <= 0;
  return {
    request,
    /** Scaled to the size of the request only when its turn comes, and so is the mask. */
    initial,
    mask: initial ? fields.mask : undefined,
    /** Nothing is generated: the initial image is returned in the requested size. */
    passThrough: isUnchanged && initial !== undefined,
    enlarging,
    notes: [
      ...unknown,
      ...(fields.enable_hr && !enlarging ? ['There is no upscaler for enable_hr'] : []),
      ...(fields.mask && !initial ? ['The mask has no effect without init_images'] : []),
      ...(extras.length > 0 && initial !== extras[0] ? ['The model takes no extra_images'] : []),
    ],
  };
}

function joined(text: string, more: string | undefined): string {
  return [text, more].filter((each) => each).join(', ');
}

function enlargingOf(fields: DrawFields, request: ImageRequest, facts: ImageFacts) {
  const { hr_resize_x: width, hr_resize_y: height } = fields;
  const scale = clamp(fields.hr_scale ?? 2, 1, 4);
  const size = enlargedSize({ width: width || request.width * scale, height: height || request.height * scale });
  const factor = Math.max(size.width / request.width, size.height / request.height);
  const upscaler = chooseUpscaler(fields.hr_upscaler, facts, factor);
  return upscaler && { upscaler: upscaler.name, size };
}

interface Work {
  readonly body: JsonObject;
  readonly fields: DrawFields;
  readonly plan: Plan;
  readonly requestContext: CallContext;
  readonly owner: Owner;
  readonly service: ImageService;
}

async function answerOf(work: Work, context: DrawDeps): Promise<{ readonly reply: object; readonly headers: Headers }> {
  const { body, fields, plan, service, requestContext, owner } = work;
  const { facts } = service;
  const request = { ...plan.request, initial: plan.initial?.bytes, mask: plan.mask?.bytes };
  requestContext.watch?.decoded?.(request);
  const events = service.inTurn(requestContext, (turn) => eventsOf(turn, work, context.editor));
  context.last.begin(owner, fields.genkey);
  const drawn = await enlarged(await collectImages(events, request), work);
  const text = { request, drawn, facts, product: context.product };
  const pictures = drawn.pictures.map(({ png, seed }) =>
    withPngTexts(png, { parameters: imageInfotext(text, seed) }).toString('base64'),
  );
  const reply = {
    images: fields.send_images ? pictures : [],
    parameters: effective(body, fields, request),
    info: JSON.stringify(infoOf(text, context.now())),
    animated: false,
    extra_data: '',
    final_frame: '',
  };
  const { prompt, negativePrompt } = request;
  const remembered = { ...reply, prompt: `${prompt} ### ${negativePrompt}`, models: [facts.name] };
  context.last.remember(owner, fields.genkey, remembered, reply.images);
  const notes = [...plan.notes, ...drawn.notes];
  return { reply, headers: notes.length > 0 ? { 'x-parley-warnings': headerList(notes) } : {} };
}

/** Scales, draws and enlarges in one turn. Each enlarged image replaces the event of the original one. */
async function* eventsOf(turn: ImageTurn, { plan, fields }: Work, editor: ImageEditor): AsyncGenerator<ImageEvent> {
  const { initial, mask, passThrough, enlarging } = plan;
  const { resize_mode: fit, inpainting_mask_invert: inverted } = fields;
  const size = { width: plan.request.width, height: plan.request.height };
  const { signal } = turn;
  const request = {
    ...plan.request,
    ...(initial ? { initial: await fitted(editor, initial, size, fit, signal) } : {}),
    ...(mask ? { mask: await fittedMask(editor, mask, { size, fit, inverted, signal }) } : {}),
  };
  const drawn = passThrough ? unchanged(request) : turn.generate(request);
  if (!enlarging) return yield* drawn;
  const pictures: Extract<ImageEvent, { type: 'image' }>[] = [];
  for await (const event of drawn) {
    if (event.type === 'image') pictures.push(event);
    yield event;
  }
  const { upscaler } = enlarging;
  for (const picture of pictures) {
    yield { ...picture, png: await turn.upscale({ image: picture.png, upscaler, ...enlarging.size }) };
  }
}

async function* unchanged(request: ImageRequest): AsyncGenerator<ImageEvent> {
  const { seed, width, height, steps, sampler, scheduler, initial = new Uint8Array() } = request;
  yield { type: 'image', index: 0, seed, png: initial };
  yield { type: 'finish', width, height, steps, sampler, scheduler, notes: [] };
}

/** A stopped drawing has lost its turn; its finished images are enlarged in further turns. */
async function enlarged(drawn: ImageResult, { plan, service, requestContext }: Work): Promise<ImageResult> {
  if (!plan.enlarging) return drawn;
  const { upscaler, size } = plan.enlarging;
  if (!drawn.stopped) return { ...drawn, ...size };
  const pictures = [];
  for (const { png, seed } of drawn.pictures) {
    pictures.push({ seed, png: await service.upscale({ image: png, upscaler, ...size }, requestContext) });
  }
  return { ...drawn, ...size, pictures };
}

/** The request with its effective values; images only on request. */
function effective(body: JsonObject, { include_init_images: included }: DrawFields, request: ImageRequest): object {
  const hidden = included ? {} : { init_images: null, mask: null, extra_images: null };
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

/** All values of the original's `info`; neutral ones for what this server does not have. */
function infoOf(text: InfotextOptions, now: number): object {
  const { request, drawn, facts, product } = text;
  const { prompt, negativePrompt } = request;
  const seeds = drawn.pictures.map(({ seed }) => seed);
  const each = <Value>(value: Value): readonly Value[] => seeds.map(() => value);
  const scheduler = chosenScheduler(drawn, facts);
  return {
    prompt,
    all_prompts: each(prompt),
    negative_prompt: negativePrompt,
    all_negative_prompts: each(negativePrompt),
    seed: seeds[0] ?? request.seed,
    all_seeds: seeds,
    subseed: -1,
    all_subseeds: each(-1),
    subseed_strength: 0,
    width: drawn.width,
    height: drawn.height,
    sampler_name: samplerDisplay(drawn.sampler),
    cfg_scale: request.guidance,
    steps: drawn.steps,
    batch_size: request.count,
    restore_faces: false,
    face_restoration_model: null,
    sd_model_name: facts.name,
    sd_model_hash: modelHash(facts),
    sd_vae_name: null,
    sd_vae_hash: null,
    seed_resize_from_w: -1,
    seed_resize_from_h: -1,
    denoising_strength: request.initial ? request.strength : null,
    extra_generation_params: scheduler === undefined ? {} : { 'Schedule type': scheduler },
    index_of_first_image: 0,
    infotexts: seeds.map((seed) => imageInfotext(text, seed)),
    styles: [],
    job_timestamp: timestamp(now),
    clip_skip: Math.max(1, request.clipSkip),
    is_using_inpainting_conditioning: request.mask !== undefined,
    version: `${product.name} ${product.version}`,
    notes: drawn.notes,
  };
}
