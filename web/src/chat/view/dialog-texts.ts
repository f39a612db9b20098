/** Sentences of the chat settings and of the shown prompt. */
export const texts = {
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
      `${tokens} tokens, ${characters} characters. This is the text the model receives for the last reply.`,
    stops: (stops: readonly string[]) => `Stop sequences: ${stops.map((stop) => JSON.stringify(stop)).join(', ')}`,
  },
} as const;
