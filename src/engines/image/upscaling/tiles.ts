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
  /** What is read beyond it on every side, also where the picture has ended. */
  readonly margin: number;
}

/** Tiles that together keep every pixel of the picture exactly once. */
export function tilesOf(width: number, height: number, { side, margin }: Lengths): Tile[] {
  const columns = spans(width, side);
  return spans(height, side).flatMap(([top, bottom]) =>
    columns.map(([left, right]) => ({
      keep: { left, top, width: right - left, height: bottom - top },
      read: {
        left: left - margin,
        top: top - margin,
        width: right - left + 2 * margin,
        height: bottom - top + 2 * margin,
      },
    })),
  );
}

function spans(length: number, side: number): [number, number][] {
  return Array.from({ length: Math.ceil(length / side) }, (_, index) => [
    index * side,
    Math.min(length, (index + 1) * side),
  ]);
}
