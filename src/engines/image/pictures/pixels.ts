/** Rows of pixels from the top left, 8 bits per channel. */
export interface Pixels {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly channels: number;
}

/** RGB as planes, one after the other, in the given range of values. */
export function toPlanes({ data, width, height, channels }: Pixels, from: number, to: number): Float32Array {
  const area = width * height;
  const planes = new Float32Array(3 * area);
  for (let plane = 0; plane < 3; plane += 1) {
    for (let pixel = 0; pixel < area; pixel += 1) {
      planes[plane * area + pixel] = from + ((to - from) * (data[pixel * channels + plane] as number)) / 255;
    }
  }
  return planes;
}

export function fromPlanes(
  planes: Float32Array,
  { width, height }: Pick<Pixels, 'width' | 'height'>,
  from: number,
  to: number,
): Pixels {
  const area = width * height;
  const data = new Uint8Array(3 * area);
  for (let plane = 0; plane < 3; plane += 1) {
    for (let pixel = 0; pixel < area; pixel += 1) {
      const value = ((planes[plane * area + pixel] as number) - from) / (to - from);
      data[pixel * 3 + plane] = Math.round(Math.min(1, Math.max(0, value)) * 255);
    }
  }
  return { data, width, height, channels: 3 };
}

/** `over` where the mask is white, `under` where it is black. All have the same size; the mask has one channel. */
export function blended(over: Pixels, under: Pixels, mask: Pixels): Pixels {
  const data = new Uint8Array(over.data.length);
  for (let index = 0; index < data.length; index += 1) {
    const pixel = Math.floor(index / over.channels);
    const share = (mask.data[pixel] as number) / 255;
    const behind = under.data[pixel * under.channels + (index % over.channels)] as number;
    data[index] = Math.round((over.data[index] as number) * share + behind * (1 - share));
  }
  return { ...over, data };
}
