/** A part of a picture that is computed by itself: what is read for it, and what of that is kept. */
export interface Tile {
  readonly read: Box;
  readonly keep: Box;
}

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

interface Lengths {
  /** How long a tile is that is kept. */
  readonly side: number;
  /** What is read beyond it on every side where there is more of the picture. */
  readonly margin: number;
}

/** Tiles that together keep every pixel of the picture exactly once. */
export function tilesOf(width: number, height: number, { side, margin }: Lengths): Tile[] {
  const columns = spans(width, side);
  return spans(height, side).flatMap(([top, bottom]) =>
    columns.map(([left, right]) => {
      const [fromLeft, fromTop] = [Math.max(0, left - margin), Math.max(0, top - margin)];
      const [toRight, toBottom] = [Math.min(width, right + margin), Math.min(height, bottom + margin)];
      return {
        keep: { left, top, width: right - left, height: bottom - top },
        read: { left: fromLeft, top: fromTop, width: toRight - fromLeft, height: toBottom - fromTop },
      };
    }),
  );
}

function spans(length: number, side: number): [number, number][] {
  return Array.from({ length: Math.ceil(length / side) }, (_, index) => [
    index * side,
    Math.min(length, (index + 1) * side),
  ]);
}
