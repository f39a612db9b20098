/** Frames of a window: 30 seconds, in steps of 10 ms. */
export const windowFrames = 3000;
export const hop = 160;
export const bands = 80;

const rate = 16_000;
const size = 400;
const bins = size / 2 + 1;

/**
 * The input of Whisper's encoder: logarithms of the energy in 80 bands, band by band. Silence follows where the samples end before
 * the window does.
 */
export function logMel(samples: Float32Array): Float32Array {
  const energies = new Float32Array(bands * windowFrames);
  const frames = Math.min(windowFrames, Math.ceil((samples.length + size / 2) / hop));
  const spectrum = new Float64Array(bins);
  const frame = new Float64Array(size);
  // The logarithm of the least energy, in frames after the sound.
  let loudest = -10;
  for (let index = 0; index < frames; index++) {
    cutFrame(samples, index * hop - size / 2, frame);
    power(frame, spectrum);
    for (let band = 0; band < bands; band++) {
      const { first, weights } = filters()[band] as Filter;
      let energy = 0;
      for (let offset = 0; offset < weights.length; offset++) {
        energy += (weights[offset] as number) * (spectrum[first + offset] as number);
      }
      const value = Math.log10(Math.max(energy, 1e-10));
      energies[band * windowFrames + index] = value;
      loudest = Math.max(loudest, value);
    }
  }
  const floor = loudest - 8;
  for (let band = 0; band < bands; band++) {
    const row = energies.subarray(band * windowFrames, (band + 1) * windowFrames);
    row.fill(-10, frames);
    for (let index = 0; index < windowFrames; index++) row[index] = (Math.max(row[index] as number, floor) + 4) / 4;
  }
  return energies;
}

/** The samples around a place under a Hann window. Before its beginning the sound is mirrored, after its end it is silent. */
function cutFrame(samples: Float32Array, start: number, frame: Float64Array): void {
  for (let index = 0; index < size; index++) {
    frame[index] = (samples[Math.abs(start + index)] ?? 0) * (hann[index] as number);
  }
}

const hann = Float64Array.from({ length: size }, (_, index) => 0.5 - 0.5 * Math.cos((2 * Math.PI * index) / size));
const cosines = Float64Array.from({ length: size }, (_, index) => Math.cos((2 * Math.PI * index) / size));
const sines = Float64Array.from({ length: size }, (_, index) => -Math.sin((2 * Math.PI * index) / size));

/** 400 is 16 · 25: sixteen transforms of 25 samples, joined by pairs. */
const splits = 4;
const oddSize = size >> splits;
const real = new Float64Array(size);
const imaginary = new Float64Array(size);
const nextReal = new Float64Array(size);
const nextImaginary = new Float64Array(size);

/** The power spectrum of a frame. */
function power(frame: Float64Array, spectrum: Float64Array): void {
  let [re, im, otherRe, otherIm] = [real, imaginary, nextReal, nextImaginary];
  const parts = size / oddSize;
  for (let part = 0; part < parts; part++) {
    for (let bin = 0; bin < oddSize; bin++) {
      let [sumRe, sumIm] = [0, 0];
      for (let index = 0, angle = 0; index < oddSize; index++, angle = (angle + bin * parts) % size) {
        const sample = frame[part + index * parts] as number;
        sumRe += sample * (cosines[angle] as number);
        sumIm += sample * (sines[angle] as number);
      }
      re[part * oddSize + bin] = sumRe;
      im[part * oddSize + bin] = sumIm;
    }
  }
  for (let length = oddSize, count = parts / 2; count >= 1; length *= 2, count /= 2) {
    for (let part = 0; part < count; part++) {
      const even = part * length;
      const odd = (part + count) * length;
      const target = part * 2 * length;
      for (let bin = 0; bin < length; bin++) {
        const angle = bin * count;
        const [cosine, sine] = [cosines[angle] as number, sines[angle] as number];
        const [oddRe, oddIm] = [re[odd + bin] as number, im[odd + bin] as number];
        const turnedRe = oddRe * cosine - oddIm * sine;
        const turnedIm = oddRe * sine + oddIm * cosine;
        otherRe[target + bin] = (re[even + bin] as number) + turnedRe;
        otherIm[target + bin] = (im[even + bin] as number) + turnedIm;
        otherRe[target + length + bin] = (re[even + bin] as number) - turnedRe;
        otherIm[target + length + bin] = (im[even + bin] as number) - turnedIm;
      }
    }
    [re, im, otherRe, otherIm] = [otherRe, otherIm, re, im];
  }
  for (let bin = 0; bin < bins; bin++) spectrum[bin] = (re[bin] as number) ** 2 + (im[bin] as number) ** 2;
}

interface Filter {
  readonly first: number;
  readonly weights: Float64Array;
}

let filterBank: readonly Filter[] | undefined;

/** Triangles of equal area, equally far apart on Slaney's mel scale. */
export function filters(): readonly Filter[] {
  filterBank ??= Array.from({ length: bands }, (_, band) => {
    const [low, middle, high] = [0, 1, 2].map((corner) =>
      hertzOf((melOf(rate / 2) * (band + corner)) / (bands + 1)),
    ) as [number, number, number];
    const all = Float64Array.from({ length: bins }, (_, bin) => {
      const hertz = (bin * rate) / size;
      const height = Math.min((hertz - low) / (middle - low), (high - hertz) / (high - middle));
      return (Math.max(0, height) * 2) / (high - low);
    });
    const first = Math.max(
      0,
      all.findIndex((weight) => weight > 0),
    );
    return { first, weights: all.slice(first, all.findLastIndex((weight) => weight > 0) + 1) };
  });
  return filterBank;
}

/** Linear up to 1000 Hz (15 mel), logarithmic above. */
function melOf(hertz: number): number {
  return hertz < 1000 ? (3 * hertz) / 200 : 15 + (27 * Math.log(hertz / 1000)) / Math.log(6.4);
}

function hertzOf(mel: number): number {
  return mel < 15 ? (200 * mel) / 3 : 1000 * Math.exp(((mel - 15) * Math.log(6.4)) / 27);
}
