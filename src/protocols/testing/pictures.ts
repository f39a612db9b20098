import { deflateSync } from 'node:zlib';
import { defaultSettings } from '../../config/flags.ts';
import { unlessAborted } from '../../core/abort.ts';
import { AppError } from '../../core/errors.ts';
import type {
  GraphEvent,
  GraphRequest,
  ImageEvent,
  ImageFacts,
  ImageJobs,
  ImageProgress,
  ImageRequest,
  ImageService,
  UpscaleRequest,
} from '../../core/image.ts';
import type { ImageEditor } from '../../core/image-editing.ts';
import type { RequestContext } from '../../core/request-context.ts';
import { Queue } from '../../queue/queue.ts';
import type { ImageContext } from '../images/request.ts';
import { dialectParts } from './doubles.ts';

/** A real PNG of one colour, made without the library that is to read it. */
export function pngOf(width: number, height: number, colour: readonly number[] = [200, 30, 30]): Buffer {
  const channels = colour.length;
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(width * channels, Buffer.from(colour))]);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, channels === 4 ? 6 : channels === 3 ? 2 : 0, 0, 0, 0], 8);
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    pngChunk('IHDR', head),
    pngChunk('IDAT', pixels),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Bit by bit, as the specification has it: another way than the one that is tested. */
export function pngChunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  let crc = 0xffffffff;
  for (const byte of named) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  const numbers = Buffer.alloc(8);
  numbers.writeUInt32BE(data.length, 0);
  numbers.writeUInt32BE((crc ^ 0xffffffff) >>> 0, 4);
  return Buffer.concat([numbers.subarray(0, 4), named, numbers.subarray(4)]);
}

export function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

/** The channels of one pixel, however the picture is packed; a grey one has one. */
export async function pixelAt(bytes: Uint8Array, x: number, y: number): Promise<readonly number[]> {
  const { default: sharp } = await import('sharp');
  const { space = 'srgb' } = await sharp(bytes).metadata();
  const { data, info } = await sharp(bytes).toColourspace(space).raw().toBuffer({ resolveWithObject: true });
  const start = (y * info.width + x) * info.channels;
  return [...data.subarray(start, start + info.channels)];
}

export const imageFacts: ImageFacts = {
  name: 'sketch',
  title: 'sketch.safetensors [abcdefabcd]',
  path: '/models/sketch.safetensors',
  sha256: 'abcdefabcd'.padEnd(64, '0'),
  nativeSize: 512,
  samplers: ['euler', 'euler_a', 'dpm++2m'],
  schedulers: ['discrete', 'karras'],
  upscalers: [
    { name: 'ESRGAN_4x', scale: 4 },
    { name: 'Soft_2x', scale: 2 },
  ],
  defaults: { steps: 20, guidance: 5, size: 512 },
};

export interface AskedDrawing {
  readonly request: ImageRequest;
  readonly requestContext: RequestContext;
}

export interface FakeImage {
  readonly image: ImageService;
  /** One at a time takes its turn. */
  readonly queue: Queue;
  readonly imageJobs: ImageJobs;
  readonly asked: AskedDrawing[];
  readonly upscaled: { readonly request: UpscaleRequest; readonly requestContext: RequestContext }[];
  /** What `progress` tells from now on. */
  progress: ImageProgress | undefined;
  /** How often somebody interrupted it. */
  interrupts: number;
  /** How often somebody went on to the next picture. */
  skips: number;
}

export interface FakeImageOptions {
  readonly facts?: Partial<ImageFacts>;
  /** Played instead of a drawing. */
  readonly script?: (request: ImageRequest, requestContext: RequestContext) => AsyncIterable<ImageEvent>;
  readonly notes?: readonly string[];
  /** How many are taken in at once. */
  readonly places?: number;
  /** Played instead of a whole graph. */
  readonly graph?: (request: GraphRequest, requestContext: RequestContext) => AsyncIterable<GraphEvent>;
  readonly nodes?: ImageService['nodes'];
}

/** Draws plain squares at once and notes what it was asked for. */
export function fakeImage({ facts, script, notes = [], places = 100, graph, nodes }: FakeImageOptions = {}): FakeImage {
  const own = { ...imageFacts, ...facts };
  const queue = new Queue({ capacity: 1, maxRequests: () => places });
  const fake: FakeImage = {
    queue,
    asked: [],
    upscaled: [],
    progress: undefined,
    interrupts: 0,
    skips: 0,
    imageJobs: {
      progress: (genkey = '') => (genkey === '' || fake.progress?.genkey === genkey ? fake.progress : undefined),
      interrupt: () => {
        fake.interrupts += 1;
        return fake.progress !== undefined;
      },
      skip: () => {
        fake.skips += 1;
        return fake.progress !== undefined;
      },
    },
    image: {
      name: own.name,
      facts: own,
      ...(nodes && { nodes }),
      inTurn: (requestContext, work) => {
        const place = queue.enter({
          client: requestContext.client,
          kind: { name: 'image', cost: 2, initialEstimateSeconds: 20 },
          rank: requestContext.rank,
        });
        return (async function* () {
          try {
            await unlessAborted(place.turn, requestContext.signal);
            yield* work({
              signal: requestContext.signal,
              generate: (request) => fake.image.generate(request, requestContext),
              upscale: (request) => fake.image.upscale(request, requestContext),
              runsGraphs: async () => graph !== undefined,
              graph: (request) => graph?.(request, requestContext) ?? noGraph(),
            });
          } finally {
            place.leave();
          }
        })();
      },
      generate: (request, requestContext) => {
        fake.asked.push({ request, requestContext });
        return script ? script(request, requestContext) : drawSquares(request, notes);
      },
      upscale: async (request, requestContext) => {
        fake.upscaled.push({ request, requestContext });
        return pngOf(request.width, request.height);
      },
    },
  };
  return fake;
}

async function* noGraph(): AsyncGenerator<GraphEvent> {}

export async function* drawSquares(request: ImageRequest, notes: readonly string[] = []): AsyncGenerator<ImageEvent> {
  const { width, height, steps, sampler, scheduler, count, seed, previewEvery } = request;
  for (let index = 0; index < count; index++) {
    for (let step = 1; step <= Math.min(steps, 4); step++) {
      const preview = previewEvery > 0 && step % previewEvery === 0 ? { preview: pngOf(8, 8) } : {};
      yield { type: 'progress', step, steps, ...preview };
    }
    yield { type: 'image', index, seed: seed + index, png: pngOf(width, height) };
  }
  yield { type: 'finish', width, height, steps, sampler, scheduler, notes };
}

/** One picture, and then somebody stops it. */
export async function* stoppedAfterOne(request: ImageRequest): AsyncGenerator<ImageEvent> {
  const { width, height, seed } = request;
  yield { type: 'image', index: 0, seed, png: pngOf(width, height) };
  throw new AppError('stopped', {});
}

/** What the image dialects are built on, around a fake; its random seed is always the same. */
export function pictureParts(fake: FakeImage | undefined, own: Partial<ImageContext> = {}): ImageContext {
  return {
    ...dialectParts(fake ? { taskServices: { image: fake.image } } : {}),
    settings: defaultSettings,
    applyDefaults: (body) => body,
    randomSeed: () => 417_203,
    product: { name: 'Parley', version: '0.1.0' },
    editor: inProcessEditor,
    imageJobs: fake?.imageJobs ?? { progress: () => undefined, interrupt: () => false, skip: () => false },
    ...own,
  };
}

/** What the picture worker does, without the process. */
export const inProcessEditor: ImageEditor = {
  edit: async (edit, pictures, signal) => {
    signal?.throwIfAborted();
    const { edited } = await import('../../engines/image-editing/worker/edit.ts');
    return edited(edit, pictures);
  },
};
