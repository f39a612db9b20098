import { AppError } from '../../core/errors.ts';
import type { GenerationRequest } from '../../core/request.ts';
import { type Body, type ControlFacts, type ControlsBody, controlsBody } from './controls-body.ts';
import { kinds } from './kinds.ts';

export interface CompletionFacts extends ControlFacts {
  readonly contextSize: number | undefined;
}

/** A text to be continued, for `POST /v1/completions` of the other side; the name of the model is put in front of it. */
export function completionBody(request: GenerationRequest, facts: CompletionFacts): ControlsBody {
  const own = controlsBody(request, facts);
  const budget = thinkingBudget(request);
  const takesBudget = kinds[facts.kind].native;
  return {
    fields: {
      ...promptBody(request, facts),
      stream: true,
      stream_options: { include_usage: true },
      ...own.fields,
      ...(request.logprobs === undefined ? {} : { logprobs: request.logprobs }),
      ...(budget !== undefined && takesBudget ? { thinking_budget_tokens: budget } : {}),
      ...shortening(request, facts),
    },
    unheeded: [...own.unheeded, ...(budget === undefined || takesBudget ? [] : ['thinking_budget_tokens'])],
  };
}

function promptBody({ prompt, promptTokens, memory, media }: GenerationRequest, { kind, host }: ControlFacts): Body {
  const { native } = kinds[kind];
  if (media.length > 0 && !native) {
    const instead = `the engine at ${host} takes pictures and sounds in chats alone`;
    throw new AppError('unsupported', { feature: 'A picture or sound beside a plain prompt', instead });
  }
  const of = (wanted: 'image' | 'audio') => media.filter(({ kind: own }) => own === wanted).map(({ base64 }) => base64);
  const [images, audio] = [of('image'), of('audio')];
  return {
    prompt: promptTokens ?? (native ? prompt : memory + prompt),
    ...(native && memory !== '' ? { memory } : {}),
    ...(images.length > 0 ? { images } : {}),
    ...(audio.length > 0 ? { audio } : {}),
  };
}

function thinkingBudget({ reasoning, maxTokens }: GenerationRequest): number | undefined {
  if (!reasoning) return undefined;
  return reasoning.type === 'tokens' ? reasoning.tokens : Math.floor(reasoning.share * maxTokens);
}

/** A prompt that may lose its beginning, where the other side can do that. */
function shortening(
  { overflow, maxContext, maxTokens }: GenerationRequest,
  { kind, contextSize }: CompletionFacts,
): Body {
  if (overflow !== 'trim' || kind !== 'vllm' || contextSize === undefined) return {};
  const room = Math.min(maxContext ?? contextSize, contextSize) - maxTokens;
  return room > 0 ? { truncate_prompt_tokens: room } : {};
}
