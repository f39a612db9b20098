import { nameOf, type Operation } from './document.ts';
import type { Json } from './values.ts';

type Body = Readonly<Record<string, Json>>;

/** Largest values that a request may have, so that it is cheap. Types and smaller values stay as they are. */
const max: Readonly<Record<string, number>> = {
  steps: 1,
  hr_second_pass_steps: 1,
  n: 2,
  n_cmpl: 2,
  best_of: 2,
  batch_size: 1,
  n_iter: 1,
  partial_images: 1,
  upscaling_resize: 2,
  upscaling_resize_w: 64,
  upscaling_resize_h: 64,
  hr_scale: 1,
  hr_resize_x: 64,
  hr_resize_y: 64,
  width: 64,
  height: 64,
};

/** Each text of a list takes as long as a small request. */
const embeds = /embed|rerank/;
const mostTexts = 20;
/** Longer lists are refused at once. */
const longestList = 2048;

const draws = /\/(txt2img|img2img|images\/(generations|edits|variations))$/;

/** The operation with what keeps it cheap, and keeps the server what it is. */
export function harmless({ path }: Pick<Operation, 'path'>, body: Body): Body {
  const limited = Object.entries(body).map(([name, value]) => {
    const isLong = Array.isArray(value) && value.length > mostTexts && value.length <= longestList;
    if (isLong && embeds.test(path)) return [name, value.slice(0, mostTexts)];
    const limit = Object.hasOwn(max, name) ? max[name] : undefined;
    const isNumber = typeof value === 'number' || typeof value === 'string';
    return [name, limit !== undefined && isNumber && Number(value) > limit ? limit : value];
  });
  const small: Record<string, Json> = Object.fromEntries(limited);
  // Defaults are meant for pictures that people look at.
  if (draws.test(path) && (small.steps === undefined || small.steps === null)) small.steps = 1;
  // An address would be downloaded.
  if (path === '/api/pull') small.model = 'fuzz';
  return small;
}

/** Any body without a key means all requests of the client: streamed speech of another request would be cut. */
export function harmlessContent({ path }: Pick<Operation, 'path'>, body: Buffer): Buffer {
  return path === '/api/extra/abort' ? Buffer.from(JSON.stringify({ genkey: 'fuzz' })) : body;
}

/** The flags that keep the rest harmless, each with the operations that it concerns. */
export const flags = [
  // Short replies, small pictures, a few words of speech.
  ...['--genlimit', '2', '--contextsize', '512', '--sdclamped', '64', '--ttsmaxlen', '20'],
  ...['--multiuser', '32', '--quiet', '--multiplayer'],
] as const;

/** Operations that are not tried, and why. All others are. */
export const leftOut: Readonly<Record<string, string>> = {};

export const isTried = (operation: Operation): boolean => !Object.hasOwn(leftOut, nameOf(operation));
