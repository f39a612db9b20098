import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { AppError } from '../../../core/errors.ts';
import type { ImageRequest } from '../../../core/image.ts';
import { OnnxSession } from '../../onnx/session.ts';
import { type NetworkScale, sketch } from '../facts.ts';
import {
  drawPicture,
  type FlowNetwork,
  type SamplerName,
  type Scheduler,
  SeededNoise,
  samplers,
  schedulers,
  stepsFor,
  timesOf,
  type Wishes,
} from '../flow/draw.ts';
import type { ImageOptions, ImageTold } from '../host.ts';
import { extended, resized, writePng } from '../pictures/codec.ts';
import { blended, fromPlanes, type Pixels } from '../pictures/pixels.ts';
import { chosenName, type Given, readGiven } from './given.ts';
import { enlarged, type NetworkOf } from './upscale.ts';

export interface DrawParts {
  readonly network: FlowNetwork;
  readonly upscaler: NetworkOf;
  readonly tell: (told: ImageTold, bytes?: Uint8Array) => void;
  readonly signal: AbortSignal;
}

export interface DrawTask {
  readonly request: ImageRequest;
  /** What the network is told of the prompt and of the negative one. */
  readonly conditions: readonly [Float32Array, Float32Array];
  readonly shortened: boolean;
}

const square = { width: sketch.side, height: sketch.side };
const planes = 3 * sketch.side * sketch.side;

/**
 * Tells each step and each picture, and at last what was really done. One picture after the other: the network takes as long for
 * each of several together, and whoever waits for the first one, or skips it, would wait for all of them.
 */
export async function draw(task: DrawTask, parts: DrawParts): Promise<void> {
  const { request } = task;
  const { initial, mask, width, height, count, seed } = request;
  const plan = planOf(request, { initial: initial !== undefined, shortened: task.shortened });
  const given = initial && (await readGiven({ initial, mask, width, height }));
  for (let index = 0; index < count; index += 1) {
    const picture = await drawOne(task, plan, { seed: seed + index, given }, parts);
    const png = await writePng(await finished(picture, { request, given, untouched: plan.steps === 0 }, parts));
    parts.tell({ type: 'picture', index, seed: seed + index }, png);
  }
  const { steps, sampler, scheduler, notes } = plan;
  const own = mask && !initial ? ['There is no initial picture, so the mask was left out.'] : [];
  parts.tell({ type: 'finish', width, height, steps, sampler, scheduler, notes: [...notes, ...own] });
}

async function drawOne(
  { request, conditions: [wanted, unwanted] }: DrawTask,
  { sampler, times, steps, guidance }: Plan,
  { seed, given }: { readonly seed: number; readonly given: Given | undefined },
  { network, tell, signal }: DrawParts,
): Promise<Float32Array> {
  const wishes: Wishes = { wanted, unwanted, guidance };
  return drawPicture({
    network,
    wishes,
    sampler,
    times,
    noise: new SeededNoise(seed),
    size: planes,
    initial: given?.planes,
    mask: given?.mask?.planes,
    signal,
    stepped: async (step, outlook) => {
      const shown = request.previewEvery > 0 && step % request.previewEvery === 0 && step < steps;
      tell({ type: 'progress', step, steps }, shown ? await preview(outlook(), request) : undefined);
    },
  });
}

interface Result {
  readonly request: ImageRequest;
  readonly given: Given | undefined;
  readonly untouched: boolean;
}

/** What the network drew, at the size that was asked for, and with what was to stay. */
async function finished(
  drawn: Float32Array,
  { request: { width, height }, given, untouched }: Result,
  { upscaler, signal }: DrawParts,
): Promise<Pixels> {
  // Nothing of it went: then it need not become small either.
  if (given && untouched) return given.pixels;
  const pixels = fromPlanes(drawn, square, -1, 1);
  const stretched = given !== undefined;
  const side = stretched ? Math.max(width, height) : Math.min(width, height);
  let large = pixels;
  for (const scale of scalesFor(side)) large = await enlarged(large, await upscaler(scale), signal);
  const sized = stretched ? await resized(large, { width, height }) : await extended(large, { width, height });
  return given?.mask ? blended(sized, given.pixels, given.mask.pixels) : sized;
}

/** The network for 2x leaves no steps in the edges of so small a picture, so it comes first; the rest is a resize. */
function scalesFor(side: number): readonly NetworkScale[] {
  if (side <= sketch.side) return [];
  if (side <= 2 * sketch.side) return [2];
  return side <= 4 * sketch.side ? [2, 2] : [2, 4];
}

async function preview(drawn: Float32Array, { width, height, initial }: ImageRequest): Promise<Uint8Array> {
  const pixels = fromPlanes(drawn, square, -1, 1);
  const scale = Math.min(1, (2 * sketch.side) / Math.max(width, height));
  const size = { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
  return writePng(await (initial ? resized(pixels, size) : extended(pixels, size)));
}

const longestSide = 2048;
const mostPictures = 16;
const mostSteps = 150;

interface Plan {
  readonly sampler: SamplerName;
  readonly scheduler: Scheduler;
  readonly times: readonly number[];
  readonly steps: number;
  readonly guidance: number;
  readonly notes: readonly string[];
}

type Asked = Omit<ImageRequest, 'initial' | 'mask'>;

/** What is done for a request, and what is told about it. Throws for what is beyond all bounds. */
export function planOf(request: Asked, given: { readonly initial: boolean; readonly shortened: boolean }): Plan {
  within('width', request.width, longestSide);
  within('height', request.height, longestSide);
  within('the number of pictures', request.count, mostPictures);
  const sampler = chosenName('sampler', request.sampler, samplers);
  const scheduler = chosenName('scheduler', request.scheduler, schedulers);
  const asked = Math.min(mostSteps, Math.max(1, Math.round(request.steps)));
  const strength = given.initial ? Math.min(1, Math.max(0, request.strength)) : 1;
  const steps = stepsFor(asked, strength);
  const notes = [
    sampler.note,
    scheduler.note,
    request.steps > mostSteps ? `More than ${mostSteps} steps are not taken.` : undefined,
    given.shortened ? 'The prompt is longer than the model can read; its end was left out.' : undefined,
    request.clipSkip > 1 ? 'The model has no layers of a text encoder to leave out (clip_skip).' : undefined,
    sizeNote(request, given.initial),
  ].filter((note) => note !== undefined);
  return {
    sampler: sampler.name,
    scheduler: scheduler.name,
    times: timesOf(scheduler.name, steps, strength),
    steps,
    guidance: request.guidance,
    notes,
  };
}

function sizeNote({ width, height }: Asked, hasInitial: boolean): string | undefined {
  const { side } = sketch;
  if (width === side && height === side) return undefined;
  const larger = Math.max(width, height) > side;
  const how = larger ? `brought to ${width}×${height} by an upscaler` : `made smaller, to ${width}×${height}`;
  const drawn = `The model draws ${side}×${side}; the picture was ${how}.`;
  if (width === height) return drawn;
  return hasInitial
    ? `${drawn} What it saw of the initial picture was a square of it, stretched.`
    : `${drawn} It is a square whose edges go on ${width > height ? 'to the left and right' : 'above and below'}.`;
}

function within(field: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new AppError('invalid-field', { field, expected: `a whole number from 1 to ${most}` });
}

/** Does some work while somebody looks that it comes to an end. */
export type Watched = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Throws one sentence where the file is not the one that it must be. */
export async function openSketch({ path, threads }: ImageOptions): Promise<OnnxSession> {
  const bytes = await readFile(path);
  if (createHash('sha256').update(bytes).digest('hex') !== sketch.sha256) {
    throw new Error(`${path} is damaged; install Parley anew`);
  }
  return OnnxSession.open(bytes, { threads });
}

/** A run ends in the middle when the signal fires. */
export function sketchNetwork(
  session: Pick<OnnxSession, 'run'>,
  signal: AbortSignal,
  watched: Watched = (work) => work(),
): FlowNetwork {
  const { side, conditionLength } = sketch;
  return async ({ x, time, conditions }) => {
    const rows = conditions.length;
    const told = new Float32Array(rows * conditionLength);
    for (const [row, condition] of conditions.entries()) told.set(condition, row * conditionLength);
    const inputs = {
      x: { data: x, shape: [rows, 3, side, side] },
      t: { data: new Float32Array(rows).fill(time), shape: [rows] },
      cond: { data: told, shape: [rows, conditionLength] },
    };
    const { velocity } = await watched(() => session.run(inputs, signal));
    if (!velocity) throw new Error('the network gave no velocity');
    return velocity.data;
  };
}
