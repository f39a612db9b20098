import { asAppError } from '../../core/errors.ts';
import {
  type FinishCause,
  type GenerationEvent,
  type TokenChoice,
  type TokenLogprob,
  unreachable,
} from '../../core/events.ts';
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

/** Frames without names and without an end mark: the last object says `"stop":true`. Returns whether it went well. */
export async function* encodeStream(
  events: AsyncIterable<GenerationEvent>,
  view: ReplyView,
): AsyncGenerator<string, boolean> {
  const record = new CompletionRecord(false);
  const chunks = new ChunkWriter(view, record);
  try {
    for await (const event of events) {
      record.add(event);
      const chunk = chunks.chunk(event);
      if (chunk !== undefined) yield dataFrame(chunk);
    }
  } catch (error) {
    yield dataFrame(JSON.stringify(failureBody(asAppError(error))));
    return false;
  }
  yield dataFrame(JSON.stringify(finalBody(record, view)));
  return true;
}

/** The pieces of a stream. Nearly all of a piece is the same from token to token, so only the changing part is written. */
class ChunkWriter {
  readonly #head: string;
  readonly #startedAt: number;
  #firstAt: number | undefined;

  constructor(
    private readonly view: ReplyView,
    private readonly record: CompletionRecord,
  ) {
    this.#head = `{"index":${view.index},"content":`;
    this.#startedAt = view.now();
  }

  chunk(event: GenerationEvent): string | undefined {
    const { output } = this.view;
    if (event.type === 'start') return output.progress ? this.#piece('', undefined, event.cachedTokens) : undefined;
    if (event.type !== 'text-delta' && event.type !== 'reasoning-delta') return undefined;
    if (event.text === '' && event.logprobs === undefined) return undefined;
    const first = this.#firstAt === undefined;
    this.#firstAt ??= this.view.now();
    return this.#piece(event.text, event.logprobs, first && output.progress ? this.record.promptTokens : undefined);
  }

  #piece(text: string, logprobs: readonly TokenLogprob[] | undefined, processed: number | undefined): string {
    const { output } = this.view;
    const { promptTokens, predicted } = this.record;
    const tokens = output.returnTokens && logprobs ? logprobs.map(({ token }) => token).join(',') : '';
    return [
      `${this.#head}${JSON.stringify(text)},"tokens":[${tokens}],"stop":false,"id_slot":0,`,
      `"tokens_predicted":${predicted},"tokens_evaluated":${promptTokens}`,
      output.alternatives > 0 && logprobs
        ? `,"completion_probabilities":${JSON.stringify(probabilities(logprobs, output))}`
        : '',
      output.timingsPerToken ? `,"timings":${JSON.stringify(this.#timings())}` : '',
      processed === undefined ? '' : `,"prompt_progress":${JSON.stringify(this.#progress(processed))}`,
      '}',
    ].join('');
  }

  /** Seen from here, as the engine tells its own times only at the end. */
  #timings(): object {
    const { promptTokens, cachedTokens, predicted } = this.record;
    const now = this.view.now();
    const firstAt = this.#firstAt ?? now;
    return timingsBody(
      { promptTokens, cachedTokens, completionTokens: predicted },
      {
        initMs: 0,
        promptMs: firstAt - this.#startedAt,
        generationMs: now - firstAt,
        processedTokens: promptTokens - cachedTokens,
      },
    );
  }

  #progress(processed: number): object {
    const { promptTokens: total, cachedTokens: cache } = this.record;
    return { total, cache, processed, time_ms: Math.round(this.view.now() - this.#startedAt) };
  }
}

/** The last object of a stream, whose text is told already, or the whole reply. */
export function finalBody(record: CompletionRecord, view: ReplyView): object {
  const { controls, output } = view;
  const { finish } = record;
  const { predicted } = record;
  const body = {
    index: view.index,
    content: record.text,
    tokens: output.returnTokens ? record.probabilities.map(({ token }) => token) : [],
    id_slot: 0,
    stop: true,
    model: view.model,
    tokens_predicted: predicted,
    tokens_evaluated: record.promptTokens,
    generation_settings: { ...ownSettingsBody(controls, output), seed: spokenSeed(record.seed) },
    prompt: view.prompt,
    has_new_line: record.newLine,
    truncated: record.droppedTokens > 0,
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

/** What stands at `timings/prompt_n` is told under just that name; what is not there is left out. */
function pickFields(body: object, fields: readonly string[]): object {
  const picked: Record<string, unknown> = {};
  for (const field of fields) {
    let value: unknown = body;
    for (const name of field.split('/')) {
      value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
    }
    if (value !== undefined) picked[field] = value;
  }
  return picked;
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

type FinishEvent = GenerationEvent & { readonly type: 'finish' };

/** What is known of a reply so far; the last object of a stream and the whole reply are both made from it. */
export class CompletionRecord {
  text = '';
  readonly probabilities: TokenLogprob[] = [];
  readonly warnings: string[] = [];
  promptTokens = 0;
  cachedTokens = 0;
  droppedTokens = 0;
  unheeded: readonly string[] = [];
  seed = -1;
  /** Counted while it runs, where a piece of text may be more than one token; the end tells the true number. */
  predicted = 0;
  newLine = false;
  finish: FinishEvent | undefined;

  /** `keep` is for the reply that is told as a whole: a stream has told its text already. */
  constructor(private readonly keep: boolean) {}

  add(event: GenerationEvent): void {
    switch (event.type) {
      case 'start':
        this.promptTokens = event.promptTokens;
        this.cachedTokens = event.cachedTokens;
        this.droppedTokens = event.droppedTokens ?? 0;
        this.unheeded = event.unheeded ?? [];
        this.seed = event.seed;
        return;
      case 'text-delta':
      case 'reasoning-delta':
        this.predicted += event.logprobs?.length ?? 1;
        this.newLine ||= event.text.includes('\n');
        if (!this.keep) return;
        this.text += event.text;
        if (event.logprobs) this.probabilities.push(...event.logprobs);
        return;
      case 'warning':
        this.warnings.push(event.text);
        return;
      case 'finish':
        this.finish = event;
        this.promptTokens = event.usage.promptTokens;
        this.cachedTokens = event.usage.cachedTokens;
        this.predicted = event.usage.completionTokens;
        return;
      case 'error':
        throw event.error;
      // Tools are never offered to the model here, so it has none to call.
      case 'tool-start':
      case 'tool-delta':
      case 'tool-end':
      case 'prompt-logprobs':
        return;
      default:
        unreachable(event);
    }
  }
}

/** The whole reply is the sum of its events. */
export async function recordOf(events: AsyncIterable<GenerationEvent>): Promise<CompletionRecord> {
  const record = new CompletionRecord(true);
  for await (const event of events) record.add(event);
  return record;
}
