import { read } from '../api/call.ts';
import { type BuiltPrompt, buildPrompt } from '../story/prompt.ts';
import type { Story } from '../story/story.ts';
import { writer } from './writer.svelte.ts';

/** What the model would read if it were asked now. */
export function promptOf(story: Story): BuiltPrompt {
  return buildPrompt(story, writer.budget(), { kind: 'new', begin: story.prefill });
}

const patience = 700;
let timer: ReturnType<typeof setTimeout> | undefined;
let measured = '';

/** Asks the server, when somebody pauses, how many tokens the text has; from that, what fits is known. */
export function measure({ memory, prompt }: BuiltPrompt): void {
  clearTimeout(timer);
  const text = memory + prompt;
  // A few words say little about how long the tokens of a text are.
  if (text.length < 200 || text === measured) return;
  timer = setTimeout(async () => {
    measured = text;
    const counted = await read<{ value: number }>('api/extra/tokencount', {
      body: { prompt: text },
      background: true,
    }).catch(() => undefined);
    if (!counted || counted.value <= 0) return;
    const found = text.length / counted.value;
    // A hair's breadth would move the cut, and with it the text that is measured, again and again.
    if (Math.abs(found / writer.charactersPerToken - 1) > 0.02) writer.charactersPerToken = found;
  }, patience);
}
