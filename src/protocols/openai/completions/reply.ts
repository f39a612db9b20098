import type { TokenLogprob } from '../../../core/events.ts';
import type { Generation } from '../../../core/fold.ts';
import { type Envelope, envelopeFields } from '../envelope.ts';
import { promptFigures } from '../prompt-logprobs.ts';
import { stopReason } from '../stop-reason.ts';
import { encodeTimings, encodeUsage } from '../usage.ts';
import { finishReasons } from './choice.ts';
import type { CompletionQuestion } from './decode.ts';
import { echoedTokens, encodeLegacyLogprobs } from './logprobs.ts';

export function encodeCompletionReply(
  generations: readonly Generation[],
  question: Pick<CompletionQuestion, 'echoes' | 'replies' | 'candidates' | 'logprobs' | 'promptLogprobs'>,
  envelope: Envelope,
): object {
  const { echoes, replies, candidates, logprobs, promptLogprobs } = question;
  const warnings = [...new Set(generations.flatMap(({ warnings }) => warnings))];
  const choices = echoes.flatMap((echo, prompt) => {
    const group = generations.slice(prompt * candidates, (prompt + 1) * candidates);
    // Only the first has the figures of the prompt, which are the same for all.
    const scored = group[0]?.promptLogprobs ?? [];
    const echoed = echo === '' || logprobs === undefined ? [] : echoedTokens(scored, echo, logprobs);
    return best(group, replies).map((generation) => ({
      text: echo + generation.reasoning + generation.text,
      logprobs: logprobs === undefined ? null : encodeLegacyLogprobs(tokensOf(generation), 0, echoed),
      finish_reason: finishReasons[generation.reason],
      ...stopReason(generation),
      ...promptFigures(scored, promptLogprobs),
    }));
  });
  return {
    ...envelopeFields(envelope),
    choices: choices.map((choice, index) => ({ index, ...choice })),
    usage: encodeUsage(generations, candidates),
    timings: encodeTimings(generations, candidates),
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

/** Those whose tokens were likeliest on average; when all are kept their order stays. */
function best(generations: readonly Generation[], count: number): readonly Generation[] {
  if (generations.length <= count) return generations;
  return generations.toSorted((one, other) => likelihood(other) - likelihood(one)).slice(0, count);
}

function likelihood(generation: Generation): number {
  const tokens = tokensOf(generation);
  if (tokens.length === 0) return Number.NEGATIVE_INFINITY;
  return tokens.reduce((sum, { logprob }) => sum + logprob, 0) / tokens.length;
}

/** Thinking is part of the text here, and comes before the rest of it. */
function tokensOf({ reasoningLogprobs, logprobs }: Generation): readonly TokenLogprob[] {
  return [...reasoningLogprobs, ...logprobs];
}
