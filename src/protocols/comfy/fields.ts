import { tryParseJson } from '../../core/json.ts';
import * as f from '../fields.ts';

const flag = f.orElse(f.looseFlag, false);
/** Ids are texts, and some clients have numbers for them. */
const readId: f.Read<string> = f.described(f.textOrNumber, (value, path) =>
  typeof value === 'number' ? String(value) : f.readText(value, path),
);
const ids = f.optional(f.listOf(readId));

export const promptFields = {
  prompt: f.honoured(
    f.described(f.objectSchema, f.anyValue),
    'Nodes that no output depends on are ignored; all others must be known.',
  ),
  client_id: f.honoured(f.optionalText, 'The connection at /ws that receives its events.'),
  prompt_id: f.honoured(f.optional(readId), 'Replaced if it is taken.'),
  number: f.honoured(
    f.orElse<number | undefined>(f.looseNumber, undefined),
    'Lower numbers of the same client run first.',
  ),
  front: f.honoured(flag),
  extra_data: f.honoured(
    f.orElse(f.readObject, {}),
    'Stored in the history; extra_pnginfo is written into the pictures.',
  ),
  partial_execution_targets: f.honoured(ids),
};

export type PromptFields = f.Fields<typeof promptFields>;

export const dropFields = { clear: f.honoured(flag), delete: f.honoured(ids) };

export const interruptFields = { prompt_id: f.honoured(f.optional(readId), 'Stops only this prompt.') };

const freeNote = 'Models are loaded and unloaded automatically.';
export const freeFields = f.each(['unload_models', 'free_memory'], f.ignored(freeNote));

const types = ['input', 'temp', 'output'] as const;
const readType = f.knownOr('input', types);

const reference: f.Read<Readonly<Record<string, unknown>> | undefined> = f.optional(
  f.described({ type: ['object', 'string'] }, (value, path) =>
    f.readObject(typeof value === 'string' ? tryParseJson(value) : value, path),
  ),
);

export const uploadFields = {
  overwrite: f.honoured(flag, 'Otherwise a number is appended to a name that is taken.'),
  type: f.honoured(readType),
  subfolder: f.honoured(f.orElse(f.readText, '')),
  original_ref: f.honoured(
    reference,
    'For masks: the picture that becomes transparent. Without it the mask itself is stored.',
  ),
  originalRef: f.honoured(reference, 'Another spelling of original_ref.'),
};

export const originalFields = {
  filename: f.honoured((value: unknown, path: string) => f.readText(f.isAbsent(value) ? '' : value, path)),
  subfolder: f.honoured(f.orElse(f.readText, '')),
  type: f.honoured(readType),
};
