import { command, read } from '../api/call.ts';
import { texts } from './panel-texts.ts';

/** An entry of `GET /api/admin/presets`: a model name for other generation settings. */
export interface ModelPreset {
  readonly name: string;
  readonly base: string;
  /** The keys of its config. */
  readonly settings: PresetSettings;
  /** Why it cannot be used now. */
  readonly problem: string | null;
}

export interface PresetSettings {
  readonly gendefaults?: Readonly<Record<string, unknown>>;
  readonly defaultgenamt?: number;
  readonly systemprompt?: string;
  readonly reasoningeffort?: string;
  readonly memory?: boolean | null;
}

/** Empty leaves it to the base. */
export type PresetMemory = '' | 'on' | 'off';

export function memoryOf(setting: boolean | null | undefined): PresetMemory {
  if (setting === undefined || setting === null) return '';
  return setting ? 'on' : 'off';
}

/** What the settings of the page make of a preset. */
interface PresentSettings {
  /** Fields of the native API. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly stops: readonly string[];
  /** In tokens; not a number leaves it to the server. */
  readonly replyLength: number;
  /** Empty leaves it to the model. */
  readonly effort: string;
}

export function presetSettings({ fields, stops, replyLength, effort }: PresentSettings): PresetSettings {
  const defaults = { ...fields, ...(stops.length > 0 && { stop_sequence: stops }) };
  return {
    ...(Object.keys(defaults).length > 0 && { gendefaults: defaults }),
    ...(replyLength > 0 && { defaultgenamt: replyLength }),
    ...(effort !== '' && { reasoningeffort: effort }),
  };
}

/** What is saved beside the fields of the form, in words. */
export function presetSummary({ gendefaults = {}, defaultgenamt, reasoningeffort }: PresetSettings): string {
  const { stop_sequence: stops, ...samplers } = gendefaults;
  const words = texts.presets;
  const numberOf = Object.keys(samplers).length;
  const facts = [
    numberOf > 0 ? words.samplers(numberOf) : undefined,
    reasoningeffort === undefined ? undefined : words.thinking(reasoningeffort),
    Array.isArray(stops) ? words.stops(stops.length) : undefined,
    defaultgenamt === undefined ? undefined : words.length(defaultgenamt),
  ];
  return facts.filter((part) => part !== undefined).join(', ');
}

const path = 'api/admin/presets';

export async function fetchPresets(): Promise<readonly ModelPreset[]> {
  return (await read<{ presets: ModelPreset[] }>(path, { background: true })).presets;
}

/** Resolves to its name. */
export async function savePreset(body: {
  readonly name: string;
  readonly base?: string | undefined;
  readonly settings: PresetSettings;
  readonly replace: boolean;
}): Promise<string> {
  const { name = body.name } = await command<{ name?: string }>(path, body);
  return name;
}

export const deletePreset = (name: string): Promise<object> => command(`${path}/delete`, { name });
