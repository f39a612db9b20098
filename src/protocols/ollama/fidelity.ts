import type { EndpointFidelity, FieldFidelity, Handling } from '../../core/fidelity.ts';
import { loosenedNote, silenceNote } from '../fidelity-notes.ts';
import { optionFidelity } from './options.ts';

const dialect = 'Ollama';

const honoured = (field: string, note?: string): FieldFidelity => entry(field, 'honoured', note);
const approximated = (field: string, note: string): FieldFidelity => entry(field, 'approximated', note);
const ignored = (field: string, note: string): FieldFidelity => entry(field, 'ignored', note);
const refused = (field: string, note: string): FieldFidelity => entry(field, 'refused', note);

function entry(field: string, handling: Handling, note: string | undefined): FieldFidelity {
  return { field, handling, ...(note === undefined ? {} : { note }) };
}

const images =
  'Base64, with or without a data URL in front; sounds too, which are told by their bytes. Refused where the loaded model has no projector (--mmproj).';
const noEmbeddings = 'No embeddings model can be loaded yet.';
const anyName = 'Every name is answered by the loaded model; replies repeat the name that was asked for.';
const keepAlive = honoured(
  'keep_alive',
  'A duration ("5m", "1h30m") or seconds; 0 unloads, a negative one never does.',
);

const shared: readonly FieldFidelity[] = [
  honoured('stream', 'true unless said otherwise.'),
  honoured('format', '"json" or a JSON schema; thinking before the answer stays free.'),
  keepAlive,
  approximated(
    'think',
    `false, true, or a level that sets a share of the reply; "max" sets no limit. false: ${silenceNote}`,
  ),
  honoured('logprobs'),
  honoured('top_logprobs', '0 to 20.'),
  approximated(
    'truncate',
    'true drops the beginning of the prompt as a whole, not message by message; left out, --contextoverflow decides.',
  ),
  ignored('shift', 'The context is never shifted: a reply ends when it is full.'),
  honoured('_debug_render_only'),
  ...optionFidelity,
];

export const generateFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /api/generate',
  fields: [
    honoured('model', anyName),
    honoured('prompt', 'An empty one loads the model, or with keep_alive 0 unloads it.'),
    honoured('suffix', 'With models that have marks for a gap, or a template that has .Suffix; refused otherwise.'),
    honoured('images', images),
    honoured('system'),
    approximated('template', 'Fields, if, else and end; a template that does more is refused.'),
    honoured('raw', 'Refused together with system, template or context.'),
    approximated('context', 'The text of these tokens is put in front; what comes back is the reply, tokenized anew.'),
    ignored('width', 'For image models.'),
    ignored('height', 'For image models.'),
    ignored('steps', 'For image models.'),
    ...shared,
  ],
};

export const chatFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /api/chat',
  fields: [
    honoured('model', anyName),
    honoured('messages', 'A last message of the assistant is continued. None at all loads the model.'),
    honoured('messages[].role', 'In any case; other roles than the usual ones go to the template as they are.'),
    honoured('messages[].content'),
    honoured('messages[].thinking', 'For templates that show it to the model again.'),
    honoured('messages[].images', images),
    honoured('messages[].tool_calls', 'Arguments as an object or as JSON text.'),
    honoured('messages[].tool_name'),
    honoured('messages[].tool_call_id', 'Where it is left out, the result goes to the open call of that name.'),
    approximated('tools', `${loosenedNote} Of a call that its limit cuts off there is a warning and nothing else.`),
    ...shared,
  ],
};

const embedFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /api/embed',
  fields: ['model', 'input', 'truncate', 'dimensions', 'keep_alive', 'options'].map((field) =>
    refused(field, noEmbeddings),
  ),
};

const embeddingsFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /api/embeddings',
  fields: ['model', 'prompt', 'options', 'keep_alive'].map((field) => refused(field, noEmbeddings)),
};

export const showFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /api/show',
  fields: [
    honoured('model', 'Every name shows the loaded model.'),
    honoured('name', 'The old name of model.'),
    honoured('verbose', 'Long lists of the metadata are empty without it.'),
    ignored('system', 'The model is shown as it is.'),
    ignored('template', 'The model is shown as it is.'),
    ignored('options', 'The model is shown as it is.'),
  ],
};

export const pullFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /api/pull',
  fields: [
    approximated('model', 'Nothing is downloaded; a name can be used as soon as a model is loaded.'),
    approximated('name', 'The old name of model.'),
    honoured('stream'),
    ignored('insecure', 'Nothing is downloaded.'),
  ],
};

const changes: readonly (readonly [endpoint: string, fields: readonly string[]])[] = [
  ['POST /api/push', ['model', 'stream', 'insecure']],
  [
    'POST /api/create',
    [
      'model',
      'from',
      'files',
      'adapters',
      'license',
      'system',
      'template',
      'parameters',
      'messages',
      'quantize',
      'stream',
    ],
  ],
  ['POST /api/copy', ['source', 'destination']],
  ['DELETE /api/delete', ['model', 'name']],
];

export const ollamaFidelity: readonly EndpointFidelity[] = [
  generateFidelity,
  chatFidelity,
  embedFidelity,
  embeddingsFidelity,
  showFidelity,
  pullFidelity,
  ...changes.map(([endpoint, fields]) => ({
    dialect,
    endpoint,
    fields: fields.map((field) => refused(field, 'Models are files here and are not changed.')),
  })),
];
