import { dataUrlOf } from '../files/data-url.ts';
import { base64Of, imageUrl } from './generated-images.ts';
import { emptyMask, type Mask, type MaskStep, maskImage } from './mask.ts';
import { texts } from './texts.ts';

/** The input image in base64 and its mask. Both stay while other views are open. */
class Source {
  image = $state.raw<string>();
  mask = $state.raw<Mask>(emptyMask);

  /** The same image keeps its mask. */
  use(image: string | undefined, mask: readonly MaskStep[] = []): void {
    if (image === this.image) return;
    this.image = image;
    this.mask = { done: mask, undone: [] };
  }

  /** The mask in the size of the image, as the API expects it; undefined if nothing is painted. */
  async maskImage(): Promise<string | undefined> {
    if (this.image === undefined) return undefined;
    const { width, height } = await sizeOf(this.image);
    return maskImage(this.mask.done, width, height);
  }
}

export const source = new Source();

/** Throws if the browser cannot decode the image. */
export async function sizeOf(base64: string): Promise<{ readonly width: number; readonly height: number }> {
  const image = new Image();
  image.src = imageUrl(base64);
  await image.decode();
  return { width: image.naturalWidth, height: image.naturalHeight };
}

const maxMegabytes = 20;

interface ReadImage {
  /** base64 */
  readonly image?: string;
  /** Why it cannot be used, for people. */
  readonly problem?: string;
}

export async function readImage(file: File): Promise<ReadImage> {
  const problem = problemOf(file);
  if (problem !== undefined) return { problem };
  const image = base64Of(await dataUrlOf(file));
  const isReadable = await sizeOf(image).then(
    () => true,
    () => false,
  );
  return isReadable ? { image } : { problem: texts.source.unreadable(file.name) };
}

function problemOf({ name, type, size }: File): string | undefined {
  if (!type.startsWith('image/')) return texts.source.noImage(name || texts.source.pasted);
  const megabytes = size / 2 ** 20;
  return megabytes > maxMegabytes ? texts.source.tooLarge(name, Math.ceil(megabytes), maxMegabytes) : undefined;
}
