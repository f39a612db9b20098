export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Undefined for images that the browser cannot read. */
export async function imageSize(image: Blob): Promise<ImageSize | undefined> {
  try {
    const { width, height } = await createImageBitmap(image);
    return { width, height };
  } catch {
    return undefined;
  }
}

/** The styles that reserve the place of an image before it is loaded. `maxHeight` is in rem. */
export function reservedSize({ width, height }: ImageSize, maxHeight: number): string {
  return `width: min(${width}px, ${(maxHeight * width) / height}rem); aspect-ratio: ${width} / ${height}`;
}
