import type { GenerationEvent, TokenLogprob } from '../../core/events.ts';
import { fold } from '../../core/fold.ts';
import type { Shortfall } from '../dialect.ts';
import { spokenTokens } from '../spoken-tokens.ts';
import {
  cutOffWarning,
  doneReasons,
  encodeCall,
  encodeLogprobs,
  isCut,
  metrics,
  type ReplyFacts,
  timestamp,
  unsaidFinish,
} from './ending.ts';
import type { Shape } from './shape.ts';

export interface WholeReply {
  readonly body: object;
  /** What the engine could not do as it was asked to. */
  readonly shortfall: Shortfall;
}

/** The same events as a stream, added up to one object. */
export async function encodeWhole(
  events: AsyncIterable<GenerationEvent>,
  shape: Shape,
  facts: ReplyFacts,
): Promise<WholeReply> {
  const tokens: TokenLogprob[] = [];
  const generation = await fold(noted(events, tokens));
  const cut = isCut(generation.reason);
  const made = generation.toolCalls.map((call, index) => encodeCall(index, call, cut));
  const calls = made.flatMap((call) => call ?? []);
  const left = generation.toolCalls.filter((_, index) => made[index] === undefined);
  const unreadable = cut ? [] : left.map(({ json }) => json);
  const warnings = [...generation.warnings, ...(cut ? left.map(cutOffWarning) : [])];
  const { reasoning, usage, timings = unsaidFinish.timings } = generation;
  const context = facts.context && (await facts.context(generation));
  const now = facts.now();
  const body = {
    model: facts.model,
    created_at: timestamp(now),
    ...shape.whole({ text: generation.text + unreadable.join(''), thinking: reasoning, calls }),
    done: true,
    done_reason: doneReasons[generation.reason],
    ...(context === undefined ? {} : { context }),
    ...metrics({ usage, timings }, now - facts.startedAt),
    ...(tokens.length === 0 ? {} : { logprobs: encodeLogprobs(tokens) }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
  return { body, shortfall: generation };
}

/** The figures of thinking and text in the order of their tokens, as the stream tells them. */
async function* noted(events: AsyncIterable<GenerationEvent>, tokens: TokenLogprob[]): AsyncGenerator<GenerationEvent> {
  const spoken = spokenTokens();
  for await (const event of events) {
    if (event.type === 'text-delta' || event.type === 'reasoning-delta') tokens.push(...(spoken(event) ?? []));
    yield event;
  }
}
