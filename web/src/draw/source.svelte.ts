import { dataUrlOf } from '../files/data-url.ts';
import { base64Of, imageUrl } from './generated-images.ts';
import { emptyMask, type Mask, type MaskStep, maskImage } from './mask.ts';
import { texts } from './texts.ts';

/** The input image in base64 and its mask. Both stay while other views are open. */
class Source {
  picture = $state.raw<string>();
  mask = $state.raw<Mask>(emptyMask);

  /** The same image keeps its mask. */
  use(picture: string | undefined, mask: readonly MaskStep[] = []): void {
    if (picture === this.picture) return;
    this.picture = picture;
    this.mask = { done: mask, undone: [] };
  }

  /** The mask in the size of the image, as the API expects it; undefined if nothing is painted. */
  async maskImage(): Promise<string | undefined> {
    if (this.picture === undefined) return undefined;
    const { width, height } = await sizeOf(this.picture);
    return maskImage(this.mask.done, width, height);
  }
}

export const source = new Source();

/** Throws if the browser cannot decode the image. */
export async function sizeOf(picture: string): Promise<{ readonly width: number; readonly height: number }> {
  const image = new Image();
  image.src = imageUrl(picture);
  await image.decode();
  return { width: image.naturalWidth, height: image.naturalHeight };
}

const maxMegabytes = 20;

interface ReadPicture {
  /** base64 */
  readonly picture?: string;
  /** Why it cannot be used, for people. */
  readonly problem?: string;
}

export async function readPicture(file: File): Promise<ReadPicture> {
  const problem = problemOf(file);
  if (problem !== undefined) return { problem };
  const picture = base64Of(await dataUrlOf(file));
  const isReadable = await sizeOf(picture).then(
    () => true,
    () => false,
  );
  return isReadable ? { picture } : { problem: texts.source.unreadable(file.name) };
}

function problemOf({ name, type, size }: File): string | undefined {
  if (!type.startsWith('image/')) return texts.source.noImage(name || texts.source.pasted);
  const megabytes = size / 2 ** 20;
  return megabytes > maxMegabytes ? texts.source.tooLarge(name, Math.ceil(megabytes), maxMegabytes) : undefined;
}
