/** The part of a long chat that is rendered. Without `end` it includes all new turns. */
export interface VisibleRange {
  readonly first: number;
  readonly end?: number;
}

const initialCount = 10;
/** Few enough to render in one frame. */
const step = 8;
const maxRendered = 60;

export function initialRange(total: number): VisibleRange {
  return { first: Math.max(0, total - initialCount) };
}

export function extendUp({ first, end }: VisibleRange, total: number): VisibleRange {
  const up = Math.max(0, first - step);
  return ended(up, Math.min(end ?? total, up + maxRendered), total);
}

export function extendDown({ first, end }: VisibleRange, total: number): VisibleRange {
  const down = Math.min(total, (end ?? total) + step);
  return ended(Math.max(first, down - maxRendered), down, total);
}

function ended(first: number, end: number, total: number): VisibleRange {
  return end >= total ? { first } : { first, end };
}

/** The start of a chat. */
export function firstRange(total: number): VisibleRange {
  return ended(0, initialCount, total);
}

/** The turns around one. */
export function rangeAround(index: number, total: number): VisibleRange {
  const first = Math.max(0, index - step / 2);
  return ended(first, first + initialCount, total);
}
