import type { JsonObject, JsonValue } from './flag.ts';
import type { Settings } from './flags.ts';

/** Other spellings of the fields, from the command lines of image programs. */
const aliases: ReadonlyMap<string, string> = new Map([
  ['cfg-scale', 'cfg_scale'],
  ['guidance', 'distilled_guidance'],
  ['sampler', 'sampler_name'],
  ['sampling-method', 'sampler_name'],
  ['timestep-shift', 'shifted_timestep'],
  ['flow-shift', 'flow_shift'],
  ['cache-mode', 'cache_mode'],
  ['cache-options', 'cache_options'],
  ['cache-option', 'cache_options'],
  ['cache_option', 'cache_options'],
  ['extra-sample-args', 'extra_sample_args'],
  ['ref-image-args', 'ref_image_args'],
]);

/** Image clients send `default` in these where they mean that they do not care. */
const undecided: ReadonlySet<string> = new Set(['sampler_name', 'scheduler']);

const lengthFields = ['max_length', 'max_tokens', 'max_completion_tokens', 'n_predict', 'num_predict'];

export type RequestDefaults = JsonObject;

/** Everything that the settings say about requests which leave fields out. */
export function requestDefaults(settings: Pick<Settings, 'gendefaults' | 'reasoningeffort'>): RequestDefaults {
  const defaults = canonicalNames(settings.gendefaults ?? {});
  if (settings.reasoningeffort === 'default' || 'reasoning_effort' in defaults) return defaults;
  return { ...defaults, reasoning_effort: settings.reasoningeffort };
}

/**
 * The request as it would be had the client known our defaults. This comes before any translation, so the names are
 * those of the native and image APIs in every family.
 */
export function applyDefaults<Body extends Readonly<Record<string, unknown>>>(
  body: Body,
  defaults: RequestDefaults,
  overwrite: boolean,
): Body & Readonly<Record<string, unknown>> {
  const added = Object.entries(defaults).filter(([key]) => overwrite || isMissing(body, key));
  return added.length === 0 ? body : { ...body, ...Object.fromEntries(added) };
}

export function gendefaultsNotes({ gendefaults }: Pick<Settings, 'gendefaults'>): string[] {
  const fields = lengthFields.filter((field) => gendefaults && Object.hasOwn(gendefaults, field));
  return fields.map(
    (field) =>
      `--gendefaults is not meant for ${field}: it would beat what chat requests ask for. Use --defaultgenamt.`,
  );
}

function canonicalNames(object: JsonObject): JsonObject {
  const entries = Object.entries(object);
  const renamed = entries.flatMap(([key, value]): [string, JsonValue][] => {
    const name = aliases.get(key);
    return name ? [[name, value]] : [];
  });
  return Object.fromEntries([...renamed, ...entries.filter(([key]) => !aliases.has(key))]);
}

function isMissing(body: Readonly<Record<string, unknown>>, key: string): boolean {
  if (!Object.hasOwn(body, key)) return true;
  const value = body[key];
  return undecided.has(key) && typeof value === 'string' && value.toLowerCase() === 'default';
}
