import type { GenerationRequest } from '../../core/request.ts';
import type { TextState } from '../../core/text-service.ts';
import type { JsonObject } from '../../http/body.ts';
import { type ControlParts, decodeControls } from '../controls/decode.ts';
import { readFlag, readInteger, readText } from '../controls/fields.ts';
import { nativeMedia } from '../media.ts';

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

export function decode(body: JsonObject, parts: DecodeParts): GenerationRequest {
  const controls = decodeControls(body, parts);
  const media = nativeMedia(body, parts.state);
  const texts = { prompt: readText(body, 'prompt'), memory: readText(body, 'memory'), stop: controls.stop };
  const maxTokens = writesNothing(body) ? 0 : controls.maxTokens;
  return { ...controls, maxTokens, media, ...withPlaceholders(body, texts, parts.replacePlaceholders) };
}

/** Only a length that is left out, or is no number, means the default of the server. */
function writesNothing({ max_length: length }: JsonObject): boolean {
  return readInteger(length, 1) <= 0;
}

function withPlaceholders(
  body: JsonObject,
  texts: PromptTexts,
  replacePlaceholders: DecodeParts['replacePlaceholders'],
): PromptTexts {
  if (!readFlag(body, 'replace_instruct_placeholders', true)) return texts;
  const replaced = replacePlaceholders(texts);
  return { ...replaced, stop: replaced.stop.filter((text) => text !== '') };
}
