import type { ImageRequest } from '../../../core/image.ts';
import { type NetworkScale, sketch } from '../facts.ts';
import { drawPictures, type FlowNetwork, type Wishes } from '../flow/draw.ts';
import { SeededNoise } from '../flow/noise.ts';
import type { ImageTold } from '../messages.ts';
import { extended, resized, writePng } from '../pictures/codec.ts';
import { blended, fromPlanes, type Pixels } from '../pictures/pixels.ts';
import { enlarged } from '../upscaling/upscaler.ts';
import { type Given, readGiven } from './given.ts';
import { type Plan, planOf } from './plan.ts';
import type { NetworkOf } from './upscale.ts';

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

/** So many go through the network together; more would only take more memory. */
const together = 4;
const square = { width: sketch.side, height: sketch.side };
const planes = 3 * sketch.side * sketch.side;

/** Tells each step and each picture, and at last what was really done. */
export async function draw(task: DrawTask, parts: DrawParts): Promise<void> {
  const { request } = task;
  const { initial, mask, width, height, count, seed } = request;
  const plan = planOf(request, { initial: initial !== undefined, shortened: task.shortened });
  const given = initial && (await readGiven({ initial, mask, width, height }));
  for (let first = 0; first < count; first += together) {
    const seeds = Array.from({ length: Math.min(together, count - first) }, (_, index) => seed + first + index);
    const drawn = await drawSome(task, plan, { seeds, given }, parts);
    for (const [index, picture] of drawn.entries()) {
      const png = await writePng(await finished(picture, { request, given, untouched: plan.steps === 0 }, parts));
      parts.tell({ type: 'picture', index: first + index, seed: seed + first + index }, png);
    }
  }
  const { steps, sampler, scheduler, notes } = plan;
  const own = mask && !initial ? ['There is no initial picture, so the mask was left out.'] : [];
  parts.tell({ type: 'finish', width, height, steps, sampler, scheduler, notes: [...notes, ...own] });
}

async function drawSome(
  { request, conditions: [wanted, unwanted] }: DrawTask,
  { sampler, times, steps, guidance }: Plan,
  { seeds, given }: { readonly seeds: readonly number[]; readonly given: Given | undefined },
  { network, tell, signal }: DrawParts,
): Promise<readonly Float32Array[]> {
  const wishes: Wishes = { wanted, unwanted, guidance };
  return drawPictures({
    network,
    wishes,
    sampler,
    times,
    noises: seeds.map((seed) => new SeededNoise(seed)),
    size: planes,
    initial: given?.planes,
    mask: given?.mask?.planes,
    signal,
    stepped: async (step, outlook) => {
      const shown = request.previewEvery > 0 && step % request.previewEvery === 0 && step < steps;
      const [first] = shown ? outlook() : [];
      tell({ type: 'progress', step, steps }, first && (await preview(first, request)));
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
