import { AppError } from '../../../core/errors.ts';
import type { ImageRequest } from '../../../core/image.ts';
import { blurred, opaque, type Pixels, readImage, readMask, resized, type Size } from '../codec.ts';

/** The initial image and its feathered mask, both at the size of the result. */
export interface InitialImage {
  readonly pixels: Pixels;
  readonly mask?: Pixels;
}

export async function readInitial({ initial, mask }: ImageRequest, size: Size): Promise<InitialImage | undefined> {
  if (!initial) return undefined;
  const pixels = await resized(await opaque(await readImage({ bytes: initial, field: 'the initial picture' })), size);
  if (!mask) return { pixels };
  return { pixels, mask: await feathered(await resized(await readMask({ bytes: mask, field: 'mask' }), size)) };
}

/** Width of the soft edge, as a fraction of the longer side. */
const feathering = 1 / 128;

/** Softens the edge on its white side only: black stays black. */
async function feathered(mask: Pixels): Promise<Pixels> {
  const soft = await blurred(mask, Math.max(0.5, Math.max(mask.width, mask.height) * feathering));
  // Half of the blurred edge lies on either side of the sharp one; only the upper half counts.
  const data = mask.data.map((value, index) => Math.min(value, Math.max(0, 2 * (soft.data[index] as number) - 255)));
  return { ...mask, data };
}

/** Throws for a number that is out of range. */
export function within(field: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new AppError('invalid-field', { field, expected: `a whole number from 1 to ${most}` });
}

/** Names that leave the choice to the engine. */
const open = ['', 'automatic', 'default'];

/** Finds a name regardless of spelling; the first name, with a note, if it is unknown. */
export function chosenName<Name extends string>(
  what: string,
  requested: string,
  names: readonly [Name, ...Name[]],
): { readonly name: Name; readonly note?: string } {
  const known = names.find((name) => plain(name) === plain(requested));
  if (known !== undefined) return { name: known };
  const [first] = names;
  if (open.includes(requested.trim().toLowerCase())) return { name: first };
  return { name: first, note: `There is no ${what} ${JSON.stringify(requested.slice(0, 60))}; ${first} was taken.` };
}

/** `Euler a`, `euler_a` and `k_euler_a` are the same. */
function plain(name: string): string {
  return name
    .toLowerCase()
    .replace(/^k_/, '')
    .replaceAll(/[^a-z0-9+]/g, '');
}
