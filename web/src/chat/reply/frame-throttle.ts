export interface FrameParts {
  readonly now: () => number;
  /** Calls back when the screen is drawn next. */
  readonly nextFrame: (run: () => void) => void;
}

/** At most this part of the time goes into showing, so that the rest is left for scrolling and typing. */
const share = 1 / 4;

const browser: FrameParts = { now: () => performance.now(), nextFrame: (run) => requestAnimationFrame(run) };

/** Does it with one of the next frames, once for all the times it was asked for until then; the longer it takes, the more seldom. */
export function throttleToFrames(show: () => void, { now, nextFrame }: FrameParts = browser): () => void {
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
