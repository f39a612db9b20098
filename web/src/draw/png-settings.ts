import { defaultSettings, type ImageSettings } from './image-request.ts';

/** Settings from generation parameters by their names in image programs. */
export function settingsOf(parameters: Readonly<Record<string, string>>): Partial<ImageSettings> {
  const scheduler = parameters['Schedule type'] ?? parameters.Scheduler ?? '';
  return {
    prompt: parameters.Prompt ?? '',
    negativePrompt: parameters['Negative prompt'] ?? '',
    sampler: parameters.Sampler ?? '',
    scheduler: scheduler === 'Automatic' ? '' : scheduler,
    loras: [],
    steps: numberOf(parameters.Steps) ?? null,
    guidance: numberOf(parameters['CFG scale']) ?? null,
    seed: numberOf(parameters.Seed) ?? -1,
    width: numberOf(parameters['Size-1']) ?? defaultSettings.width,
    height: numberOf(parameters['Size-2']) ?? defaultSettings.height,
    ...optional('strength', numberOf(parameters['Denoising strength'])),
  };
}

function numberOf(text: string | undefined): number | undefined {
  const value = Number(text?.trim() || Number.NaN);
  return Number.isFinite(value) ? value : undefined;
}

function optional(name: 'strength', value: number | undefined): Partial<ImageSettings> {
  return value === undefined ? {} : { [name]: value };
}
