/** Windows of this length are loud or silent. */
const windowSeconds = 0.005;
/** Root mean square; speech is at 0.03 and more, breath at 0.003. */
const silentBelow = 0.0025;
/** Kept before the first and behind the last loud window, because sounds begin and end softly. */
const margin = { before: 0.04, behind: 0.06 } as const;
/** At both ends, so that pieces join without a click. */
const fadeSeconds = 0.004;

/**
 * Replaces the silence at both ends of a piece of speech, which is up to half a second, by a pause of this length behind it.
 * A piece without sound becomes the pause.
 */
export function withPause(samples: Float32Array, rate: number, pauseSeconds: number): Float32Array {
  const { start, end } = loudPart(samples, rate);
  const speech = samples.slice(start, end);
  const fade = Math.min(Math.floor(fadeSeconds * rate), Math.floor(speech.length / 2));
  for (let index = 0; index < fade; index++) {
    const last = speech.length - 1 - index;
    speech[index] = (speech[index] as number) * (index / fade);
    speech[last] = (speech[last] as number) * (index / fade);
  }
  const paused = new Float32Array(speech.length + Math.round(pauseSeconds * rate));
  paused.set(speech);
  return paused;
}

function loudPart(samples: Float32Array, rate: number): { readonly start: number; readonly end: number } {
  const window = Math.max(1, Math.round(windowSeconds * rate));
  const isLoud = (at: number): boolean => {
    let sum = 0;
    const end = Math.min(samples.length, at + window);
    for (let index = at; index < end; index++) sum += (samples[index] as number) ** 2;
    return sum / (end - at) > silentBelow ** 2;
  };
  let first = 0;
  while (first < samples.length && !isLoud(first)) first += window;
  if (first >= samples.length) return { start: 0, end: 0 };
  let last = Math.floor((samples.length - 1) / window) * window;
  while (!isLoud(last)) last -= window;
  return {
    start: Math.max(0, first - Math.round(margin.before * rate)),
    end: Math.min(samples.length, last + window + Math.round(margin.behind * rate)),
  };
}
