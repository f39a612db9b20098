import type { TextService } from '../core/text-service.ts';
import { plainRequest } from './request.ts';

/** `--prompt`: one reply on standard output and nothing else, for scripts. */
export async function oneShot(
  text: TextService,
  prompt: string,
  maxTokens: number,
  write: (text: string) => void,
): Promise<void> {
  const ticket = { genkey: '', client: 'terminal', signal: new AbortController().signal };
  for await (const event of text.generate(plainRequest(prompt, maxTokens), ticket)) {
    if (event.type === 'text-delta') write(event.text);
    if (event.type === 'error') throw event.error;
  }
  write('\n');
}
