import type { Pixels } from './pixels.ts';

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
