import { sketch } from '../facts.ts';
import { blurred, opaque, readMask, readPicture, resized } from '../pictures/codec.ts';
import { type Pixels, toPlanes } from '../pictures/pixels.ts';

/** The initial picture and its mask, as the network sees them and at the size of the result. */
export interface Given {
  readonly pixels: Pixels;
  readonly planes: Float32Array;
  readonly mask?: { readonly pixels: Pixels; readonly planes: Float32Array };
}

interface Sent {
  readonly initial: Uint8Array;
  readonly mask?: Uint8Array | undefined;
  readonly width: number;
  readonly height: number;
}

/** The edge is about this part of the longer side. */
const feathering = 128;

const square = { width: sketch.side, height: sketch.side };

export async function readGiven({ initial, mask, width, height }: Sent): Promise<Given> {
  const size = { width, height };
  const pixels = await resized(await opaque(await readPicture({ bytes: initial, field: 'the initial picture' })), size);
  const planes = toPlanes(await resized(pixels, square), -1, 1);
  if (!mask) return { pixels, planes };
  const sharp = await resized(await readMask({ bytes: mask, field: 'mask' }), size);
  const soft = await feathered(sharp);
  const small = await resized(soft, square);
  return {
    pixels,
    planes,
    mask: { pixels: soft, planes: Float32Array.from(small.data, (value) => value / 255) },
  };
}

/** With a soft edge that lies inside of the white: where it was black it stays so. */
export async function feathered(mask: Pixels): Promise<Pixels> {
  const sigma = Math.max(0.5, Math.max(mask.width, mask.height) / feathering);
  const soft = await blurred(mask, sigma);
  // Half of the blurred edge lies on either side of the sharp one; only the upper half counts.
  const data = mask.data.map((value, index) => Math.min(value, Math.max(0, 2 * (soft.data[index] as number) - 255)));
  return { ...mask, data };
}

/** One of the names that there are, and a sentence where it is not the one that was asked for. */
interface Chosen<Name extends string> {
  readonly name: Name;
  readonly note?: string;
}

/** These leave the choice open. */
const open = ['', 'automatic', 'default'];

export function chosenName<Name extends string>(
  what: string,
  asked: string,
  names: readonly [Name, ...Name[]],
): Chosen<Name> {
  const found = names.find((name) => plain(name) === plain(asked));
  if (found !== undefined) return { name: found };
  const [first] = names;
  if (open.includes(asked.trim().toLowerCase())) return { name: first };
  return { name: first, note: `There is no ${what} ${JSON.stringify(asked.slice(0, 60))}; ${first} was taken.` };
}

/** `Euler a`, `euler_a` and `k_euler_a` are one. */
function plain(name: string): string {
  return name
    .toLowerCase()
    .replace(/^k_/, '')
    .replaceAll(/[^a-z0-9+]/g, '');
}
