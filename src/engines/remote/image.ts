import { AppError } from '../../core/errors.ts';
import type { GenerateOptions, ImageEngine, ImageEvent, ImageFacts, ImageRequest } from '../../core/image.ts';
import { type BackendFacts, type BackendRequest, callBackend, RemoteTaskEngine } from './backend-pool.ts';
import { type AsPng, base64, readPng } from './image-servers/server.ts';
import { listAt, objectAt, textAt } from './json.ts';
import { kinds } from './kinds.ts';

/** The API offers no choice of samplers or schedulers. */
function remoteImageFacts(name: string): ImageFacts {
  return {
    name,
    title: name,
    path: '',
    nativeSize: 1024,
    samplers: ['default'],
    schedulers: ['default'],
    upscalers: [{ name: 'None', scale: 1 }],
    previews: false,
    defaults: { steps: 20, guidance: 7, size: 1024 },
  };
}

interface RemoteImageDeps {
  readonly model: string | undefined;
  readonly name: string;
  readonly asPng: AsPng;
}

/** Image engine on remote backends, by `POST /v1/images/generations`. */
export class RemoteImage extends RemoteTaskEngine<RemoteImageDeps> implements ImageEngine {
  facts(): ImageFacts {
    return remoteImageFacts(this.deps.name);
  }

  async *generate(
    request: ImageRequest,
    signal: AbortSignal,
    { sent }: GenerateOptions = {},
  ): AsyncGenerator<ImageEvent> {
    const { steps, count, seed, sampler, scheduler } = request;
    yield { type: 'progress', step: 0, steps };
    const requestFor = (facts: BackendFacts) => imageQuestion(request, facts);
    const options = { model: this.deps.model, affinity: request.prompt, signal, sent };
    const { answer, facts } = await callBackend(this.pool, requestFor, options);
    const images = listAt(objectAt(answer).data).flatMap((entry) => textAt(objectAt(entry).b64_json) ?? []);
    if (images.length === 0) {
      const reason = `${facts.host} gave no picture`;
      throw new AppError('engine-failed', { capability: this.pool.capability, reason });
    }
    let size = { width: request.width, height: request.height };
    for (const [index, image] of images.slice(0, count).entries()) {
      const { png, width, height } = await readPng(this.deps.asPng, Buffer.from(image, 'base64'), facts.host);
      size = { width, height };
      yield { type: 'image', index, seed: seed + index, png };
    }
    yield { type: 'finish', ...size, steps, sampler, scheduler, notes: notesOf(request, facts, images.length) };
  }

  upscale(): Promise<Uint8Array> {
    const instead = 'the remote backend only generates pictures';
    return Promise.reject(new AppError('unsupported', { feature: 'Making a picture larger', instead }));
  }
}

function imageQuestion(request: ImageRequest, { kind, host, model: { id } }: BackendFacts): BackendRequest {
  const { prompt, width, height, count, initial, mask } = request;
  const { native, title } = kinds[kind];
  if (initial && !native) {
    const instead = `the remote backend at ${host} (${title}) generates pictures from text only`;
    throw new AppError('unsupported', { feature: 'A picture from another one', instead });
  }
  const common = { model: id, prompt, n: count, size: `${width}x${height}`, response_format: 'b64_json' };
  if (!native) return { path: '/v1/images/generations', body: common };
  const own = {
    negative_prompt: request.negativePrompt,
    steps: request.steps,
    cfg_scale: request.guidance,
    seed: request.seed,
    clip_skip: request.clipSkip,
  };
  if (!initial) return { path: '/v1/images/generations', body: { ...common, ...own } };
  const images = { image: base64(initial), ...(mask && { mask: base64(mask) }) };
  const body = { ...common, ...own, ...images, denoising_strength: request.strength };
  return { path: '/v1/images/edits', body };
}

function notesOf(
  { negativePrompt, count }: ImageRequest,
  { kind, host }: BackendFacts,
  generated: number,
): readonly string[] {
  const { native } = kinds[kind];
  return [
    ...(native ? [] : ['steps, guidance, sampler and seed are those of the remote backend']),
    ...(negativePrompt !== '' && !native ? ['negative_prompt is not supported by the remote backend'] : []),
    ...(generated < count ? [`${host} gave ${generated} of ${count} pictures`] : []),
  ];
}
