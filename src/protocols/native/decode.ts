import { AppError } from '../../core/errors.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { JsonObject } from '../../http/body.ts';
import { type ControlParts, decodeControls } from '../controls/decode.ts';
import { readFlag, readText, readTexts } from '../controls/fields.ts';

export interface PromptTexts {
  readonly prompt: string;
  readonly memory: string;
  readonly stop: readonly string[];
}

/** What the server adds to a request of its own. */
export interface DecodeParts extends ControlParts {
  readonly replacePlaceholders: (texts: PromptTexts) => PromptTexts;
}

export function decode(body: JsonObject, parts: DecodeParts): GenerationRequest {
  refuseMedia(body, 'images', 'Image input', 'no vision projector is loaded');
  refuseMedia(body, 'audio', 'Audio input', 'no audio projector is loaded');
  const controls = decodeControls(body, parts);
  const texts = { prompt: readText(body, 'prompt'), memory: readText(body, 'memory'), stop: controls.stop };
  return { ...controls, ...withPlaceholders(body, texts, parts.replacePlaceholders) };
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

function refuseMedia(body: JsonObject, field: string, feature: string, instead: string): void {
  if (readTexts(body, field, Number.POSITIVE_INFINITY).length > 0)
    throw new AppError('unsupported', { feature, instead });
}
