export interface FrameClock {
  readonly now: () => number;
  /** Calls back at the next animation frame. */
  readonly nextFrame: (run: () => void) => void;
}

/** Maximum share of the time spent on rendering; the rest is left for scrolling and typing. */
const share = 1 / 4;

const browser: FrameClock = { now: () => performance.now(), nextFrame: (run) => requestAnimationFrame(run) };

/** Renders at most once per frame for any number of calls; slow renders are spaced further apart. */
export function throttleToFrames(show: () => void, { now, nextFrame }: FrameClock = browser): () => void {
  let waiting = false;
  let earliest = 0;
  const frame = (): void => {
    const begun = now();
    if (begun < earliest) {
      nextFrame(frame);
      return;
    }
    waiting = false;
    show();
    const ended = now();
    earliest = ended + (ended - begun) * (1 / share - 1);
  };
  return () => {
    if (waiting) return;
    waiting = true;
    nextFrame(frame);
  };
}
