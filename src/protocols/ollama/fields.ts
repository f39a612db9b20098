import type { EndpointFidelity } from '../../core/fidelity.ts';
import type { JsonObject } from '../../http/body.ts';
import { readGenkey } from '../controls/table.ts';
import { loosenedNote, silenceNote } from '../fidelity-notes.ts';
import { looseFlag } from '../fields/loose.ts';
import {
  anyValue,
  isObject,
  optional,
  optionalText,
  orElse,
  type Read,
  reader,
  readText,
  wholeBetween,
  wrong,
} from '../fields/readers.ts';
import { approximated, each, type Fields, fidelityOf, honoured, ignored, places, refused } from '../fields/table.ts';
import { embeddingsFidelity, embedFidelity } from './embeddings.ts';
import { readKeepAlive } from './keep-alive.ts';
import { readImages } from './messages.ts';
import { optionFields } from './options.ts';
import { readThink } from './think.ts';

const dialect = 'Ollama';

const images =
  'Base64, with or without a data URL in front; sounds too, which are told by their bytes. Refused where the loaded model has no projector (--mmproj).';
const anyName = 'Every name, and none, is answered by the loaded model; replies repeat the name that was asked for.';
const text = orElse(readText, '');
const off = orElse(looseFlag, false);

/** An empty text is what some apps send for none. */
const readFormat: Read<'json' | JsonObject | undefined> = (value, path) => {
  if (value === '') return undefined;
  if (value === 'json' || isObject(value)) return value;
  throw wrong(path, '"json" or a JSON schema');
};

const readTokens = reader<readonly number[]>(
  'an array of token numbers',
  (value) => Array.isArray(value) && value.every((token) => Number.isInteger(token) && token >= 0),
);

const sharedFields = {
  stream: honoured(orElse(looseFlag, true), 'true unless said otherwise.'),
  format: honoured(optional(readFormat), '"json" or a JSON schema; thinking before the answer stays free.'),
  keep_alive: honoured(
    optional(readKeepAlive),
    'A duration ("5m", "1h30m") or seconds; 0 unloads, a negative one never does.',
  ),
  think: approximated(
    optional(readThink),
    `false, true, or a level that sets a share of the reply; "max" sets no limit. false: ${silenceNote}`,
  ),
  logprobs: honoured(off),
  top_logprobs: honoured(orElse(wholeBetween(0, 20), 0), '0 to 20.'),
  truncate: approximated(
    optional(looseFlag),
    'true drops the beginning of the prompt as a whole, not message by message; left out, --contextoverflow decides.',
  ),
  shift: ignored('The context is never shifted: a reply ends when it is full.'),
  _debug_render_only: honoured(off),
  genkey: honoured(readGenkey, 'The key by which the native API can look at it and stop it.'),
  // Laid flat over what stands beside them before they are read: `settingFields`.
  options: { inside: optionFields },
};

export const generateFields = {
  model: honoured(text, anyName),
  prompt: honoured(text, 'An empty one loads the model, or with keep_alive 0 unloads it.'),
  suffix: honoured(text, 'With models that have marks for a gap, or a template that has .Suffix; refused otherwise.'),
  images: honoured(orElse(readImages, []), images),
  system: honoured(text),
  template: approximated(text, 'Fields, if, else and end; a template that does more is refused.'),
  raw: honoured(off, 'Refused together with system, template or context.'),
  context: approximated(
    orElse(readTokens, []),
    'The text of these tokens is put in front; what comes back is the reply, tokenized anew.',
  ),
  ...each(['width', 'height', 'steps'], ignored('For image models.')),
  ...sharedFields,
};

export const chatFields = {
  model: honoured(text, anyName),
  messages: honoured(anyValue, 'A last message of the assistant is continued. None at all loads the model.'),
  ...places({
    'messages[].role': {
      handling: 'honoured',
      note: 'In any case; other roles than the usual ones go to the template as they are.',
    },
    'messages[].content': { handling: 'honoured' },
    'messages[].thinking': { handling: 'honoured', note: 'For templates that show it to the model again.' },
    'messages[].images': { handling: 'honoured', note: images },
    'messages[].tool_calls': { handling: 'honoured', note: 'Arguments as an object or as JSON text.' },
    'messages[].tool_name': { handling: 'honoured' },
    'messages[].tool_call_id': {
      handling: 'honoured',
      note: 'Where it is left out, the result goes to the open call of that name.',
    },
  }),
  tools: approximated(
    anyValue,
    `${loosenedNote} Of a call that its limit cuts off there is a warning and nothing else.`,
  ),
  ...sharedFields,
};

export type GenerateFields = Fields<typeof generateFields>;
export type ChatFields = Fields<typeof chatFields>;

export const showFields = {
  model: honoured(optionalText, 'Every name shows the loaded model.'),
  name: honoured(optionalText, 'The old name of model.'),
  verbose: honoured(off, 'Long lists of the metadata are empty without it.'),
  ...each(['system', 'template', 'options'], ignored('The model is shown as it is.')),
};

export const pullFields = {
  model: approximated(optionalText, 'Nothing is downloaded; a name can be used as soon as a model is loaded.'),
  name: approximated(optionalText, 'The old name of model.'),
  stream: honoured(orElse(looseFlag, true)),
  insecure: ignored('Nothing is downloaded.'),
};

const unchanged = refused('Models are files here and are not changed.');
const named = { ...unchanged, read: optionalText };

export const pushFields = { model: named, name: named, ...each(['stream', 'insecure'], unchanged) };
export const createFields = {
  name: named,
  model: named,
  ...each(['from', 'files', 'adapters', 'license', 'system', 'template', 'parameters', 'messages'], unchanged),
  ...each(['quantize', 'stream'], unchanged),
};
export const copyFields = { source: { ...unchanged, read: text }, destination: unchanged };
export const deleteFields = { model: named, name: named };

export const generateFidelity = fidelityOf(dialect, 'POST /api/generate', generateFields);
export const chatFidelity = fidelityOf(dialect, 'POST /api/chat', chatFields);
export const showFidelity = fidelityOf(dialect, 'POST /api/show', showFields);
export const pullFidelity = fidelityOf(dialect, 'POST /api/pull', pullFields);

export const ollamaFidelity: readonly EndpointFidelity[] = [
  generateFidelity,
  chatFidelity,
  embedFidelity,
  embeddingsFidelity,
  showFidelity,
  pullFidelity,
  fidelityOf(dialect, 'POST /api/push', pushFields),
  fidelityOf(dialect, 'POST /api/create', createFields),
  fidelityOf(dialect, 'POST /api/copy', copyFields),
  fidelityOf(dialect, 'DELETE /api/delete', deleteFields),
];
