import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ImageRequest } from '../../../core/image.ts';
import type { TaskTools } from '../../host/task-worker.ts';
import { OnnxSession } from '../../onnx/session.ts';
import { blended, extended, fromPlanes, type Pixels, resized, toPlanes, writePng } from '../codec.ts';
import { type NetworkScale, sketch } from '../facts.ts';
import {
  type FlowNetwork,
  SeededNoise,
  sampleImage,
  samplers,
  schedulers,
  stepsFor,
  timesOf,
} from '../flow/sampling.ts';
import type { ImageOptions, ImageTaskEvent } from '../host.ts';
import { chosenName, type InitialImage, readInitial, within } from './request.ts';
import { enlarged, type NetworkOf, type Watched } from './upscale.ts';

interface DrawDeps extends Pick<TaskTools<ImageTaskEvent>, 'emit' | 'signal'> {
  readonly network: FlowNetwork;
  readonly upscaler: NetworkOf;
}

interface DrawTask {
  readonly request: ImageRequest;
  /** Embeddings of the prompt and of the negative prompt. */
  readonly conditions: readonly [Float32Array, Float32Array];
  /** Whether a prompt was truncated. */
  readonly shortened: boolean;
}

const square = { width: sketch.side, height: sketch.side };

/** Generates one image after the other: a batch would take as long, and the first image would come last. */
export async function generate(task: DrawTask, deps: DrawDeps): Promise<void> {
  const { request } = task;
  const { initial, mask, width, height, count, seed } = request;
  const plan = planOf(request, { initial: initial !== undefined, shortened: task.shortened });
  const source = await readInitial(request, { width, height });
  const small = source && {
    initial: toPlanes(await resized(source.pixels, square), -1, 1),
    mask: source.mask && Float32Array.from((await resized(source.mask, square)).data, (value) => value / 255),
  };
  const { steps, sampler, scheduler, notes } = plan;
  for (let index = 0; index < count; index += 1) {
    const sampled = await sampleImage({
      ...deps,
      ...plan,
      ...small,
      conditions: task.conditions,
      noise: new SeededNoise(seed + index),
      size: 3 * sketch.side * sketch.side,
      stepped: async (step, predicted) => {
        const withPreview = request.previewEvery > 0 && step % request.previewEvery === 0 && step < steps;
        deps.emit({
          type: 'progress',
          step,
          steps,
          ...(withPreview && { preview: await preview(predicted(), request) }),
        });
      },
    });
    const pixels = source && steps === 0 ? source.pixels : await finished(sampled, request, source, deps);
    deps.emit({ type: 'image', index, seed: seed + index, png: await writePng(pixels) });
  }
  const own = mask && !initial ? ['There is no initial picture, so the mask was left out.'] : [];
  deps.emit({ type: 'finish', width, height, steps, sampler, scheduler, notes: [...notes, ...own] });
}

/** Enlarges to the requested size, and restores what the mask keeps. */
async function finished(
  sampled: Float32Array,
  { width, height }: ImageRequest,
  source: InitialImage | undefined,
  { upscaler, signal }: DrawDeps,
): Promise<Pixels> {
  let large = fromPlanes(sampled, square, -1, 1);
  const side = source ? Math.max(width, height) : Math.min(width, height);
  for (const scale of scalesFor(side)) large = await enlarged(large, await upscaler(scale), signal);
  const sized = source ? await resized(large, { width, height }) : await extended(large, { width, height });
  return source?.mask ? blended(sized, source.pixels, source.mask) : sized;
}

/** 2x first, because that network leaves no jagged edges in so small an image; a resize does the rest. */
function scalesFor(side: number): readonly NetworkScale[] {
  if (side <= sketch.side) return [];
  if (side <= 2 * sketch.side) return [2];
  return side <= 4 * sketch.side ? [2, 2] : [2, 4];
}

async function preview(sampled: Float32Array, { width, height, initial }: ImageRequest): Promise<Uint8Array> {
  const pixels = fromPlanes(sampled, square, -1, 1);
  const scale = Math.min(1, (2 * sketch.side) / Math.max(width, height));
  const size = { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
  return writePng(await (initial ? resized(pixels, size) : extended(pixels, size)));
}

const maxSide = 2048;
const maxImages = 16;
const maxSteps = 150;

/** Parameters of a request, with notes about what could not be done. Throws for values out of range. */
export function planOf(
  request: Omit<ImageRequest, 'initial' | 'mask'>,
  source: { readonly initial: boolean; readonly shortened: boolean },
) {
  within('width', request.width, maxSide);
  within('height', request.height, maxSide);
  within('the number of pictures', request.count, maxImages);
  const { name: sampler, note: samplerNote } = chosenName('sampler', request.sampler, samplers);
  const { name: scheduler, note: schedulerNote } = chosenName('scheduler', request.scheduler, schedulers);
  const requestedSteps = Math.min(maxSteps, Math.max(1, Math.round(request.steps)));
  const strength = source.initial ? Math.min(1, Math.max(0, request.strength)) : 1;
  const steps = stepsFor(requestedSteps, strength);
  const notes = [
    samplerNote,
    schedulerNote,
    request.steps > maxSteps ? `More than ${maxSteps} steps are not taken.` : undefined,
    source.shortened ? 'The prompt is longer than the model can read; its end was left out.' : undefined,
    request.clipSkip > 1 ? 'The model has no layers of a text encoder to leave out (clip_skip).' : undefined,
    sizeNote(request, source.initial),
  ].filter((note) => note !== undefined);
  const times = timesOf(scheduler, steps, strength);
  return { sampler, scheduler, times, steps, guidance: request.guidance, notes };
}

function sizeNote({ width, height }: Pick<ImageRequest, 'width' | 'height'>, hasInitial: boolean): string | undefined {
  const { side } = sketch;
  if (width === side && height === side) return undefined;
  const larger = Math.max(width, height) > side;
  const how = larger ? `brought to ${width}×${height} by an upscaler` : `made smaller, to ${width}×${height}`;
  const sentence = `The model draws ${side}×${side}; the picture was ${how}.`;
  if (width === height) return sentence;
  return hasInitial
    ? `${sentence} What it saw of the initial picture was a square of it, stretched.`
    : `${sentence} It is a square whose edges go on ${width > height ? 'to the left and right' : 'above and below'}.`;
}

export async function openSketch({ path, threads }: ImageOptions): Promise<OnnxSession> {
  const bytes = await readFile(path);
  if (createHash('sha256').update(bytes).digest('hex') !== sketch.sha256) {
    throw new Error(`${path} is damaged; install Parley anew`);
  }
  return OnnxSession.open(bytes, { threads });
}

/** The signal ends a run. */
export function sketchNetwork(
  session: Pick<OnnxSession, 'run'>,
  signal: AbortSignal,
  watched: Watched = (work) => work(),
): FlowNetwork {
  const { side, conditionLength } = sketch;
  return async ({ x, time, conditions }) => {
    const rows = conditions.length;
    const cond = new Float32Array(rows * conditionLength);
    for (const [row, condition] of conditions.entries()) cond.set(condition, row * conditionLength);
    const inputs = {
      x: { data: x, shape: [rows, 3, side, side] },
      t: { data: new Float32Array(rows).fill(time), shape: [rows] },
      cond: { data: cond, shape: [rows, conditionLength] },
    };
    const { velocity } = await watched(() => session.run(inputs, signal));
    if (!velocity) throw new Error('the network gave no velocity');
    return velocity.data;
  };
}
