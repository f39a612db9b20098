import type { GenerationRequest } from '../../../core/request.ts';
import { withReplySeed } from '../../../core/sampling-fields.ts';
import { jsonObject } from '../../../http/body.ts';
import type { Call, Reply } from '../../../http/call.ts';
import type { ModelEndpoint } from '../../endpoint.ts';
import { generateAll } from '../../generate-all.ts';
import { eventsFor, textTicket } from '../../ticket.ts';
import { notices, streamed, whole } from '../answer.ts';
import { type Envelope, envelopeHead } from '../envelope.ts';
import { openaiFamily } from '../errors.ts';
import { completionFidelity } from '../fidelity.ts';
import { completionChoice } from './choice.ts';
import { countOnly } from './count-only.ts';
import { type CompletionParts, type CompletionQuestion, decodeCompletion } from './decode.ts';
import { encodeCompletionReply } from './reply.ts';

const promptField = 'prompt';

const handle = answerCompletion;
const guarded = { method: 'POST', access: 'guarded', queued: true, family: openaiFamily, handle } as const;

/** The short path must match whole: as an ending it would catch the chats. */
export const completionEndpoints: readonly ModelEndpoint<CompletionParts>[] = [
  { ...guarded, match: 'ending', path: '/v1/completions', summary: 'Continue texts, streamed or whole.' },
  { ...guarded, match: 'exact', path: '/completions', summary: 'Another name for /v1/completions.' },
];

async function answerCompletion(call: Call, parts: CompletionParts): Promise<Reply> {
  const body = parts.applyDefaults(await jsonObject(call.body, { empty: 'refuse', signal: call.signal }));
  const question = await decodeCompletion(body, parts);
  const envelope: Envelope = {
    id: parts.newId('cmpl-'),
    object: 'text_completion',
    created: Math.floor(parts.now() / 1000),
    model: parts.modelName(),
    serviceTier: false,
  };
  const ticket = textTicket(call, question);
  const shape = { call, ticket, promptField, notices: notices(body, completionFidelity, []) };
  const { requests, replies, candidates } = question;
  const wanted = requests.flatMap((request) =>
    Array.from({ length: candidates }, (_, reply) => withReplySeed(scoredOnce(request, reply, question), reply)),
  );
  const runs = question.countOnly
    ? wanted.map((request) => countOnly(parts.text, request))
    : generateAll(parts.text, wanted, ticket).map((run) => eventsFor(ticket, run));
  if (!question.stream) {
    return whole(runs, shape, (generations) => encodeCompletionReply(generations, question, envelope), parts);
  }
  const stream = { ...streamShape(question, envelopeHead(envelope), parts), repliesPerPrompt: replies };
  return streamed(runs, { ...shape, stream, offersTools: false }, parts);
}

function streamShape(question: CompletionQuestion, head: string, parts: CompletionParts) {
  const { includeUsage, timingsPerToken, echoes, replies, logprobs } = question;
  const choice = { head, includeUsage, timingsPerToken, logprobs, now: parts.now };
  return {
    head,
    includeUsage,
    promptField,
    choice: (index: number) => completionChoice({ ...choice, index, echo: echoes[Math.floor(index / replies)] ?? '' }),
  };
}

/** A prompt has the same figures for every reply; in a stream each reply tells them where it begins. */
function scoredOnce(request: GenerationRequest, reply: number, { stream }: CompletionQuestion): GenerationRequest {
  return reply === 0 || stream ? request : { ...request, promptLogprobs: undefined };
}
