import type { UpscaleRequest } from '../../../../core/image.ts';
import { opaque, readPicture, resized, writePng } from '../../pictures/codec.ts';
import { channelOf, withAlpha } from '../../pictures/pixels.ts';
import { checkedSize, longestSide, type NetworkOf, upscaledPicture } from '../../worker/upscale.ts';
import { nameOfFile } from '../loras.ts';
import type { DiffusionOptions } from '../options.ts';
import type { Painter } from '../painter.ts';
import { asEngineFailure } from './draw.ts';

export interface UpscaleParts {
  readonly painter: Pick<Painter, 'upscale'>;
  readonly networkOf: NetworkOf;
  readonly signal: AbortSignal;
}

/** What these files mostly enlarge by: more than this of a side would be too much for the memory. */
const usualScale = 4;

/** With the person's own file where it is meant, and with what is built in otherwise. */
export async function upscale(
  request: UpscaleRequest,
  { upscaler }: Pick<DiffusionOptions, 'upscaler'>,
  { painter, networkOf, signal }: UpscaleParts,
): Promise<Uint8Array> {
  const asked = request.upscaler.trim().toLowerCase();
  if (upscaler === undefined || nameOfFile(upscaler).toLowerCase() !== asked) {
    return upscaledPicture(request, networkOf, signal);
  }
  const size = checkedSize(request);
  const pixels = await readPicture({ bytes: request.picture, field: 'image' });
  const shrink = Math.min(1, longestSide / usualScale / Math.max(pixels.width, pixels.height));
  const start = await resized(await opaque(pixels), {
    width: Math.max(1, Math.round(pixels.width * shrink)),
    height: Math.max(1, Math.round(pixels.height * shrink)),
  });
  const larger = await painter.upscale(await writePng(start), signal).catch((error) => {
    signal.throwIfAborted();
    throw asEngineFailure(error);
  });
  const sized = await resized(await opaque(await readPicture({ bytes: larger, field: 'the picture' })), size);
  if (pixels.channels !== 4) return writePng(sized);
  return writePng(withAlpha(sized, await resized(channelOf(pixels, 3), size)));
}
