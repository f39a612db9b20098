import { asAppError } from '../../core/errors.ts';
import type { FinishCause, GenerationEvent, TokenChoice, TokenLogprob } from '../../core/events.ts';
import type { GenerationControls } from '../../core/request.ts';
import { dataFrame } from '../../http/sse.ts';
import { timingsBody } from '../timings.ts';
import { type OutputOptions, spokenSeed } from './decode.ts';
import { failureBody } from './errors.ts';
import { ownSettingsBody } from './samplers.ts';

/** What every object about one reply shares. */
export interface ReplyView {
  readonly index: number;
  readonly model: string;
  readonly prompt: string;
  readonly controls: GenerationControls;
  readonly output: OutputOptions;
  /** Milliseconds. */
  readonly now: () => number;
}

const stopTypes: Record<FinishCause, string> = {
  'end-token': 'eos',
  'stop-text': 'word',
  limit: 'limit',
  aborted: 'none',
};

/** Frames without names and without an end mark: the last object says `"stop":true`. Returns whether it succeeded. */
export async function* encodeStream(
  events: AsyncIterable<GenerationEvent>,
  view: ReplyView,
): AsyncGenerator<string, boolean> {
  const { output, now } = view;
  const record = new CompletionRecord(false);
  // Most of a chunk is the same for every token, so only the part that changes is serialized.
  const head = `{"index":${view.index},"content":`;
  const startedAt = now();
  let firstAt: number | undefined;

  function chunk(event: GenerationEvent): string | undefined {
    if (event.type === 'start') return output.progress ? piece('', undefined, event.cachedTokens) : undefined;
    if (event.type !== 'text-delta' && event.type !== 'reasoning-delta') return undefined;
    if (event.text === '' && event.logprobs === undefined) return undefined;
    const first = firstAt === undefined;
    firstAt ??= now();
    return piece(event.text, event.logprobs, first && output.progress ? record.promptTokens : undefined);
  }

  function piece(text: string, logprobs: readonly TokenLogprob[] | undefined, processed: number | undefined): string {
    const { promptTokens: total, cachedTokens: cache, predicted } = record;
    const tokens = output.returnTokens && logprobs ? logprobs.map(({ token }) => token).join(',') : '';
    const shown = output.alternatives > 0 ? logprobs : undefined;
    return [
      `${head}${JSON.stringify(text)},"tokens":[${tokens}],"stop":false,"id_slot":0,`,
      `"tokens_predicted":${predicted},"tokens_evaluated":${total}`,
      shown ? `,"completion_probabilities":${JSON.stringify(probabilities(shown, output))}` : '',
      output.timingsPerToken ? `,"timings":${JSON.stringify(timings())}` : '',
      processed === undefined
        ? ''
        : `,"prompt_progress":${JSON.stringify({ total, cache, processed, time_ms: Math.round(now() - startedAt) })}`,
      '}',
    ].join('');
  }

  /** Measured here: the engine reports its own times only at the end. */
  function timings(): object {
    const { promptTokens, cachedTokens, predicted: completionTokens } = record;
    const time = now();
    const times = { initMs: 0, promptMs: (firstAt ?? time) - startedAt, generationMs: time - (firstAt ?? time) };
    const processedTokens = promptTokens - cachedTokens;
    return timingsBody({ promptTokens, cachedTokens, completionTokens }, { ...times, processedTokens });
  }

  try {
    for await (const event of events) {
      record.add(event);
      const text = chunk(event);
      if (text !== undefined) yield dataFrame(text);
    }
  } catch (error) {
    yield dataFrame(JSON.stringify(failureBody(asAppError(error))));
    return false;
  }
  yield dataFrame(JSON.stringify(finalBody(record, view)));
  return true;
}

/** The last object of a stream, without its text, or the whole reply. */
export function finalBody(record: CompletionRecord, view: ReplyView): object {
  const { controls, output } = view;
  const { finish, predicted } = record;
  const body = {
    index: view.index,
    content: record.text,
    tokens: output.returnTokens ? record.probabilities.map(({ token }) => token) : [],
    id_slot: 0,
    stop: true,
    model: view.model,
    tokens_predicted: predicted,
    tokens_evaluated: record.promptTokens,
    generation_settings: { ...ownSettingsBody(controls, output), seed: spokenSeed(record.start?.seed ?? -1) },
    prompt: view.prompt,
    has_new_line: record.newLine,
    truncated: (record.start?.droppedTokens ?? 0) > 0,
    stop_type: stopTypes[finish?.cause ?? 'aborted'],
    stopping_word: finish?.stopText ?? '',
    tokens_cached: record.promptTokens + Math.max(0, predicted - 1),
    timings: finish ? timingsBody({ ...finish.usage, completionTokens: predicted }, finish.timings) : {},
    ...(output.alternatives > 0 && !output.stream
      ? { completion_probabilities: probabilities(record.probabilities, output) }
      : {}),
    ...(record.warnings.length > 0 ? { warnings: record.warnings } : {}),
  };
  return output.fields.length > 0 ? pickFields(body, output.fields) : body;
}

/** `timings/prompt_n` is returned under that whole name; what does not exist is left out. */
function pickFields(body: object, fields: readonly string[]): object {
  const step = (value: unknown, name: string): unknown =>
    typeof value === 'object' ? (value as Record<string, unknown> | null)?.[name] : undefined;
  return Object.fromEntries(fields.map((field) => [field, field.split('/').reduce(step, body)]));
}

function probabilities(tokens: readonly TokenLogprob[], { alternatives, postSampling }: OutputOptions): object[] {
  const [one, many] = postSampling ? ['prob', 'top_probs'] : ['logprob', 'top_logprobs'];
  const choice = ({ token, text, bytes, logprob }: TokenChoice) => ({
    id: token,
    token: text,
    bytes,
    [one as string]: postSampling ? Math.exp(logprob) : logprob,
  });
  return tokens.map((token) => ({ ...choice(token), [many as string]: token.top.slice(0, alternatives).map(choice) }));
}

/** What is known of a reply so far, for the last object of a stream and for the whole reply. */
export class CompletionRecord {
  text = '';
  readonly probabilities: TokenLogprob[] = [];
  readonly warnings: string[] = [];
  /** An estimate while it runs, because a piece of text may be more than one token. */
  predicted = 0;
  newLine = false;
  promptTokens = 0;
  cachedTokens = 0;
  start: Extract<GenerationEvent, { type: 'start' }> | undefined;
  finish: Extract<GenerationEvent, { type: 'finish' }> | undefined;

  /** `keep`: also the text, which a stream has sent already. */
  constructor(private readonly keep: boolean) {}

  /** Events of tools are ignored: none are offered to the model. */
  add(event: GenerationEvent): void {
    if (event.type === 'start') {
      this.start = event;
      this.promptTokens = event.promptTokens;
      this.cachedTokens = event.cachedTokens;
    } else if (event.type === 'text-delta' || event.type === 'reasoning-delta') {
      this.predicted += event.logprobs?.length ?? 1;
      this.newLine ||= event.text.includes('\n');
      if (!this.keep) return;
      this.text += event.text;
      if (event.logprobs) this.probabilities.push(...event.logprobs);
    } else if (event.type === 'finish') {
      this.finish = event;
      this.promptTokens = event.usage.promptTokens;
      this.cachedTokens = event.usage.cachedTokens;
      this.predicted = event.usage.completionTokens;
    } else if (event.type === 'warning') this.warnings.push(event.text);
    else if (event.type === 'error') throw event.error;
  }
}

export async function recordOf(events: AsyncIterable<GenerationEvent>): Promise<CompletionRecord> {
  const record = new CompletionRecord(true);
  for await (const event of events) record.add(event);
  return record;
}
