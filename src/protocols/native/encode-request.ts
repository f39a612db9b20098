import { nativeMediaFields, type WireBody } from '../../chat/openai-request.ts';
import type { GenerationRequest } from '../../core/request.ts';
import { type EncodeOptions, encodeControls, encodeReasoning, placeholderField } from '../controls/encode-request.ts';

/** A text as a body of `POST /api/v1/generate` and `/api/extra/generate/stream`; the path says whether it is streamed. */
export function encodeRequest(request: GenerationRequest, { defaults }: Pick<EncodeOptions, 'defaults'>): WireBody {
  const { prompt, memory, logprobs } = request;
  return {
    prompt,
    ...(memory !== '' && { memory }),
    ...placeholderField(prompt, memory),
    ...nativeMediaFields(request.media),
    ...encodeControls(request, defaults),
    ...encodeReasoning(request.reasoning),
    // A switch here, which means ten alternatives.
    ...(logprobs !== undefined && { logprobs: true }),
  };
}
