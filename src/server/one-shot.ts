import { text as content } from '../chat/messages.ts';
import type { ChatRequest } from '../chat/request.ts';
import type { ChatService } from '../chat/service.ts';
import type { GenerationEvent } from '../core/events.ts';
import type { GenerationControls } from '../core/request.ts';
import type { TextService } from '../core/text-service.ts';
import type { Ticket } from '../core/ticket.ts';
import type { ReachedOutput } from './reached-output.ts';

/** `--prompt`: prints one reply and nothing else, for scripts. It stops when standard output is closed. */
export async function oneShot(
  text: TextService,
  prompt: string,
  controls: GenerationControls,
  output: Pick<ReachedOutput, 'lost' | 'write'>,
): Promise<void> {
  await printed((ticket) => text.generate({ ...controls, prompt, memory: '' }, ticket), output);
}

/** `parley run NAME PROMPT`: prints the answer of the chat model to one question, without its thinking. */
export async function oneAnswer(
  chat: Pick<ChatService, 'reply'>,
  question: string,
  controls: GenerationControls,
  output: Pick<ReachedOutput, 'lost' | 'write'>,
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
  await printed((ticket) => chat.reply(request, ticket), output);
}

async function printed(
  generate: (ticket: Ticket) => AsyncIterable<GenerationEvent>,
  output: Pick<ReachedOutput, 'lost' | 'write'>,
): Promise<void> {
  for await (const event of generate({ genkey: '', client: 'terminal', signal: output.lost })) {
    if (event.type === 'text-delta') output.write(event.text);
    if (event.type === 'error') throw event.error;
  }
  output.write('\n');
}
