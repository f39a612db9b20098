import { createInterface } from 'node:readline/promises';
import type { ChatTags } from '../chat/adapters/adapter.ts';
import { AppError } from '../core/errors.ts';
import type { GenerationControls } from '../core/request.ts';
import type { TextService } from '../core/text-service.ts';

interface TerminalChatOptions {
  readonly text: TextService;
  readonly tags: ChatTags;
  readonly controls: GenerationControls;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** Aborts when standard output is closed. */
  readonly closed?: AbortSignal;
}

const help = `Commands: /clear forgets the conversation, /undo takes the last turn back, /quit ends. Ctrl+C stops a reply.`;

/** `--cli`: a conversation in the terminal, without a server. */
export async function terminalChat({
  text,
  tags,
  controls,
  input,
  output,
  closed,
}: TerminalChatOptions): Promise<void> {
  const terminal = createInterface({ input, output, prompt: '> ' });
  let turns: string[] = [];
  let running: AbortController | undefined;
  closed?.addEventListener('abort', () => {
    running?.abort();
    terminal.close();
  });
  terminal.on('SIGINT', () => (running ? running.abort() : terminal.close()));
  output.write(`${help}\n`);
  terminal.prompt();
  for await (const typed of terminal) {
    const line = typed.trim();
    if (line === '/quit' || line === '/exit') break;
    if (line === '/clear') turns = [];
    else if (line === '/undo') turns.pop();
    else if (line.startsWith('/')) output.write(`${help}\n`);
    else if (line !== '') {
      running = new AbortController();
      const question = `${tags.userStart}${line}${tags.userEnd}`;
      const prompt = `${tags.chatStart}${turns.join('')}${question}${tags.assistantGen}`;
      const reply = await speak(prompt, running.signal);
      if (reply !== undefined) turns.push(`${question}${tags.assistantStart}${reply}${tags.assistantEnd}`);
      running = undefined;
      output.write('\n');
    }
    if (closed?.aborted) break;
    terminal.prompt();
  }
  terminal.close();

  async function speak(prompt: string, signal: AbortSignal): Promise<string | undefined> {
    let reply = '';
    const stop = [...controls.stop, tags.userStart.trim()].filter((stopText) => stopText !== '');
    const requestContext = { genkey: '', client: 'terminal', signal };
    for await (const event of text.generate({ ...controls, prompt, memory: '', stop }, requestContext)) {
      if (event.type === 'error') {
        output.write(`${event.error instanceof AppError ? event.error.message : String(event.error)}\n`);
        return undefined;
      }
      if (event.type !== 'text-delta') continue;
      reply += event.text;
      output.write(event.text);
    }
    return reply;
  }
}
