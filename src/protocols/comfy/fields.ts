import type { EndpointFidelity } from '../../core/fidelity.ts';
import { looseFlag, looseNumber } from '../fields/loose.ts';
import {
  anyValue,
  isAbsent,
  listOf,
  optional,
  optionalText,
  orElse,
  type Read,
  readObject,
  readText,
} from '../fields/readers.ts';
import { each, type Fields, fidelityOf, honoured, ignored } from '../fields/table.ts';

const dialect = 'ComfyUI';
const flag = orElse(looseFlag, false);
/** Ids are texts, and some clients have numbers for them. */
const readId: Read<string> = (value, path) => (typeof value === 'number' ? String(value) : readText(value, path));
const ids = optional(listOf(readId));

export const promptFields = {
  prompt: honoured(anyValue, 'Nodes that no output depends on are ignored; all others must be known.'),
  client_id: honoured(optionalText, 'The connection at /ws that receives its events.'),
  prompt_id: honoured(optional(readId), 'Replaced if it is taken.'),
  number: honoured(orElse<number | undefined>(looseNumber, undefined), 'Lower numbers of the same client run first.'),
  front: honoured(flag),
  extra_data: honoured(orElse(readObject, {}), 'Stored in the history; extra_pnginfo is written into the pictures.'),
  partial_execution_targets: honoured(ids),
};

export type PromptFields = Fields<typeof promptFields>;

export const dropFields = {
  clear: honoured(flag),
  delete: honoured(ids),
};

export const interruptFields = { prompt_id: honoured(optional(readId), 'Stops only this prompt.') };

const freeFields = {
  ...each(['unload_models', 'free_memory'], ignored('Models are loaded and unloaded automatically.')),
};

const types = ['input', 'temp', 'output'] as const;
const readType: Read<(typeof types)[number]> = (value) => types.find((type) => type === value) ?? 'input';

const reference: Read<Readonly<Record<string, unknown>> | undefined> = optional((value, path) =>
  readObject(typeof value === 'string' ? parsed(value) : value, path),
);

export const uploadFields = {
  overwrite: honoured(flag, 'Otherwise a number is appended to a name that is taken.'),
  type: honoured(readType),
  subfolder: honoured(orElse(readText, '')),
  original_ref: honoured(
    reference,
    'For masks: the picture that becomes transparent. Without it the mask itself is stored.',
  ),
  originalRef: honoured(reference, 'Another spelling of original_ref.'),
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const originalFields = {
  filename: honoured((value: unknown, path: string) => readText(isAbsent(value) ? '' : value, path)),
  subfolder: honoured(orElse(readText, '')),
  type: honoured(readType),
};

export const freeFidelity = fidelityOf(dialect, 'POST /free', freeFields);

export const comfyFidelity: readonly EndpointFidelity[] = [
  fidelityOf(dialect, 'POST /prompt', promptFields),
  fidelityOf(dialect, 'POST /queue, POST /history', dropFields),
  fidelityOf(dialect, 'POST /interrupt', interruptFields),
  freeFidelity,
  fidelityOf(dialect, 'POST /upload/image, POST /upload/mask', uploadFields),
];
