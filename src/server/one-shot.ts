import type { TextService } from '../core/text-service.ts';
import type { ReachedOutput } from './reached-output.ts';
import { plainRequest } from './request.ts';

/** `--prompt`: prints one reply and nothing else, for scripts. It stops when standard output is closed. */
export async function oneShot(
  text: TextService,
  prompt: string,
  maxTokens: number,
  output: Pick<ReachedOutput, 'lost' | 'write'>,
): Promise<void> {
  const ticket = { genkey: '', client: 'terminal', signal: output.lost };
  for await (const event of text.generate(plainRequest(prompt, maxTokens), ticket)) {
    if (event.type === 'text-delta') output.write(event.text);
    if (event.type === 'error') throw event.error;
  }
  output.write('\n');
}
