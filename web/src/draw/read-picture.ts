import { dataUrlOf } from '../files/data-url.ts';
import { base64Of } from './generated-images.ts';
import { sizeOf } from './source.svelte.ts';
import { texts } from './texts.ts';

const mostMegabytes = 20;

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
  return megabytes > mostMegabytes ? texts.source.tooLarge(name, Math.ceil(megabytes), mostMegabytes) : undefined;
}
