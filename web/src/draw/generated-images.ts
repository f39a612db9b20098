import { fieldsOf, jsonIn, textIn } from '../api/loose.ts';

export interface GeneratedImage {
  /** base64 */
  readonly image: string;
  readonly seed: number | undefined;
  /** Generation parameters in the format of A1111. */
  readonly parameters: string;
}

/** The images of a response. `info` is JSON as a string. */
export function imagesOf(answer: unknown): GeneratedImage[] {
  const { images, image, info, html_info } = (answer ?? {}) as Record<string, unknown>;
  if (typeof image === 'string') return [{ image, seed: undefined, parameters: textIn(html_info) }];
  if (!Array.isArray(images)) return [];
  const details: Info = fieldsOf(jsonIn(textIn(info)));
  return images
    .filter((one): one is string => typeof one === 'string')
    .map((one, index) => ({
      image: one,
      seed: details.all_seeds?.[index] ?? details.seed,
      parameters: details.infotexts?.[index] ?? '',
    }));
}

interface Info {
  readonly seed?: number;
  readonly all_seeds?: readonly number[];
  readonly infotexts?: readonly string[];
}

/** The base64 part of a data URL. */
export function base64Of(address: string): string {
  return address.replace(/^data:[^,]*,/, '');
}

/** For the `src` of an image. */
export function imageUrl(image: string): string {
  return `data:image/png;base64,${image}`;
}
