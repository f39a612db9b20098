import type { ImageRequest } from '../../../core/image.ts';
import { type NetworkScale, sketch } from '../facts.ts';
import { drawPicture, type FlowNetwork, type Wishes } from '../flow/draw.ts';
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
