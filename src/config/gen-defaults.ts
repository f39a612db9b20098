import { isObject } from '../core/json.ts';
import { samplingFields } from '../core/sampling-fields.ts';
import { badFlags, type JsonObject, type JsonValue, type Problem } from './flag.ts';
import type { Settings } from './flags.ts';
import { suggest } from './suggest.ts';

const isText = (value: JsonValue): value is string => typeof value === 'string';
const isNumber = (value: JsonValue): value is number => typeof value === 'number';
const isWhole = (value: JsonValue): value is number => Number.isInteger(value);
const isStage = (value: JsonValue): boolean => isWhole(value) && value >= 0 && value <= 6;
const isTokenNumber = (text: string): boolean => /^\s*[+-]?\d{1,9}\s*$/.test(text);
const areBiases = (value: JsonValue): boolean =>
  isObject(value) && Object.entries(value).every(([key, bias]) => isTokenNumber(key) && isNumber(bias));
const areBans = (value: JsonValue): boolean =>
  isText(value) && value.split(',').every((entry) => entry.trim() === '' || isTokenNumber(entry));
const areTexts = (value: JsonValue): boolean => Array.isArray(value) && value.every(isText);
const efforts: readonly JsonValue[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** Kinds of values; each text ends the sentence "FIELD must be …". */
export const valueKinds = {
  number: ['a number', isNumber],
  integer: ['a whole number', isWhole],
  flag: ['true or false', (value) => typeof value === 'boolean' || value === 0 || value === 1],
  text: ['a text', isText],
  texts: ['a text or a list of texts', (value) => isText(value) || areTexts(value)],
  stages: ['a list of sampler numbers from 0 to 6', (value) => Array.isArray(value) && value.every(isStage)],
  biases: ['an object from token numbers to numbers', areBiases],
  bans: ['a text of token numbers, separated by commas', areBans],
  grammar: ['a text with GBNF or a JSON schema', (value) => isText(value) || isObject(value)],
  effort: [`one of ${efforts.join(', ')}`, (value) => efforts.includes(value)],
  object: ['an object', isObject],
  list: ['a list', Array.isArray],
} satisfies Readonly<Record<string, readonly [expected: string, isValid: (value: JsonValue) => boolean]>>;
type ValueKind = keyof typeof valueKinds;

interface DefaultField {
  /** The native name, which is the one that is set, and aliases with values of the same form. */
  readonly names: readonly [string, ...string[]];
  readonly kind: ValueKind;
  /** Fields of other APIs with the same meaning in a different form; a dot separates the fields of an object. */
  readonly equivalents: readonly string[];
  /** Likewise, for fields that override the native one when read: removed only if the default must override the request. */
  readonly overriding: readonly string[];
}

function field(
  kind: ValueKind,
  names: DefaultField['names'],
  equivalents: readonly string[] = [],
  overriding: readonly string[] = [],
): DefaultField {
  return { names, kind, equivalents, overriding };
}

/** Fields of one name each. */
const fields = (kind: ValueKind, ...names: readonly string[]): DefaultField[] =>
  names.map((name) => field(kind, [name]));

const samplers = Object.values(samplingFields).map(({ wire, type }) => field(type, wire));

/** Fields for the format of the reply. */
const outputFormats = [
  'json_schema',
  'response_format',
  'format',
  'text.format',
  'output_config.format',
  'output_format',
];
/** Fields for the reasoning effort: a request that sets any of them has set it. */
const thinking = ['reasoning.effort', 'reasoning.max_tokens', 'reasoning.enabled', 'think'];
const thinkingBudget = ['thinking_budget_tokens', 'reasoning_budget_tokens'] as const;
const ownThinking = ['thinking', 'output_config.effort'];

/** Every field of a text request that may have a default. No name has two meanings. */
export const textFields: readonly DefaultField[] = [
  ...samplers,
  field('stages', ['sampler_order'], [], ['samplers']),
  field('texts', ['dry_sequence_breakers']),
  field('integer', ['max_context_length', 'num_ctx']),
  field('texts', ['stop_sequence', 'stop', 'stop_sequences']),
  field('flag', ['ban_eos_token', 'use_default_badwordsids', 'ignore_eos']),
  field('flag', ['logprobs'], ['n_probs']),
  field('effort', ['reasoning_effort'], [...thinkingBudget, ...thinking], ownThinking),
  field('integer', thinkingBudget, ['reasoning_effort', ...thinking], ownThinking),
  field('biases', ['logit_bias']),
  field('bans', ['custom_token_bans']),
  field('texts', ['banned_tokens', 'banned_strings']),
  field('grammar', ['grammar'], outputFormats),
  field('number', ['guidance_scale']),
  ...fields('flag', 'trim_stop', 'bypass_eos', 'render_special', 'replace_instruct_placeholders', 'quiet'),
  ...fields('flag', 'cache_prompt', 'grammar_retain_state', 'continue_assistant_turn', 'encapsulate_thinking'),
  ...fields('text', 'negative_prompt', 'memory', 'genkey'),
  ...fields('object', 'adapter', 'chat_template_kwargs'),
  ...fields('list', 'lora'),
];

/** Fields of the image API that are not text fields too. */
export const imageFields: readonly DefaultField[] = [
  ...fields('text', 'prompt', 'sampler_name', 'sampler_index', 'scheduler', 'mask'),
  ...fields('text', 'extra_sample_args', 'ref_image_args', 'cache_mode', 'cache_options'),
  ...fields('text', 'video_start_frame', 'video_end_frame'),
  ...fields('integer', 'steps', 'width', 'height', 'batch_size', 'n_iter', 'clip_skip', 'shifted_timestep'),
  ...fields('integer', 'frames', 'fps', 'video_output_type'),
  ...fields('number', 'cfg_scale', 'denoising_strength', 'eta', 'distilled_guidance', 'distilled_cfg_scale'),
  ...fields('number', 'flow_shift', 'add_sd_step_limit', 'add_sd_cfg_limit'),
  ...fields('flag', 'inpainting_mask_invert', 'enable_hr', 'send_images', 'send_as_refimg', 'keepalive'),
  ...fields('flag', 'circular_x', 'circular_y', 'tiling', 'remove_limits', 'keep_image_gen_on_disconnect'),
  ...fields('list', 'init_images', 'extra_images'),
  ...fields('object', 'kcpp_extra_args', 'override_settings'),
];

/** Aliases from the command lines of image programs. */
const imageAliases: ReadonlyMap<string, string> = new Map([
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

/** Not accepted here: the reply length has its own flag, `--defaultgenamt`. */
export const lengthFields: readonly string[] = [
  'max_length',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'n_predict',
  'num_predict',
];

const byName = (fields: readonly DefaultField[]): ReadonlyMap<string, DefaultField> =>
  new Map(fields.flatMap((field) => field.names.map((name): [string, DefaultField] => [name, field])));

const textFieldsByName = byName(textFields);
const fieldsByName = byName([...imageFields, ...textFields]);

type Body = Readonly<Record<string, unknown>>;
type RequestDefaults = JsonObject;

/** Image clients send `default` in these to leave the choice to the server. */
const defaultable: ReadonlySet<string> = new Set(['sampler_name', 'scheduler']);

/** Defaults for request fields, from `--gendefaults` and `--reasoningeffort`. Never includes the reply length. */
export function requestDefaults(settings: Pick<Settings, 'gendefaults' | 'reasoningeffort'>): RequestDefaults {
  const defaults = canonicalNames(settings.gendefaults ?? {});
  if (settings.reasoningeffort === 'default' || 'reasoning_effort' in defaults) return defaults;
  return { ...defaults, reasoning_effort: settings.reasoningeffort };
}

/** The defaults for text requests, under their native names. */
export function textDefaults(defaults: RequestDefaults): RequestDefaults {
  const values = new Map<string, JsonValue>();
  for (const [name, value] of Object.entries(defaults)) {
    const field = textFieldsByName.get(name);
    if (!field) continue;
    const [native] = field.names;
    // The native name wins over its aliases.
    if (name === native || !values.has(native)) values.set(native, field.kind === 'flag' ? Boolean(value) : value);
  }
  return Object.fromEntries(values);
}

/** Adds the defaults to a request, without those that it sets under any name of any API, unless `overwrite`. */
export function applyDefaults<Sent extends Body>(
  body: Sent,
  defaults: RequestDefaults,
  overwrite: boolean,
): Sent & Body {
  const added = Object.entries(defaults).filter(([name]) => overwrite || !sets(body, name));
  if (added.length === 0) return body;
  const replaced = overwrite ? added.flatMap(([name]) => otherNames(name)) : [];
  // Unlike an assignment, this cannot reach the prototype through a key named `__proto__`.
  return Object.fromEntries([...Object.entries(replaced.reduce(without, body as Body)), ...added]) as Sent & Body;
}

/** What the defaults and the reply length are called where they were set: flags, keys of a file, or fields of a request. */
export interface DefaultsNames {
  readonly defaults: string;
  readonly length: string;
}

const flagNames: DefaultsNames = { defaults: '--gendefaults', length: '--defaultgenamt' };

export function gendefaultsNotes({ gendefaults }: Pick<Settings, 'gendefaults'>, names = flagNames): string[] {
  const fields = lengthFields.filter((field) => gendefaults && Object.hasOwn(gendefaults, field));
  return fields.map(
    (field) => `${names.defaults} does not set the reply length: ${field} has no effect. Use ${names.length}.`,
  );
}

function canonicalNames(object: JsonObject): JsonObject {
  const entries = Object.entries(object).filter(([key, value]) => value !== null && !lengthFields.includes(key));
  const renamed = entries.flatMap(([key, value]): [string, JsonValue][] => {
    const name = imageAliases.get(key);
    return name ? [[name, value]] : [];
  });
  return Object.fromEntries([...renamed, ...entries.filter(([key]) => !imageAliases.has(key))]);
}

function sets(body: Body, name: string): boolean {
  const field = textFieldsByName.get(name);
  if (!field) return isDecided(name, at(body, name));
  if (field.names.some((each) => isSet(at(body, each)))) return true;
  // A bare `true` enables something without setting its amount.
  return field.equivalents.some((path) => isSet(at(body, path)) && at(body, path) !== true);
}

function otherNames(name: string): readonly string[] {
  const field = textFieldsByName.get(name);
  return field ? [...field.names, ...field.equivalents, ...field.overriding] : [];
}

function isDecided(name: string, value: unknown): boolean {
  if (!isSet(value)) return false;
  return !(defaultable.has(name) && typeof value === 'string' && value.toLowerCase() === 'default');
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

function at(body: Body, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined), body);
}

function without(body: Body, path: string): Body {
  const [name = '', ...rest] = path.split('.');
  if (!Object.hasOwn(body, name)) return body;
  const { [name]: value, ...others } = body;
  if (rest.length === 0) return others;
  return isObject(value) ? { ...body, [name]: without(value, rest.join('.')) } : body;
}

/** Invalid defaults prevent the start; otherwise they would fail every request that relies on them. */
export function gendefaultsProblems({ gendefaults }: Pick<Settings, 'gendefaults'>, names = flagNames): Problem[] {
  return Object.entries(gendefaults ?? {}).flatMap(([name, value]) => problemOf(name, value, names.defaults) ?? []);
}

function problemOf(name: string, value: JsonValue, defaults: string): Problem | undefined {
  if (lengthFields.includes(name)) return undefined;
  const field = fieldsByName.get(imageAliases.get(name) ?? name);
  if (!field) {
    const meant = suggest(name, [...fieldsByName.keys(), ...imageAliases.keys()]);
    const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
    return badFlags(`${defaults}: ${name} is not a field of a request.${hint}`);
  }
  const [expected, isValid] = valueKinds[field.kind];
  if (value === null || isValid(value)) return undefined;
  return badFlags(`${defaults}: ${name} must be ${expected}, not ${shortened(value)}.`);
}

function shortened(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
