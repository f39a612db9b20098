import type { GenerationEvent, TokenLogprob } from '../../core/events.ts';
import { fold } from '../../core/fold.ts';
import {
  doneReasons,
  encodeCall,
  encodeLogprobs,
  type Finish,
  metrics,
  type ReplyFacts,
  timestamp,
  unsaidFinish,
} from './ending.ts';
import type { Shape } from './shape.ts';

export interface WholeReply {
  readonly body: object;
  readonly droppedTokens: number;
}

/** The same events as a stream, added up to one object. */
export async function encodeWhole(
  events: AsyncIterable<GenerationEvent>,
  shape: Shape,
  facts: ReplyFacts,
): Promise<WholeReply> {
  const notes: Notes = { finish: unsaidFinish, droppedTokens: 0, logprobs: undefined };
  const generation = await fold(noted(events, notes));
  const made = generation.toolCalls.map((call, index) => encodeCall(index, call));
  const calls = made.flatMap((call) => call ?? []);
  const unreadable = generation.toolCalls.filter((_, index) => made[index] === undefined).map(({ json }) => json);
  const { reasoning, warnings } = generation;
  const context = facts.context && (await facts.context(generation));
  const now = facts.now();
  const body = {
    model: facts.model,
    created_at: timestamp(now),
    ...shape.whole({ text: generation.text + unreadable.join(''), thinking: reasoning, calls }),
    done: true,
    done_reason: doneReasons[generation.reason],
    ...(context === undefined ? {} : { context }),
    ...metrics(notes.finish, now - facts.startedAt),
    ...(notes.logprobs === undefined ? {} : { logprobs: encodeLogprobs(notes.logprobs) }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
  return { body, droppedTokens: notes.droppedTokens };
}

interface Notes {
  finish: Finish;
  droppedTokens: number;
  /** Of the thinking too, in the order of the tokens, as the stream tells them. */
  logprobs: TokenLogprob[] | undefined;
}

/** Keeps what the sum of the events leaves out. */
async function* noted(events: AsyncIterable<GenerationEvent>, notes: Notes): AsyncGenerator<GenerationEvent> {
  for await (const event of events) {
    if (event.type === 'start') notes.droppedTokens = event.droppedTokens ?? 0;
    else if (event.type === 'finish') notes.finish = event;
    else if ('logprobs' in event && event.logprobs) {
      notes.logprobs ??= [];
      notes.logprobs.push(...event.logprobs);
    }
    yield event;
  }
}
