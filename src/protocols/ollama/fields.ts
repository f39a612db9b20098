import type { JsonObject } from '../../http/body.ts';
import { readGenkey } from '../controls/table.ts';
import { maxInputs } from '../embedding.ts';
import * as f from '../fields.ts';
import { loosenedNote, silenceNote } from '../tools.ts';
import { optionFields } from './options.ts';

/** In milliseconds. */
const units: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3.6e6 };
const duration = /^[+-]?(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/;
const step = /(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g;

/** How long the model stays loaded, in milliseconds; infinity for negative times. Numbers without a unit are seconds. */
export const readKeepAlive: f.Read<number | undefined> = f.described({ type: ['string', 'number'] }, (value, path) => {
  if (value === '') return undefined;
  const milliseconds = typeof value === 'number' ? value * 1000 : durationMs(typeof value === 'string' ? value : '');
  if (Number.isNaN(milliseconds)) throw f.wrong(path, 'a duration such as "5m" or "1h30m", or a number of seconds');
  return milliseconds < 0 ? Number.POSITIVE_INFINITY : milliseconds;
});

function durationMs(text: string): number {
  const seconds = /^\s*[+-]?\d+(\.\d+)?\s*$/.test(text);
  const steps = `${text.trim()}${seconds ? 's' : ''}`;
  if (!duration.test(steps)) return Number.NaN;
  let total = 0;
  for (const [, amount, unit = ''] of steps.matchAll(step)) total += Number(amount) * (units[unit] ?? 0);
  return steps.startsWith('-') ? -total : total;
}

const images =
  'Base64, with or without a data URL in front; sounds too, which are recognised by their bytes. Refused where the loaded model has no projector (--mmproj).';
const anyName = 'Every name, and none, is answered by the loaded model; replies repeat the requested name.';
const text = f.orElse(f.readText, '');
const off = f.orElse(f.looseFlag, false);

/** An empty text is what some apps send for none. */
const readFormat: f.Read<'json' | JsonObject | undefined> = f.described(
  { anyOf: [{ enum: ['json', ''] }, f.objectSchema] },
  (value, path) => {
    if (value === '') return undefined;
    if (value === 'json' || f.isObject(value)) return value;
    throw f.wrong(path, '"json" or a JSON schema');
  },
);

/** Images in base64; clients put sounds here too, for models that hear. */
export const readImages = f.textList('an array of base64 strings');

const thinkLevels: readonly unknown[] = [true, false, 'low', 'medium', 'high', 'max'];

export const readThink = f.reader<boolean | string>(
  'true, false, "low", "medium", "high" or "max"',
  (value) => thinkLevels.includes(value),
  { enum: thinkLevels },
);

const readTokens = f.reader<readonly number[]>(
  'an array of token numbers',
  (value) => Array.isArray(value) && value.every((token) => Number.isInteger(token) && token >= 0),
  f.tokenNumbers,
);

const sharedFields = {
  stream: f.honoured(f.orElse(f.looseFlag, true), 'true unless said otherwise.'),
  format: f.honoured(f.optional(readFormat), '"json" or a JSON schema; thinking before the answer stays free.'),
  keep_alive: f.honoured(
    f.optional(readKeepAlive),
    'A duration ("5m", "1h30m") or seconds; 0 unloads, a negative one never does.',
  ),
  think: f.approximated(
    f.optional(readThink),
    `false, true, or a level that sets a share of the reply; "max" sets no limit. false: ${silenceNote}`,
  ),
  logprobs: f.honoured(off),
  top_logprobs: f.honoured(f.orElse(f.wholeBetween(0, 20), 0), '0 to 20.'),
  truncate: f.approximated(
    f.optional(f.looseFlag),
    'true drops the beginning of the prompt as a whole, not message by message; left out, --contextoverflow decides.',
  ),
  shift: f.ignored('The context is never shifted: a reply ends when it is full.'),
  _debug_render_only: f.honoured(off),
  genkey: f.honoured(readGenkey, 'The key by which the native API can look at it and stop it.'),
  // Read by `settingFields`, with the fields beside them.
  options: { inside: optionFields },
};

export const generateFields = {
  model: f.honoured(text, anyName),
  prompt: f.honoured(text, 'An empty one loads the model, or with keep_alive 0 unloads it.'),
  suffix: f.honoured(text, 'With models that have marks for a gap, or a template that has .Suffix; refused otherwise.'),
  images: f.honoured(f.orElse(readImages, []), images),
  system: f.honoured(text),
  template: f.approximated(text, 'Fields, if, else and end; a template that does more is refused.'),
  raw: f.honoured(off, 'Refused together with system, template or context.'),
  context: f.approximated(
    f.orElse(readTokens, []),
    'The text of these tokens is put in front; what comes back is the reply, tokenized anew.',
  ),
  ...f.each(['width', 'height', 'steps'], f.ignored('For image models.')),
  ...sharedFields,
};

export const chatFields = {
  model: f.honoured(text, anyName),
  messages: f.honoured(
    f.described(f.objectsSchema, f.anyValue),
    'A last message of the assistant is continued. None at all loads the model.',
  ),
  ...f.positions({
    'messages[].role': f.aside(
      'honoured',
      'In any case; other roles than the usual ones go to the template as they are.',
    ),
    'messages[].content': f.aside('honoured'),
    'messages[].thinking': f.aside('honoured', 'For templates that show it to the model again.'),
    'messages[].images': f.aside('honoured', images),
    'messages[].tool_calls': f.aside('honoured', 'Arguments as an object or as JSON text.'),
    'messages[].tool_name': f.aside('honoured'),
    'messages[].tool_call_id': f.aside(
      'honoured',
      'Where it is left out, the result goes to the open call of that name.',
    ),
  }),
  tools: f.approximated(
    f.described(f.objectsSchema, f.anyValue),
    `${loosenedNote} Of a call that its limit cuts off there is a warning and nothing else.`,
  ),
  ...sharedFields,
};

export type GenerateFields = f.Fields<typeof generateFields>;
export type ChatFields = f.Fields<typeof chatFields>;

const embeddingModel = f.honoured(
  text,
  'The name of the text model embeds with that; every other name is answered by the embeddings model. With --routermode only text-embedding-ada-002, text-embedding-3-* and the names of --modelalias are; others are refused. The reply repeats the name.',
);

const embeddingFields = {
  keep_alive: f.honoured(
    f.optional(readKeepAlive),
    'Of the embeddings model: a duration ("5m", "1h30m") or seconds; 0 unloads, a negative one never does.',
  ),
  options: f.ignored('The length is set at the start (--embeddingsmaxctx).'),
  genkey: f.honoured(readGenkey, 'Ours: the key by which the native API can stop it.'),
};

const readInputs: f.Read<readonly unknown[]> = f.described(f.oneOrMoreTexts, (value, path) => {
  const texts = f.isAbsent(value) || value === '' ? [] : Array.isArray(value) ? value : [value];
  if (texts.length > maxInputs) throw f.wrong(path, `an array of at most ${maxInputs} texts`);
  return texts;
});

export const embedFields = {
  model: embeddingModel,
  input: f.honoured(readInputs, 'A text or up to 2048; none gives no vectors.'),
  truncate: f.honoured(
    f.orElse(f.looseFlag, true),
    'What is too long is cut, and named in x-parley-truncated; with false it is refused.',
  ),
  dimensions: f.honoured(
    f.optionalCount,
    'The first so many, made to length 1 again; 0 leaves all of them, and more than the model has are refused.',
  ),
  ...embeddingFields,
};

export const oldEmbedFields = { model: embeddingModel, prompt: f.honoured(text), ...embeddingFields };

export const showFields = {
  model: f.honoured(
    f.optionalText,
    'Every name shows the loaded model, and so does none; that of the embeddings model shows that one.',
  ),
  name: f.honoured(f.optionalText, 'The old name of model.'),
  verbose: f.honoured(off, 'Long lists of the metadata are empty without it.'),
  ...f.each(['system', 'template', 'options'], f.ignored('The model is shown as it is.')),
};

export const pullFields = {
  model: f.approximated(
    f.optionalText,
    'With `--admin`, `hf.co/owner/name:Q4_K_M` and `owner/name/file.gguf` on the hub and `https://…/file.gguf` are downloaded. Other names need no download: the loaded model answers to them.',
  ),
  name: f.approximated(f.optionalText, 'The old name of model.'),
  stream: f.honoured(f.orElse(f.looseFlag, true)),
  insecure: f.ignored('Addresses need https.'),
};

const unchanged = f.refused('Models are files here and are not changed.');
const named = { ...unchanged, read: f.optionalText };

export const pushFields = { model: named, name: named, ...f.each(['stream', 'insecure'], unchanged) };
const weights = f.refused(
  'Weights are files here and are not changed.',
  f.unsupported('send from, the name of a model'),
);
export const createFields = {
  model: f.honoured(f.optionalText, 'The name of the preset: `terse`, or `base:terse`.'),
  name: f.honoured(f.optionalText, 'The old name of model.'),
  from: f.honoured(f.orElse(f.readText, ''), 'A model of this server that is no preset.'),
  parameters: f.honoured(
    f.orElse(f.readObject, {}),
    'As `options` of a request. What is chosen when a model is loaded is refused.',
  ),
  system: f.honoured(f.orElse(f.readText, '')),
  template: f.honoured(
    f.orElse(f.readText, ''),
    'A Go template in the usual form: system prompt, prompt and response in turn. Others are refused.',
  ),
  messages: f.honoured(f.orElse(f.readList, []), 'Texts of system, user and assistant.'),
  stream: f.honoured(f.orElse(f.looseFlag, true)),
  license: f.ignored('That of the base holds.'),
  ...f.each(['files', 'adapters', 'quantize', 'modelfile'], weights),
};
export const copyFields = { source: { ...unchanged, read: text }, destination: unchanged };
export const deleteFields = {
  model: f.honoured(f.optionalText, 'The name of a preset. Other models are refused.'),
  name: f.honoured(f.optionalText, 'The old name of model.'),
};
