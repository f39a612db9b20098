import type { ImageRequest } from '../../../../core/image.ts';
import type { ImageTold } from '../../messages.ts';
import { opaque, readMask, readPicture, resized, writePng } from '../../pictures/codec.ts';
import { blended, type Pixels } from '../../pictures/pixels.ts';
import { feathered } from '../../worker/given.ts';
import type { Painter } from '../painter.ts';
import { type PaintOptions, paintPlan } from '../plan.ts';
import { asEngineFailure } from './failure.ts';

export interface DrawParts {
  readonly painter: Pick<Painter, 'draw'>;
  readonly signal: AbortSignal;
  readonly tell: (told: ImageTold, bytes?: Uint8Array) => void;
}

/** One picture after the other, so that each can be seen when it is there. */
export async function draw(request: ImageRequest, options: PaintOptions, parts: DrawParts): Promise<void> {
  const { count, seed } = request;
  const given = { initial: request.initial !== undefined, mask: request.mask !== undefined };
  const { params, untouched, steps, notes } = paintPlan(request, given, options);
  const { width, height } = params;
  const start = await readStart(request, { width, height });
  const sent = start && (await writePng(start.pixels));
  for (let index = 0; index < count; index += 1) {
    const own = { ...params, seed: (seed + index) % 2 ** 32 };
    const png = untouched && sent ? sent : await painted(own, sent, start, parts);
    parts.tell({ type: 'picture', index, seed: own.seed }, png);
  }
  const sampler = params.sampling_method;
  const scheduler = params.scheduler ?? options.facts.schedulers[0] ?? '';
  parts.tell({ type: 'finish', width, height, steps, sampler, scheduler, notes });
}

interface Start {
  readonly pixels: Pixels;
  readonly mask?: Pixels;
}

async function readStart({ initial, mask }: ImageRequest, size: { width: number; height: number }) {
  if (!initial) return undefined;
  const read = await opaque(await readPicture({ bytes: initial, field: 'the initial picture' }));
  const pixels = await resized(read, size);
  if (!mask) return { pixels };
  return { pixels, mask: await feathered(await resized(await readMask({ bytes: mask, field: 'mask' }), size)) };
}

async function painted(
  params: Parameters<Painter['draw']>[0],
  sent: Uint8Array | undefined,
  start: Start | undefined,
  { painter, signal, tell }: DrawParts,
): Promise<Uint8Array> {
  const progress = (step: number, steps: number): void => tell({ type: 'progress', step, steps });
  const drawn = await painter.draw(params, sent, { progress, signal }).catch((error) => {
    signal.throwIfAborted();
    throw asEngineFailure(error);
  });
  const pixels = await opaque(await readPicture({ bytes: drawn, field: 'the picture' }));
  const sized = await resized(pixels, params);
  // Written anew: what the engine puts into its files is not for everybody.
  return writePng(start?.mask ? blended(sized, start.pixels, start.mask) : sized);
}
