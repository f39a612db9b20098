import { number, translatable } from '../../languages/index.ts';

/** Sentences of the chat settings and of the shown prompt. */
export const texts = translatable('chatDialogs', {
  chat: {
    title: 'Chat settings',
    system: 'System prompt',
    systemPlaceholder: 'Instructions for this chat',
    effort: 'Reasoning effort',
    probabilities: 'Show token probabilities',
    readAloud: 'Read replies aloud',
  },
  prompt: {
    title: 'Prompt',
    loading: 'Loading …',
    about: (tokens: number, characters: number) =>
      `${number(tokens)} tokens, ${number(characters)} characters. This is the text the model receives for the last reply.`,
    stops: (stops: readonly string[]) => `Stop sequences: ${stops.map((stop) => JSON.stringify(stop)).join(', ')}`,
  },
});
