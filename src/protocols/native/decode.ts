import type { GenerationRequest } from '../../core/request.ts';
import type { TextState } from '../../core/text-service.ts';
import { type ControlParts, decodeControls } from '../controls/decode.ts';
import type { Fields } from '../fields/table.ts';
import { nativeMedia } from '../media.ts';
import type { generateFields } from './fields.ts';

export interface PromptTexts {
  readonly prompt: string;
  readonly memory: string;
  readonly stop: readonly string[];
}

/** What the server adds to a request of its own. */
export interface DecodeParts extends ControlParts {
  readonly replacePlaceholders: (texts: PromptTexts) => PromptTexts;
  /** Tells which kinds of media can be taken. */
  readonly state: TextState;
}

type GenerateFields = Fields<typeof generateFields>;

export function decode(fields: GenerateFields, parts: DecodeParts): GenerationRequest {
  const controls = decodeControls(fields, parts);
  const media = nativeMedia(fields, parts.state);
  const maxTokens = writesNothing(fields) ? 0 : controls.maxTokens;
  return { ...controls, maxTokens, media, ...withPlaceholders(fields, controls.stop, parts.replacePlaceholders) };
}

/** Only a length that is left out, or is no number, means the default of the server. */
function writesNothing({ max_length: length }: GenerateFields): boolean {
  return length !== undefined && length <= 0;
}

function withPlaceholders(
  { prompt, memory, replace_instruct_placeholders: replaces }: GenerateFields,
  stop: readonly string[],
  replacePlaceholders: DecodeParts['replacePlaceholders'],
): PromptTexts {
  if (!replaces) return { prompt, memory, stop };
  const replaced = replacePlaceholders({ prompt, memory, stop });
  return { ...replaced, stop: replaced.stop.filter((text) => text !== '') };
}
