import { mediumPlaceholder } from '../../chat/messages.ts';
import type { WireBody } from '../../chat/openai-request.ts';
import type { GenerationRequest, Grammar, GrammarTrigger } from '../../core/request.ts';
import {
  type EncodeOptions,
  encodeControls,
  encodeReasoning,
  renamed,
  samplerNames,
} from '../controls/encode-request.ts';
import { optionFields, promptFields } from './fields.ts';
import { mediaMarker } from './prompts.ts';

/** The fields of the original API; all others are extensions. */
export const ownFields = [...Object.keys(promptFields), ...Object.keys(optionFields)].filter(
  (name) => name !== 'genkey',
);

/** A text as a body of `POST /completion`. There is no memory in this dialect: it is the beginning of the prompt. */
export function encodeRequest(request: GenerationRequest, { stream, defaults }: EncodeOptions): WireBody {
  const { logprobs, bannedTokens, logitBias } = request;
  const { logit_bias: _, ban_eos_token: bansEnd, ...controls } = encodeControls(request, defaults);
  return {
    prompt: encodePrompt(request),
    ...renamed(controls, {
      ...ownSamplers,
      // 0 is a seed like any other here, and means none in the native API.
      ...(request.sampling.seed > 0 && seedName !== undefined && { sampler_seed: seedName }),
      max_length: 'n_predict',
      stop_sequence: 'stop',
    }),
    ...(bansEnd === true && { ignore_eos: true }),
    ...(bansEnd === false && { ban_eos_token: false }),
    ...(logitBias.length + bannedTokens.length > 0 && {
      logit_bias: [...logitBias, ...bannedTokens.map((token) => [token, false])],
    }),
    ...encodeTriggers(request.grammar),
    ...encodeReasoning(request.reasoning),
    ...(logprobs !== undefined && (logprobs > 0 ? { n_probs: logprobs } : { return_tokens: true })),
    ...(stream && { stream: true }),
  };
}

const { sampler_seed: seedName, ...ownSamplers } = samplerNames('llamaCpp');

/** The positions of media are marks in the text. */
function encodePrompt({ prompt, memory, media }: GenerationRequest): unknown {
  const text = memory + prompt;
  if (media.length === 0) return text;
  const marked = media.reduce(
    (left, _, index) => left.replace(mediumPlaceholder(media, index).trim(), mediaMarker),
    text,
  );
  const missing = media.length - (marked.split(mediaMarker).length - 1);
  const prompt_string = mediaMarker.repeat(Math.max(0, missing)) + marked;
  return { prompt_string, multimodal_data: media.map(({ base64 }) => base64) };
}

function encodeTriggers(grammar: Grammar | undefined): WireBody {
  if (!grammar?.triggers) return {};
  return { grammar_lazy: true, grammar_triggers: grammar.triggers.map(encodeTrigger) };
}

function encodeTrigger(trigger: GrammarTrigger): WireBody {
  switch (trigger.type) {
    case 'token':
      return { type: 0, value: '', token: trigger.token };
    case 'word':
      return { type: 1, value: trigger.text };
    case 'pattern':
      return { type: 2, value: trigger.source };
  }
}
