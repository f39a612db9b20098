/** Rows of pixels from the top left, each as 8-bit values of its channels. */
export interface Pixels {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly channels: number;
}

/** Colours as networks have them: one plane after the other. */
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

/** The first picture where the mask is white, the other one where it is black. All are of one size; the mask has one channel. */
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

export function channelOf(pixels: Pixels, channel: number): Pixels {
  const { width, height, channels, data } = pixels;
  const values = Uint8Array.from({ length: width * height }, (_, pixel) => data[pixel * channels + channel] as number);
  return { data: values, width, height, channels: 1 };
}

export function withAlpha(colours: Pixels, alpha: Pixels): Pixels {
  const { width, height } = colours;
  const data = new Uint8Array(width * height * 4);
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    data.set(colours.data.subarray(pixel * 3, pixel * 3 + 3), pixel * 4);
    data[pixel * 4 + 3] = alpha.data[pixel] as number;
  }
  return { data, width, height, channels: 4 };
}

export function withoutAlpha({ data, width, height }: Pixels): Pixels {
  const colours = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    colours.set(data.subarray(pixel * 4, pixel * 4 + 3), pixel * 3);
  }
  return { data: colours, width, height, channels: 3 };
}
