import { chooseAdapter, loadAdapter } from '../../src/chat/adapters/load.ts';
import { untimedTemplate } from '../../src/chat/testing/inline-template.ts';
import { defaultSettings, type Settings } from '../../src/config/flags.ts';
import { AppError } from '../../src/core/errors.ts';
import { fixedTextSource } from '../../src/core/text-source.ts';
import { fakeEngine } from '../../src/engines/testing/fake-engine.ts';
import { createApp } from '../../src/server/app.ts';

/** Shows everything of a conversation, and calls as Hermes and Qwen write them. */
const template = [
  '{%- if tools %}<|im_start|>system\n<tools>\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}</tools>\n',
  'For each function call, return a json object within <tool_call></tool_call> XML tags.<|im_end|>\n{% endif %}',
  '{%- for message in messages %}<|im_start|>{{ message.role }}\n{% if message.content %}{{ message.content }}{% endif %}',
  '{%- for call in message.tool_calls or [] %}\n<tool_call>\n{"name": {{ call.function.name | tojson }}, ',
  '"arguments": {{ call.function.arguments | tojson }}}\n</tool_call>{% endfor %}<|im_end|>\n{% endfor %}',
  '{%- if add_generation_prompt %}<|im_start|>assistant\n{% endif %}',
].join('');

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
  const rendering = untimedTemplate(template);
  const adapter = chooseAdapter(await loadAdapter('AutoGuess', async () => undefined), template);
  const errors: unknown[] = [];
  const app = createApp({
    settings: { ...defaultSettings, port: 0, host: '127.0.0.1', defaultgenamt: 8192, ...own },
    source: fixedTextSource({ ...engine, generate }),
    format: {
      adapter,
      templateText: template,
      template: () => rendering,
      templateUse: { chats: false, tools: false, shownTools: true },
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
