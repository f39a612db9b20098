import { read } from '../api/call.ts';

/** What the loaded image model offers. */
export interface ImageOptions {
  /** Empty if no model is loaded. */
  readonly model: string;
  readonly samplers: readonly string[];
  readonly schedulers: readonly string[];
  readonly upscalers: readonly string[];
  readonly loras: readonly string[];
}

export const noOptions: ImageOptions = { model: '', samplers: [], schedulers: [], upscalers: [], loras: [] };

export async function imageOptions(): Promise<ImageOptions> {
  const names = async (list: string): Promise<string[]> =>
    (await read<{ name: string }[]>(`sdapi/v1/${list}`)).map(({ name }) => name);
  const [models, samplers, schedulers, upscalers, loras] = await Promise.all([
    read<{ title: string }[]>('sdapi/v1/sd-models'),
    names('samplers'),
    names('schedulers'),
    names('upscalers'),
    names('loras'),
  ]);
  return {
    model: models[0]?.title ?? '',
    samplers,
    schedulers,
    upscalers: upscalers.filter((name) => name !== 'None'),
    loras,
  };
}
