import { appendFileSync, existsSync } from 'node:fs';
import { text as content } from '../chat/messages.ts';
import type { ChatRequest } from '../chat/request.ts';
import type { ChatService } from '../chat/service.ts';
import type { Settings } from '../config/flags.ts';
import type { GenerationEvent } from '../core/events.ts';
import type { GenerationControls } from '../core/request.ts';
import type { RequestContext } from '../core/request-context.ts';
import type { TextService } from '../core/text-service.ts';
import type { Terminal } from '../observe/terminal.ts';
import { decodeControls, readControls } from '../protocols/controls/decode.ts';
import { benchmark, benchmarkCsv, benchmarkText } from './benchmark.ts';
import type { ModelContext } from './model-context.ts';
import type { ResultOutput } from './result-output.ts';
import type { Runtime } from './runtime.ts';
import { terminalChat } from './terminal-chat.ts';

type TerminalMode = (runtime: Runtime, settings: Settings, terminal: Terminal, output: ResultOutput) => Promise<void>;

/** The modes that load a model but start no server. */
export const terminalModes = {
  answer: ({ app: { context } }, { prompt }, _, output) =>
    oneAnswer(context.chat, prompt, terminalControls(context), output),
  prompt: ({ app: { context } }, { prompt }, _, output) =>
    oneShot(context.text, prompt, terminalControls(context), output),
  chat: ({ app: { context }, model }, _, __, output) =>
    terminalChat({
      text: context.text,
      tags: model.format.adapter.adapter.tags,
      controls: terminalControls(context),
      input: process.stdin,
      output: process.stdout,
      closed: output.closed,
    }),
  benchmark: async ({ app: { context } }, { benchmark: target }, terminal) => {
    const result = await benchmark(context.text);
    terminal.line(benchmarkText(result));
    if (!target || target === 'stdout') return;
    appendFileSync(target, benchmarkCsv(result, new Date().toISOString(), !existsSync(target)));
  },
} satisfies Readonly<Record<string, TerminalMode>>;

/** The controls of the terminal modes: those of a request without fields. */
export function terminalControls({
  applyDefaults,
  controlLimits,
}: Pick<ModelContext, 'applyDefaults' | 'controlLimits'>): GenerationControls {
  return decodeControls(readControls(applyDefaults({})), controlLimits());
}

/** `--prompt`: prints one reply and nothing else, for scripts. It stops when standard output is closed. */
export async function oneShot(
  text: TextService,
  prompt: string,
  controls: GenerationControls,
  output: ReplyOutput,
): Promise<void> {
  await printed((requestContext) => text.generate({ ...controls, prompt, memory: '' }, requestContext), output);
}

/** `parley run NAME PROMPT`: prints the answer of the chat model to one question, without its thinking. */
export async function oneAnswer(
  chat: Pick<ChatService, 'reply'>,
  question: string,
  controls: GenerationControls,
  output: ReplyOutput,
): Promise<void> {
  const request: ChatRequest = {
    conversation: { messages: [{ role: 'user', content: content(question) }], media: [], tools: [] },
    continueAssistantTurn: false,
    toolChoice: { type: 'none' },
    parallelToolCalls: false,
    output: { type: 'text' },
    reasoning: { effort: undefined, separate: true },
    templateVariables: {},
    memory: '',
    controls,
  };
  await printed((requestContext) => chat.reply(request, requestContext), output);
}

type ReplyOutput = Pick<ResultOutput, 'closed' | 'write'>;

async function printed(
  generate: (requestContext: RequestContext) => AsyncIterable<GenerationEvent>,
  output: ReplyOutput,
): Promise<void> {
  for await (const event of generate({ genkey: '', client: 'terminal', signal: output.closed })) {
    if (event.type === 'text-delta') output.write(event.text);
    if (event.type === 'error') throw event.error;
  }
  output.write('\n');
}
