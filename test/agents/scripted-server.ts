import { agentTemplate } from '../../bench/agent-shapes.ts';
import { chooseAdapter, loadAdapter } from '../../src/chat/adapters/load.ts';
import { untimedTemplate } from '../../src/chat/testing/inline-template.ts';
import { defaultSettings, type Settings } from '../../src/config/flags.ts';
import { AppError } from '../../src/core/errors.ts';
import { fixedTextSource } from '../../src/core/text-service.ts';
import { fakeEngine } from '../../src/engines/testing/fake-engine.ts';
import { createApp } from '../../src/server/app.ts';

/** What the model writes: the whole reply to a prompt; undefined for a prompt that is refused as too long. */
export type Script = (prompt: string) => string | undefined;

/** A call of a tool, in the words of the template. */
export function toolCall(name: string, values: object): string {
  return `<tool_call>\n${JSON.stringify({ name, arguments: values })}\n</tool_call>`;
}

/** A Parley with everything but a model. A word is a token, and a prompt beyond the context is refused as the real engine refuses it. */
export async function scriptedServer(script: Script, contextSize: number, own: Partial<Settings> = {}) {
  const prompts: string[] = [];
  let reply = '';
  const engine = fakeEngine({
    script: () => ({ pieces: reply.match(/\s*\S+/g) ?? [], end: 'end-token' }),
    pace: setImmediate,
    contextSize,
  });
  const generate: typeof engine.generate = (request, seed, sink) => {
    const { prompt } = request;
    prompts.push(prompt);
    const promptTokens = prompt.split(/\s+/).length;
    const written = promptTokens < contextSize ? script(prompt) : undefined;
    if (written !== undefined) {
      reply = written;
      return engine.generate(request, seed, sink);
    }
    sink.event({ type: 'error', error: new AppError('context-overflow', { promptTokens, contextSize }) });
    return { abort: () => false };
  };
  const rendering = untimedTemplate(agentTemplate);
  const adapter = chooseAdapter(await loadAdapter('AutoGuess', async () => undefined), agentTemplate);
  const errors: unknown[] = [];
  const app = createApp({
    settings: { ...defaultSettings, port: 0, host: '127.0.0.1', defaultgenamt: 8192, ...own },
    source: fixedTextSource({ ...engine, generate }),
    format: {
      adapter,
      templateText: agentTemplate,
      template: () => rendering,
      templateUse: { chats: false, tools: false, listedTools: true },
    },
    product: { name: 'Parley', version: '1.2.3' },
    observer: {},
    warn: () => undefined,
    onError: (error) => errors.push(error),
    shutdown: () => undefined,
  });
  const { port } = await app.server.listen();
  return { port, prompts, errors, close: () => app.server.close() };
}
