import { abortedUnstarted, type GenerationEvent } from '../../../core/events.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import { withReplySeed } from '../../../core/sampling-fields.ts';
import { refuseWithoutModel, type TextService } from '../../../core/text-service.ts';
import type { Call, Reply } from '../../../http/call.ts';
import { type CompletionContext, withIgnored } from '../../dialect.ts';
import { requestBody, withShortPath } from '../../endpoint.ts';
import { generateAll } from '../../generate-all.ts';
import { eventsFor, textRequestContext } from '../../request-context.ts';
import { newEnvelope } from '../encode.ts';
import { openaiRow } from '../errors.ts';
import { answer } from '../reply.ts';
import { decodeCompletion } from './decode.ts';
import { completionChoice, encodeCompletion } from './encode.ts';
import { completionFields } from './fields.ts';

export const completionEndpoints = withShortPath(
  openaiRow('/v1/completions', 'Continue texts, streamed or whole.', answerCompletion, {
    fields: completionFields,
    response: 'completion',
    replayedAs: 'text',
    batched: true,
  }),
);

async function answerCompletion(call: Call, context: CompletionContext): Promise<Reply> {
  const decoded = await decodeCompletion(await requestBody(call, context), context);
  const { requests, echoes, replies, candidates, logprobs, stream } = decoded;
  const requestContext = textRequestContext(call, decoded);
  const repeated = requests.flatMap((request) =>
    Array.from({ length: candidates }, (_, reply) => withReplySeed(scoredOnce(request, reply, stream), reply)),
  );
  call.watch?.decoded?.(repeated.length === 1 ? repeated[0] : repeated);
  const runs = decoded.countOnly
    ? repeated.map((request) => countOnly(context.text, request))
    : generateAll(context.text, repeated, requestContext).map((run) => eventsFor(requestContext, run));
  return answer(
    runs,
    {
      ...decoded,
      call,
      requestContext,
      headers: withIgnored({}, decoded.notices.ignored),
      envelope: newEnvelope('text_completion', 'cmpl-', context),
      repliesPerPrompt: replies,
      promptField: 'prompt',
      offersTools: false,
      choice: (shape) => completionChoice(shape, echoes[Math.floor(shape.index / replies)] ?? '', logprobs),
      whole: (generations) => encodeCompletion(generations, decoded),
    },
    context,
  );
}

/** Whole replies report the logprobs of the prompt once; in a stream each reply reports them at its start. */
function scoredOnce(request: GenerationRequest, reply: number, stream: boolean): GenerationRequest {
  return reply === 0 || stream ? request : { ...request, promptLogprobs: undefined };
}

/** Counts the tokens of the prompt without generating anything. */
async function* countOnly(
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
    timings: abortedUnstarted.timings,
  };
}
