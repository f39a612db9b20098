/** The ways to lay out the steps between noise (0) and picture (1), by the names that people choose them by. */
export const schedulers = ['Simple', 'Shifted'] as const;
export type Scheduler = (typeof schedulers)[number];

/** How much more of the steps is spent on what the picture shows than on how it is finished. */
const shift = 2;

/** The times between which the steps lie: one more than there are steps. With a start from a picture, less noise is taken away. */
export function timesOf(scheduler: Scheduler, steps: number, strength = 1): readonly number[] {
  if (steps === 0) return [1];
  return Array.from({ length: steps + 1 }, (_, index) => 1 - strength * noiseLeft[scheduler](1 - index / steps));
}

/** As many steps as belong to that part of the way which is gone. */
export function stepsFor(steps: number, strength: number): number {
  return strength <= 0 ? 0 : Math.max(1, Math.round(steps * Math.min(1, strength)));
}

const noiseLeft: Readonly<Record<Scheduler, (rest: number) => number>> = {
  Simple: (rest) => rest,
  Shifted: (rest) => (shift * rest) / (1 + (shift - 1) * rest),
};
