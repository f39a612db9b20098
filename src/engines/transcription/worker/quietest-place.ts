/** Where between two samples the sound is softest, looked at in frames of this length. */
export function quietestPlace(samples: Float32Array, from: number, to: number, frame: number): number {
  let best = { place: to, energy: Number.POSITIVE_INFINITY };
  for (let start = from; start + frame <= to; start += frame) {
    let energy = 0;
    for (let index = start; index < start + frame; index++) energy += (samples[index] ?? 0) ** 2;
    // Of places that are equally soft the last: what comes out is longer.
    if (energy <= best.energy) best = { place: start + Math.floor(frame / 2), energy };
  }
  return best.place;
}
