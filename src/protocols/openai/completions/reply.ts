import type { Generation } from '../../../core/fold.ts';
import { type Envelope, envelopeFields } from '../envelope.ts';
import type { Outcome } from '../outcome.ts';
import { encodeTimings, encodeUsage } from '../usage.ts';
import { finishReasons } from './choice.ts';
import type { CompletionQuestion } from './decode.ts';
import { encodeLegacyLogprobs } from './logprobs.ts';

export function encodeCompletionReply(
  outcomes: readonly Outcome[],
  question: Pick<CompletionQuestion, 'echoes' | 'replies' | 'candidates' | 'logprobs'>,
  envelope: Envelope,
): object {
  const { echoes, replies, candidates, logprobs } = question;
  const endings = outcomes.map(({ generation, timings }) => ({ usage: generation.usage, timings }));
  const warnings = [...new Set(outcomes.flatMap(({ generation }) => generation.warnings))];
  const choices = echoes.flatMap((echo, prompt) => {
    const group = outcomes.slice(prompt * candidates, (prompt + 1) * candidates);
    return best(
      group.map(({ generation }) => generation),
      replies,
    ).map((generation) => ({
      text: echo + generation.reasoning + generation.text,
      logprobs: logprobs ? encodeLegacyLogprobs(generation.logprobs, 0) : null,
      finish_reason: finishReasons[generation.reason],
    }));
  });
  return {
    ...envelopeFields(envelope),
    choices: choices.map((choice, index) => ({ index, ...choice })),
    usage: encodeUsage(endings, candidates),
    timings: encodeTimings(endings, candidates),
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

/** Those whose tokens were likeliest on average; when all are kept their order stays. */
function best(generations: readonly Generation[], count: number): readonly Generation[] {
  if (generations.length <= count) return generations;
  return generations.toSorted((one, other) => likelihood(other) - likelihood(one)).slice(0, count);
}

function likelihood({ logprobs }: Generation): number {
  if (logprobs.length === 0) return Number.NEGATIVE_INFINITY;
  return logprobs.reduce((sum, { logprob }) => sum + logprob, 0) / logprobs.length;
}
