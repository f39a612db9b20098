import type { GenerationEvent } from '../../../core/events.ts';
import { refuseWithoutModel } from '../../../core/model-error.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import type { TextService } from '../../../core/text-service.ts';

/** The prompt as the whole reply: its tokens are counted, and nothing is generated. */
export async function* countOnly(
  text: TextService,
  { memory, prompt, sampling }: GenerationRequest,
): AsyncGenerator<GenerationEvent> {
  const promptTokens = (await text.tokenize(memory + prompt, { addSpecial: true })).length;
  refuseWithoutModel(text.state());
  yield { type: 'start', promptTokens, cachedTokens: 0, maxTokens: 0, seed: sampling.seed };
  yield {
    type: 'finish',
    reason: 'length',
    cause: 'limit',
    usage: { promptTokens, cachedTokens: 0, completionTokens: 0 },
    timings: { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 0 },
  };
}
