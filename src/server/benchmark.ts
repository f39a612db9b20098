import { fold } from '../core/fold.ts';
import { defaultControls } from '../core/request.ts';
import { defaultSampling } from '../core/sampling-fields.ts';
import type { TextService } from '../core/text-service.ts';

export type BenchmarkResult = Awaited<ReturnType<typeof benchmark>>;

const replyTokens = 100;

/** `--benchmark`: fills the context but for a reply of 100 tokens, and measures both parts. */
export async function benchmark(text: TextService) {
  const contextSize = text.contextSize();
  const prompt = Array.from({ length: contextSize }, (_, index) => ` ${index % 10}`).join('');
  const sampling = { ...defaultSampling, temperature: 0, seed: 1 };
  const request = {
    ...defaultControls,
    prompt,
    memory: '',
    maxTokens: replyTokens,
    sampling,
    endTokens: 'ban' as const,
  };
  const requestContext = { genkey: '', client: 'terminal', signal: new AbortController().signal };
  const { usage, timings } = await fold(text.generate(request, requestContext));
  if (!timings) throw new Error('the benchmark did not finish');
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

const header =
  'Timestamp,Model,MaxCtx,PromptTokens,PromptSeconds,PromptSpeed,GeneratedTokens,GenerationSeconds,GenerationSpeed';

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
  return `${withHeader ? `${header}\n` : ''}${cells.join(',')}\n`;
}
