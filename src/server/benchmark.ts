import type { GenerationEvent } from '../core/events.ts';
import { fold } from '../core/fold.ts';
import { defaultSampling } from '../core/sampling-fields.ts';
import type { TextService } from '../core/text-service.ts';
import { plainRequest } from './request.ts';

export interface BenchmarkResult {
  readonly model: string;
  readonly contextSize: number;
  readonly promptTokens: number;
  readonly promptSeconds: number;
  readonly promptSpeed: number;
  readonly generatedTokens: number;
  readonly generationSeconds: number;
  readonly generationSpeed: number;
}

const replyTokens = 100;

/** `--benchmark`: fills the context but for a reply of 100 tokens, and measures both parts. */
export async function benchmark(text: TextService): Promise<BenchmarkResult> {
  const contextSize = text.contextSize();
  const words = Array.from({ length: contextSize }, (_, index) => ` ${index % 10}`).join('');
  const request = plainRequest(words, replyTokens, {
    sampling: { ...defaultSampling, temperature: 0, seed: 1 },
    endTokens: 'ban',
  });
  const ticket = { genkey: '', client: 'terminal', signal: new AbortController().signal };
  let finish: (GenerationEvent & { type: 'finish' }) | undefined;
  const watched = watch(text.generate(request, ticket), (event) => {
    if (event.type === 'finish') finish = event;
  });
  await fold(watched);
  if (!finish) throw new Error('the benchmark did not finish');
  const { usage, timings } = finish;
  const state = text.state();
  return {
    model: state.type === 'ready' ? state.model.name : '',
    contextSize,
    promptTokens: timings.processedTokens,
    promptSeconds: timings.promptMs / 1000,
    promptSpeed: (timings.processedTokens * 1000) / timings.promptMs,
    generatedTokens: usage.completionTokens,
    generationSeconds: timings.generationMs / 1000,
    generationSpeed: (usage.completionTokens * 1000) / timings.generationMs,
  };
}

export function benchmarkText(result: BenchmarkResult): string {
  return [
    `Model: ${result.model}`,
    `MaxCtx: ${result.contextSize}`,
    `Prompt: ${result.promptTokens} tokens in ${result.promptSeconds.toFixed(2)}s (${result.promptSpeed.toFixed(2)}T/s)`,
    `Generation: ${result.generatedTokens} tokens in ${result.generationSeconds.toFixed(2)}s (${result.generationSpeed.toFixed(2)}T/s)`,
    `Total: ${(result.promptSeconds + result.generationSeconds).toFixed(2)}s`,
  ].join('\n');
}

const columns = [
  'Timestamp',
  'Model',
  'MaxCtx',
  'PromptTokens',
  'PromptSeconds',
  'PromptSpeed',
  'GeneratedTokens',
  'GenerationSeconds',
  'GenerationSpeed',
];

/** A row for a table of many runs; the first row of a new file names the columns. */
export function benchmarkCsv(result: BenchmarkResult, time: string, withHeader: boolean): string {
  const cells = [
    time,
    result.model,
    result.contextSize,
    result.promptTokens,
    result.promptSeconds.toFixed(3),
    result.promptSpeed.toFixed(2),
    result.generatedTokens,
    result.generationSeconds.toFixed(3),
    result.generationSpeed.toFixed(2),
  ].map((cell) => (/[",\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell)));
  return `${withHeader ? `${columns.join(',')}\n` : ''}${cells.join(',')}\n`;
}

async function* watch(events: AsyncIterable<GenerationEvent>, see: (event: GenerationEvent) => void) {
  for await (const event of events) {
    see(event);
    yield event;
  }
}
