export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Width to height. */
export const aspects = {
  '1:1': 1,
  '3:4': 3 / 4,
  '2:3': 2 / 3,
  '9:16': 9 / 16,
  '4:3': 4 / 3,
  '3:2': 3 / 2,
  '16:9': 16 / 9,
} as const;
export type Aspect = keyof typeof aspects;
export const aspectNames = Object.keys(aspects) as Aspect[];

/** Sides of squares. Other aspect ratios have at most the area of the square, so that the server does not shrink them. */
export const resolutions = [64, 128, 192, 256, 384, 512, 640, 768, 1024, 1280, 1536] as const;

const minSide = 64;

/** Large models accept only multiples of 64; small ones also accept multiples of 16, which are nearer to the ratio. */
const stepFor = (side: number): number => (side < 512 ? 16 : 64);

export function sizeFor(aspect: Aspect, side: number): Size {
  const ratio = aspects[aspect];
  const step = stepFor(side);
  const area = side * side;
  const near = (value: number): number[] => {
    const below = Math.max(minSide, Math.floor(value / step) * step);
    return [below, below + step];
  };
  const candidates = near(side * Math.sqrt(ratio)).flatMap((width) =>
    near(side / Math.sqrt(ratio)).map((height) => ({ width, height })),
  );
  const distance = ({ width, height }: Size): number =>
    4 * Math.abs(Math.log(width / height / ratio)) + Math.abs(Math.log((width * height) / area));
  const [best] = candidates
    .filter(({ width, height }) => width * height <= area)
    .sort((a, b) => distance(a) - distance(b));
  return best ?? candidates[0] ?? { width: side, height: side };
}

/** The aspect ratio that a size has, or comes from; undefined if it is near none of them. */
export function aspectOf(size: Size): Aspect | undefined {
  const distance = (aspect: Aspect): number => Math.abs(Math.log(size.width / size.height / aspects[aspect]));
  const nearest = aspectNames.toSorted((a, b) => distance(a) - distance(b));
  return nearest.find((aspect) => distance(aspect) < 0.055 || resolutionFor(aspect, size) !== undefined);
}

function resolutionFor(aspect: Aspect, size: Size): number | undefined {
  return resolutions.find((side) => {
    const { width, height } = sizeFor(aspect, side);
    return width === size.width && height === size.height;
  });
}

/** The resolution that makes this size with its aspect ratio; undefined for custom sizes. */
export function resolutionOf(size: Size): number | undefined {
  const aspect = aspectOf(size);
  return aspect === undefined ? undefined : resolutionFor(aspect, size);
}

/** The resolution with the nearest area. */
export function nearestResolution({ width, height }: Size): number {
  const side = Math.sqrt(width * height);
  const [nearest = 512] = resolutions.toSorted((a, b) => Math.abs(a - side) - Math.abs(b - side));
  return nearest;
}
